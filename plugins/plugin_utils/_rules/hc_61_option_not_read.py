# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Option that Nova does not read where it stands.

A key in a wrong section, or misspelt, is passed over without a word: the option keeps its default,
or the value that stands in the right place, and guests are placed as if the line were not there.

Source: oslo.config ``cfg.py``, ``ConfigOpts``; ``nova/conf/compute.py``.
"""

from __future__ import annotations

import typing as t

from .._model.config import StrayOption
from .examples import a_host
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    for stray in case.host.config.strays:
        meant = f", probably meant as {stray.belongs}" if stray.belongs else ""
        right = case.host.config.origins.get(stray.belongs.rpartition(" ")[2])
        yield Detail(
            f"{stray.key} stands in [{stray.section}]{meant}",
            "Nova passes the line over without a word; "
            + (f"what {right} says holds" if right else "the option keeps its default"),
            f"write it as {stray.belongs}"
            if stray.belongs and not right
            else f"remove the line ({stray.where})",
            stray.where,
        )


_STRAY = StrayOption(
    "cpu_dedicated_set", "DEFAULT", "/etc/nova/nova.conf:3", "[compute] cpu_dedicated_set"
)

RULE = Rule(
    code="HC-61",
    severity=Severity.ERROR,
    title="Option that Nova does not read where it stands",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(cpu_shared_set="0,16", strays=(_STRAY,)),
    good=lambda: a_host(cpu_shared_set="0,16", cpu_dedicated_set="1-15,17-31"),
)
