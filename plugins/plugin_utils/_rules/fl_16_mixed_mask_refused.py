# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Policy mixed with a mask that the API refuses.

Policy mixed, from 22.0.0 on, needs either hw:cpu_dedicated_mask or a realtime mask, which takes
some of the vCPUs but not all. Before 22.0.0 the policy does not exist.

Source: ``nova/virt/hardware.py``, ``get_dedicated_cpu_constraint``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if case.refusal is None:
        return
    names = ("InvalidMixedInstanceDedicatedMask", "RequiredMixedOrRealtimeCPUMask")
    unknown = case.refusal.name == "InvalidCPUAllocationPolicy" and not case.release.mixed_policy
    if case.refusal.name in names or (unknown and case.spec("hw:cpu_policy") == "mixed"):
        yield Detail(
            case.refusal.text,
            f"every boot is refused: {case.refusal.name}",
            "upgrade API and computes to 22.0.0 first"
            if unknown
            else flavors.set_command(case, {"hw:cpu_dedicated_mask": "^0"}),
        )


RULE = Rule(
    code="FL-16",
    severity=Severity.ERROR,
    title="Policy mixed with a mask that the API refuses",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="mixed", cpu_dedicated_mask="0-3"),
    good=lambda: a_flavor(cpu_policy="mixed", cpu_dedicated_mask="^0"),
)
