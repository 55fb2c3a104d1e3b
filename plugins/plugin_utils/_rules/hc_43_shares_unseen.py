# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nova does not see the CPU controller of cgroups v2.

Before 25.2.1, 26.2.1 and 27.1.0 it looks for mounts of v1 alone. On a host with v2 alone it writes
no CPU shares, and refuses flavors with quota:cpu_*.

Source: ``nova/virt/libvirt/host.py``, ``is_cpu_control_policy_capable``.
"""

from __future__ import annotations

import typing as t

from .._model.kernel import Cgroups
from . import flavors, host_sets, hosts
from .examples import a_flavor, a_fleet, new_style
from .rule import Detail, FleetCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


_QUOTAS = ("quota:cpu_shares", "quota:cpu_period", "quota:cpu_quota")


def _check(case: FleetCase) -> Iterator[Detail]:
    for host, refused in host_sets.failing(case, "UnsupportedHostCPUControlPolicy"):
        if hosts.cgroups(host) != 2 or host.release.cgroup_v2_shares:
            continue
        told = f"{hosts.named(refused)}: UnsupportedHostCPUControlPolicy" if refused else ""
        keys = filter(refused[0].spec, _QUOTAS) if refused else ()
        yield Detail(
            f"{host.host.name} has cgroups v2 alone, and Nova {host.release.name} sees no CPU "
            "controller there",
            told
            or "boots with quota:cpu_* fail"
            + (", no guest gets CPU shares" if host.release.default_shares else ""),
            "update nova-compute to 25.2.1, 26.2.1 or 27.1.0"
            + (f"; until then\n{flavors.unset_command(refused[0], *keys)}" if refused else ""),
            severity=Severity.WARNING if refused else None,
            hosts=(host.host.name,),
        )


def _fleet(release: str) -> FleetCase:
    host = new_style(release=release, cgroups=Cgroups(version=2))
    specs = {"quota:cpu_quota": "10000"}
    return a_fleet(a_flavor(host, release=release, specs=specs), hosts=(host,), release=release)


RULE = Rule(
    code="HC-43",
    severity=Severity.INFO,
    title="Nova does not see the CPU controller of cgroups v2",
    subject=FleetCase,
    check=_check,
    bad=lambda: _fleet("25.2.0"),
    good=lambda: _fleet("25.2.1"),
)
