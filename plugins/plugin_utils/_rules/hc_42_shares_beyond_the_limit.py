# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Default CPU shares are too many for cgroups v2.

Nova gives each domain 1024 shares a vCPU until 25.3.0 and 26.0.0. cgroups v2 take weights up to
10000: domains of 10 and more vCPUs are refused. 25.2.1 writes them on such hosts; a live migration
takes those of older hosts along.

Source: ``nova/virt/libvirt/driver.py``, ``_update_guest_cputune``; kernel
``Documentation/admin-guide/cgroup-v2.rst``, ``cpu.weight``.
"""

from __future__ import annotations

import typing as t

from .._model.kernel import Cgroups
from . import host_sets, hosts
from .examples import a_flavor, a_fleet, new_style
from .rule import Detail, FleetCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .rule import FlavorCase, HostCase


_SHARES, _MOST = 1024, 10000


def _check(case: FleetCase) -> Iterator[Detail]:
    landing = {
        host.host.name: (host, {flavor.flavor.name: flavor for flavor in filter(_large, booting)})
        for host, booting in host_sets.served(case)
    }
    for name, (host, large) in landing.items():
        if not large or not host.release.default_shares or not _groups(host):
            continue
        if _groups(host) == 2:
            if host.release.cgroup_v2_shares:
                yield _told(host, tuple(large.values()), "on cgroups v2", (name,))
            continue
        goals = {
            other: large.keys() & also.keys()
            for other, (goal, also) in landing.items()
            if _groups(goal) == 2 and not large.keys().isdisjoint(also)
        }
        if goals:
            moved = tuple(large[each] for each in large if any(each in go for go in goals.values()))
            how = f"which a live migration takes along to {', '.join(goals)}"
            yield _told(host, moved, how, (name, *goals))


def _large(case: FlavorCase) -> bool:
    return case.flavor.vcpus * _SHARES > _MOST and not case.spec("quota:cpu_shares")


def _groups(host: HostCase) -> int:
    """Give the generation of cgroups with a CPU controller; 0 where unknown or without one."""
    groups = host.host.cgroups
    return hosts.cgroups(host) if groups and groups.cpu_controller else 0


def _told(
    host: HostCase, large: tuple[FlavorCase, ...], how: str, names: tuple[str, ...]
) -> Detail:
    most = max(flavor.flavor.vcpus for flavor in large)
    return Detail(
        f"{host.host.name} (Nova {host.release.name}) writes {_SHARES} shares a vCPU {how}: "
        f"{hosts.named(large)}, up to {most * _SHARES}",
        f"cgroups v2 take {_MOST} at most: "
        + (
            "the guest does not start"
            if len(names) == 1
            else "the live migration fails; a cold one does not"
        ),
        "update nova-compute to 25.3.0 or 26.0.0"
        + (
            ""
            if len(names) == 1
            else "; until then move these guests cold: openstack server migrate"
        ),
        hosts=names,
    )


def _fleet(release: str) -> FleetCase:
    groups = Cgroups(version=2, cpu_controller=True)
    host = new_style(release=release, cgroups=groups)
    return a_fleet(
        a_flavor(host, vcpus=10, release=release, cpu_policy="dedicated"),
        hosts=(host,),
        release=release,
    )


RULE = Rule(
    code="HC-42",
    severity=Severity.WARNING,
    title="Default CPU shares are too many for cgroups v2",
    subject=FleetCase,
    check=_check,
    bad=lambda: _fleet("25.2.1"),
    good=lambda: _fleet("25.3.0"),
)
