# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pinned guest takes VCPU on a host with dedicated CPUs.

Where Placement has no PCPU left but the NUMA books have free CPUs (allocations that leaked, or
PCPU held by guests that are not pinned), the fallback query brings the host back by its VCPU
inventory.

Source: ``nova/scheduler/manager.py``, ``select_destinations``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor, new_style
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    landing = [
        host.names[0]
        for host, outcome in zip(case.hosts, case.outcomes, strict=True)
        if outcome.query == "fallback"
        and host.sets
        and not host.sets.legacy
        and not (flavors.isolates(case) and host.host.topology.hyperthreading)
    ]
    if landing:
        yield Detail(
            "the PCPU query finds no room, the fallback finds VCPU, and dedicated CPUs are free",
            f"the guest lands on {landing[0]} with VCPU {case.flavor.vcpus}",
            "[workarounds] disable_fallback_pcpu_query = true on every scheduler; "
            "openstack resource provider allocation show for what holds PCPU there",
            hosts=tuple(landing),
        )


RULE = Rule(
    code="FL-50",
    severity=Severity.ERROR,
    title="Pinned guest takes VCPU on a host with dedicated CPUs",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(new_style(allocated={"PCPU": 28}), cpu_policy="dedicated"),
    good=lambda: a_flavor(new_style(allocated={"PCPU": 4}), cpu_policy="dedicated"),
)
