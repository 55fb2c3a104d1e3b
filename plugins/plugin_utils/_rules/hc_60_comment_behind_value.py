# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Comment behind a list of CPUs.

oslo.config knows comments only at the start of a line. What follows a value is part of it, and
Nova's reader of CPU lists refuses the whole.

Source: oslo.config ``iniparser.py``; ``nova/virt/hardware.py``, ``parse_cpu_spec``.
"""

from __future__ import annotations

import re
import typing as t

from . import hosts
from .examples import a_host
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    for name, value in hosts.read_options(case):
        bare = re.split("[#;]", value, maxsplit=1)[0].rstrip()
        if bare != value.rstrip():
            yield Detail(
                f"Nova reads {name} as {value!r}, comment included",
                "the list is Invalid: nova-compute does not start",
                f"{name} = {bare}\n(the comment on a line of its own)",
                case.host.config.where(name),
            )


RULE = Rule(
    code="HC-60",
    severity=Severity.ERROR,
    title="Comment behind a list of CPUs",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(cpu_shared_set="0,16", cpu_dedicated_set="1-15,17-31  # guests only"),
    good=lambda: a_host(cpu_shared_set="0,16", cpu_dedicated_set="1-15,17-31"),
)
