# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""hw:cpu_dedicated_mask without policy mixed.

From 22.0.0 on the API refuses the mask beside any other policy; 20 and 21 pass it over.

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
    mask = case.spec("hw:cpu_dedicated_mask")
    refused = case.refusal and case.refusal.name == "RequiredMixedInstancePolicy"
    if refused or (mask and not case.release.mixed_policy and not case.refusal):
        yield Detail(
            f"hw:cpu_dedicated_mask={mask} with policy {case.spec('hw:cpu_policy') or 'none'}",
            "every boot is refused: RequiredMixedInstancePolicy"
            if refused
            else "the mask is passed over until 22.0.0, where every boot is refused",
            flavors.set_command(case, {"hw:cpu_policy": "mixed"})
            + f"  # or: openstack flavor unset {case.flavor.name} "
            "--property hw:cpu_dedicated_mask",
        )


RULE = Rule(
    code="FL-25",
    severity=Severity.ERROR,
    title="hw:cpu_dedicated_mask without policy mixed",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="dedicated", cpu_dedicated_mask="^0"),
    good=lambda: a_flavor(cpu_policy="mixed", cpu_dedicated_mask="^0"),
)
