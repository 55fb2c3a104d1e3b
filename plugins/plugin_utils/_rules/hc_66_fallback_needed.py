# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Legacy host that pinned guests reach by the fallback query alone.

It reports no PCPU, so the first query of a pinned guest passes it by. The second one, for VCPU,
finds it, unless [workarounds] disable_fallback_pcpu_query is on at the scheduler.

Source: ``nova/scheduler/manager.py``, ``select_destinations``; ``nova/conf/workarounds.py``.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._model.host import Scheduler
from . import flavors, host_sets, hosts
from .cases import flavor_case
from .examples import a_flavor, a_fleet, a_host, new_style
from .rule import Detail, FleetCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .rule import HostCase


def _check(case: FleetCase) -> Iterator[Detail]:
    old = [host for host in case.hosts if host.sets is not None and host.sets.legacy]
    if case.scheduler.disable_fallback_pcpu_query:
        yield from _lost(case, old)
        return
    landing = hosts.pinned_here(case)
    for host in old:
        name = host.host.name
        if name in landing:
            yield Detail(
                f"{name} has no PCPU; the VCPU fallback alone brings {hosts.named(landing[name])}",
                "no pinned guest lands here any more once disable_fallback_pcpu_query is on",
                "move the host to cpu_dedicated_set before the fallback goes",
                host.host.config.where("vcpu_pin_set"),
                None if hosts.unconfigured(host) else Severity.INFO,
                (name,),
            )


def _lost(case: FleetCase, old: list[HostCase]) -> Iterator[Detail]:
    """Tell of flavors that boot nowhere and would boot on legacy hosts by the fallback."""
    control = dataclasses.replace(case.scheduler, disable_fallback_pcpu_query=False)
    stranded = tuple(
        flavor_case(flavor.flavor, flavor.image, control, tuple(old))
        for flavor in filter(flavors.pinned, case.flavors)
        if not any(outcome.boots for outcome in flavor.outcomes)
    )
    lost = hosts.pinned_here(dataclasses.replace(case, flavors=stranded))
    if lost:
        waiting = tuple(flavor for flavor in stranded if any(map(host_sets.lands, flavor.outcomes)))
        yield Detail(
            f"disable_fallback_pcpu_query is on, and hosts such as {min(lost)} have no PCPU",
            f"no pinned guest lands on them; boot nowhere, though they fit: {hosts.named(waiting)}",
            "move the hosts to cpu_dedicated_set, or until then\n"
            "[workarounds]\ndisable_fallback_pcpu_query = false",
            "[workarounds] disable_fallback_pcpu_query",
            Severity.ERROR,
            tuple(lost),
        )


def _strict(host: HostCase) -> FleetCase:
    fleet = a_fleet(a_flavor(host, fallback=False, cpu_policy="dedicated"), hosts=(host,))
    control = Scheduler(fleet.scheduler.release, disable_fallback_pcpu_query=True)
    return dataclasses.replace(fleet, scheduler=control)


RULE = Rule(
    code="HC-66",
    severity=Severity.WARNING,
    title="Legacy host that pinned guests reach by the fallback query alone",
    subject=FleetCase,
    check=_check,
    bad=lambda: _strict(a_host()),
    good=lambda: _strict(new_style()),
)
