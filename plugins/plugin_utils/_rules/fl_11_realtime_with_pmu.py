# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime guest with a performance monitoring unit.

Nova leaves the guest's PMU on unless told otherwise; saving and restoring its counters costs time
at every exit of a realtime vCPU.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_config``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if flavors.realtime(case) and not case.refusal and case.spec("hw:pmu") is None:
        yield Detail(
            "hw:pmu is not set, so the guest has a PMU",
            "each exit of a realtime vCPU takes longer",
            flavors.set_command(case, {"hw:pmu": "false"}),
        )


RULE = Rule(
    code="FL-11",
    severity=Severity.INFO,
    title="Realtime guest with a performance monitoring unit",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0"),
    good=lambda: a_flavor(
        cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0", pmu="false"
    ),
)
