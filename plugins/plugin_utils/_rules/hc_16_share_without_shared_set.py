# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flavors with emulator policy share, and the host has no shared set.

share puts the emulator threads on cpu_shared_set. Without it they run on the vCPUs' own host CPUs,
and nothing says so; from 22.0.0 on a realtime guest does not build at all.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config`` and
``_get_guest_memory_backing_config``.
"""

from __future__ import annotations

import typing as t

from . import flavors, host_sets, hosts, shared_cpus
from .examples import a_flavor, a_fleet, a_host, new_style
from .rule import Detail, FlavorCase, FleetCase, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FleetCase) -> Iterator[Detail]:
    for host, landing in host_sets.served(case):
        if host.host.config.cpu_shared_set or not host.release.shared_set:
            continue
        share = tuple(
            flavor
            for flavor in landing
            if flavors.pinned(flavor)
            and flavor.guest
            and flavor.guest.emulator_threads_policy == "share"
        )
        if share:
            yield _detail(host, share)


def _detail(case: HostCase, share: tuple[FlavorCase, ...]) -> Detail:
    strict = tuple(filter(flavors.realtime, share)) if case.release.literal_realtime_mask else ()
    effect = "emulator threads run on the host CPUs of the guests' own vCPUs"
    if strict:
        others = f"; else {effect}" if len(strict) < len(share) else ""
        effect = f"realtime guests do not build here ({hosts.named(strict)}){others}"
    return Detail(
        f"{case.host.name} has no cpu_shared_set and takes {hosts.named(share)} with emulator "
        "policy share",
        effect,
        shared_cpus.fix(case, share),
        case.host.config.where("cpu_shared_set"),
        hosts=(case.host.name,),
    )


RULE = Rule(
    code="HC-16",
    severity=Severity.ERROR,
    title="Flavors with emulator policy share, and the host has no shared set",
    subject=FleetCase,
    check=_check,
    bad=lambda: a_fleet(
        a_flavor(
            host := a_host(cpu_dedicated_set="1-15,17-31"),
            cpu_policy="dedicated",
            emulator_threads_policy="share",
        ),
        hosts=(host,),
    ),
    good=lambda: a_fleet(
        a_flavor(host := new_style(), cpu_policy="dedicated", emulator_threads_policy="share"),
        hosts=(host,),
    ),
)
