# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Indented key that became part of the value above it.

A line that begins with a blank continues the value before, whatever it says. An indented key is no
key: its option is not set, and the list that swallowed it cannot be read.

Source: oslo.config ``iniparser.py``, ``BaseParser.parse``.
"""

from __future__ import annotations

import re
import typing as t

from . import hosts
from .examples import a_host
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

_SWALLOWED = re.compile(r"\n\s*([A-Za-z_][\w.-]*)\s*[=:]\s*([^\n]*)")


def _check(case: HostCase) -> Iterator[Detail]:
    for name, value in hosts.read_options(case):
        keys = _SWALLOWED.findall(value)
        if keys:
            lines = "\n".join(f"{key} = {text}" for key, text in keys)
            yield Detail(
                f"{name} swallowed {', '.join(key for key, _place in keys)}: Nova reads {value!r}",
                f"{name} is Invalid and nova-compute does not start; "
                f"{', '.join(key for key, _place in keys)} is not set",
                f"without blanks in front:\n{lines}",
                case.host.config.where(name),
            )


RULE = Rule(
    code="HC-63",
    severity=Severity.ERROR,
    title="Indented key that became part of the value above it",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(cpu_shared_set="0,1\ncpu_dedicated_set = 2-11"),
    good=lambda: a_host(cpu_shared_set="0,\n16", cpu_dedicated_set="1-15,\n17-31"),
)
