# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""cpu-partitioning alone does not isolate for realtime guests.

This profile of tuned moves services and interrupts away, and leaves the CPUs in the domains of the
kernel's scheduler, unless ``no_balance_cores`` names them.

Source: tuned, profile ``cpu-partitioning``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.host import Isolation
from . import hosts, tuning
from .examples import a_flavor, a_fleet, new_style
from .rule import Detail, FleetCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FleetCase) -> Iterator[Detail]:
    for host, guests in hosts.for_realtime(case):
        if host.host.intent not in (None, "realtime") or not tuning.partitions(host.host):
            continue
        cpus = hosts.pinnable(host)
        if cpus and not hosts.unconfigured(host):
            yield Detail(
                f"{host.host.name}: tuned profile {host.host.tuned_profile}, no CPU isolated, for "
                + (hosts.named(guests) if guests else "realtime guests"),
                "the kernel still moves tasks to the CPUs of realtime vCPUs, and balances there",
                f"{tuning.profile(cpus)}; or\nno_balance_cores={to_text(cpus)}\n"
                "in /etc/tuned/cpu-partitioning-variables.conf",
                "/etc/tuned/active_profile",
                hosts=(host.host.name,),
            )


def _fleet(isolation: Isolation) -> FleetCase:
    host = new_style(tuned_profile="cpu-partitioning", isolation=isolation)
    flavor = a_flavor(host, cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0")
    return a_fleet(flavor, hosts=(host,))


RULE = Rule(
    code="HC-25",
    severity=Severity.WARNING,
    title="cpu-partitioning alone does not isolate for realtime guests",
    subject=FleetCase,
    check=_check,
    bad=lambda: _fleet(Isolation(tuned_isolated=0xFEFEFEFE)),
    good=lambda: _fleet(Isolation(domain=0xFEFEFEFE, tuned_isolated=0xFEFEFEFE)),
)
