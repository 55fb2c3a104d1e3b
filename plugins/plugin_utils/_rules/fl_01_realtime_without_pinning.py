# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime without pinned vCPUs.

hw:cpu_realtime works only with pinned vCPUs: the API refuses every boot with
RealtimeConfigurationInvalid where the CPU policy is shared or absent.

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
    if case.refusal and case.refusal.name == "RealtimeConfigurationInvalid":
        yield Detail(
            "hw:cpu_realtime is on, but no vCPU is pinned",
            "every boot is refused: RealtimeConfigurationInvalid",
            flavors.set_command(case, {"hw:cpu_policy": "dedicated"}),
        )


RULE = Rule(
    code="FL-01",
    severity=Severity.ERROR,
    title="Realtime without pinned vCPUs",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_realtime="yes", cpu_realtime_mask="^0"),
    good=lambda: a_flavor(cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0"),
)
