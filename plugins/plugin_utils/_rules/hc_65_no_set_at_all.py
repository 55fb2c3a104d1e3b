# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host without any set of CPUs.

Where no option bounds them, every online CPU is both VCPU inventory and free to be pinned: pinned
guests, floating guests and the host itself share all of them, and the host reports no PCPU.

Source: ``nova/virt/libvirt/driver.py``, ``_get_vcpu_available``, ``_get_host_numa_topology``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size, to_text
from . import host_sets, hosts, shared_cpus
from .examples import a_flavor, a_fleet, a_host, new_style
from .rule import Detail, FleetCase, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .rule import FlavorCase


def _check(case: FleetCase) -> Iterator[Detail]:
    landing = hosts.pinned_here(case)
    for host in case.hosts:
        if host.sets is not None and hosts.unconfigured(host) and not _unknown(host):
            yield _detail(host, landing.get(host.host.name, ()))


def _unknown(case: HostCase) -> bool:
    """Say whether sets are written that the host's release does not read: HC-73 tells."""
    return bool(case.host.config.cpu_shared_set or case.host.config.cpu_dedicated_set)


def _detail(case: HostCase, pinned: tuple[FlavorCase, ...]) -> Detail:
    online = case.host.topology.online
    here = f"; {hosts.named(pinned)} can land here" if pinned else ""
    return Detail(
        f"no option bounds guests on {case.host.name}{here}",
        f"pinned and floating guests and the host share all {size(online)} CPUs"
        if pinned
        else f"floating guests and the host share all {size(online)} CPUs, none can be promised",
        _fix(case),
        "nova.conf",
        severity=None if pinned else Severity.INFO,
        hosts=(case.host.name,),
    )


def _fix(case: HostCase) -> str:
    topology = case.host.topology
    shared = host_sets.first_cores(topology, topology.online) or topology.online & -topology.online
    rest = to_text(topology.online & ~shared)
    if not rest:
        return f"[compute]\ncpu_shared_set = {to_text(shared)}"
    if case.release.dedicated_set:
        return shared_cpus.fix(case, ())
    return f"[DEFAULT]\nvcpu_pin_set = {rest}"


RULE = Rule(
    code="HC-65",
    severity=Severity.ERROR,
    title="Host without any set of CPUs",
    subject=FleetCase,
    check=_check,
    bad=lambda: a_fleet(a_flavor(host := a_host(), cpu_policy="dedicated"), hosts=(host,)),
    good=lambda: a_fleet(a_flavor(host := new_style(), cpu_policy="dedicated"), hosts=(host,)),
)
