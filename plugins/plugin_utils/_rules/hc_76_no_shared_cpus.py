# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host with dedicated CPUs alone.

It reports no VCPU, so floating guests do not land. Emulator policy share finds no shared CPUs here:
it leaves the emulator threads of a pinned guest on the guest's own, and from 22.0.0 on no realtime
guest with it starts. Flavors that have it are HC-16's.

Source: ``nova/virt/libvirt/driver.py``, ``_get_vcpu_available``, ``_get_guest_numa_config``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size
from . import hosts, shared_cpus
from .cases import changed, likeness
from .examples import a_flavor, a_fleet, a_host, new_style
from .policies import KEY
from .rule import Detail, FleetCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .rule import FlavorCase, HostCase


def _check(case: FleetCase) -> Iterator[Detail]:
    landing = hosts.pinned_here(case)
    for host in case.hosts:
        if host.sets is None or host.sets.shared or not host.sets.dedicated:
            continue
        name, count = host.host.name, size(host.sets.dedicated)
        where = host.host.config.where("cpu_dedicated_set")
        yield Detail(
            f"{name} has no shared CPUs: VCPU 0, PCPU {count}",
            "floating guests cannot land here",
            "none is needed on a host for pinned guests",
            where,
            Severity.INFO,
            (name,),
        )
        beside = tuple(
            flavor
            for flavor in landing.get(name, ())
            if flavor.guest and flavor.guest.emulator_threads_policy is None
        )
        if beside:
            yield Detail(
                f"{name} has no shared CPUs for emulator threads, and takes {hosts.named(beside)}",
                f"emulator threads run on the guests' own pinned CPUs; {_share(host)}",
                _fix(host, beside),
                where,
                hosts=(name,),
            )


def _share(host: HostCase) -> str:
    if host.release.literal_realtime_mask:
        return "with hw:emulator_threads_policy=share no realtime guest starts, others stay there"
    return "hw:emulator_threads_policy=share changes nothing"


def _fix(host: HostCase, beside: tuple[FlavorCase, ...]) -> str:
    """Propose a shared set, and isolate for the flavors that fit with it."""
    alike = tuple({likeness(each.flavor, each.image): each for each in beside}.values())
    fitting = tuple(
        each for each in alike if changed(each, {KEY: "isolate"}, (host,)).outcomes[0].boots
    )
    told = shared_cpus.fix(host, alike)
    if fitting:
        told += f"\nor {KEY}=isolate for {hosts.named(fitting)}: a PCPU more each"
    return told


RULE = Rule(
    code="HC-76",
    severity=Severity.WARNING,
    title="Host with dedicated CPUs alone",
    subject=FleetCase,
    check=_check,
    bad=lambda: a_fleet(
        a_flavor(host := a_host(cpu_dedicated_set="1-15,17-31"), cpu_policy="dedicated"),
        hosts=(host,),
    ),
    good=lambda: a_fleet(a_flavor(host := new_style(), cpu_policy="dedicated"), hosts=(host,)),
)
