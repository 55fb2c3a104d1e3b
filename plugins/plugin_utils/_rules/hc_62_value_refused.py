# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Value that oslo.config refuses.

Options are typed. nova-compute reads them when it starts, and stops at a value of another type or
out of its range.

Source: oslo.config ``types.py``; ``nova/conf/compute.py``, ``nova/conf/libvirt.py``.
"""

from __future__ import annotations

import typing as t

from .._model.config import OptionFault
from .examples import a_host
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    for fault in case.host.config.faults:
        comment = any(mark in fault.value for mark in "#;")
        yield Detail(
            f"{fault.option} = {fault.value!r} is not {fault.accepted}",
            "nova-compute stops with ConfigFileValueError when it reads the option",
            f"set {fault.option} to {fault.accepted}, or remove the line"
            + ("; a comment needs a line of its own" if comment else ""),
            case.host.config.where(fault.option),
        )


RULE = Rule(
    code="HC-62",
    severity=Severity.ERROR,
    title="Value that oslo.config refuses",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(
        faults=(OptionFault("reserved_host_cpus", "two", "a whole number, 0 or more"),)
    ),
    good=lambda: a_host(reserved_host_cpus=2),
)
