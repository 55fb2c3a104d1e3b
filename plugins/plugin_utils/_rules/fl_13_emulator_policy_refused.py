# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Emulator threads policy that the API refuses.

isolate needs pinned vCPUs, and only share and isolate exist.

Source: ``nova/virt/hardware.py``, ``numa_get_constraints``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    names = ("BadRequirementEmulatorThreadsPolicy", "InvalidEmulatorThreadsPolicy")
    if case.refusal and case.refusal.name in names:
        missing = case.refusal.name == names[0]
        yield Detail(
            case.refusal.text,
            f"every boot is refused: {case.refusal.name}",
            flavors.set_command(case, {"hw:cpu_policy": "dedicated"})
            if missing
            else flavors.set_command(case, {"hw:emulator_threads_policy": "isolate"})
            + "  # or share",
        )


RULE = Rule(
    code="FL-13",
    severity=Severity.ERROR,
    title="Emulator threads policy that the API refuses",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(emulator_threads_policy="isolate"),
    good=lambda: a_flavor(cpu_policy="dedicated", emulator_threads_policy="isolate"),
)
