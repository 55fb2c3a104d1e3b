# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel refuses realtime priorities within control groups.

With CONFIG_RT_GROUP_SCHED a control group of controller ``cpu`` starts with no realtime budget.
libvirt puts each guest into such groups, and the kernel refuses FIFO priorities there. Where
libvirt is told to leave that controller out, it refuses guests with CPU shares or quotas instead;
before 25.3.0 and 26.0.0 Nova gives shares to each guest.

Source: kernel ``Documentation/scheduler/sched-rt-group.rst``; libvirt ``cgroup_controllers`` of
``qemu.conf``, ``src/qemu/qemu_cgroup.c``, ``qemuSetupCpuCgroup``;
``nova/virt/libvirt/driver.py``, ``_update_guest_cputune``.
"""

from __future__ import annotations

import typing as t

from .._model.kernel import Cgroups, Kernel, Libvirt
from . import hosts
from .examples import a_fleet, new_style
from .rule import Detail, FleetCase, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FleetCase) -> Iterator[Detail]:
    for host, guests in hosts.for_realtime(case):
        kernel, groups, libvirt = host.host.kernel, host.host.cgroups, host.host.libvirt
        if kernel is None or groups is None:
            continue
        told = libvirt is not None
        places = libvirt is None or libvirt.controllers is None or "cpu" in libvirt.controllers
        if kernel.rt_group_sched and groups.cpu_controller and places:
            yield Detail(
                f"{host.host.name}: kernel with CONFIG_RT_GROUP_SCHED, and libvirt puts guests "
                "into groups of the cgroup controller cpu"
                + ("" if told else ", if it does as by default (its settings were not read)"),
                f"{hosts.named(guests) if guests else 'realtime guests'}: "
                f'{"no start" if told else "may not start"}, "Cannot set scheduler parameters: '
                'Operation not permitted"',
                _fix(host),
                "/etc/libvirt/qemu.conf",
                None if told else Severity.WARNING,
                hosts=(host.host.name,),
            )


def _fix(case: HostCase) -> str:
    kernel = "a kernel without it (or booted with rt_group_sched=0, where it knows that)"
    sees_groups = hosts.cgroups(case) != _V2 or case.release.cgroup_v2_shares
    if case.release.default_shares and sees_groups:
        return (
            f"{kernel}\n(do not take cpu out of libvirt's cgroup_controllers: Nova "
            f"{case.release.name} gives each guest CPU shares, and then none would start)"
        )
    return (
        f"{kernel}, or in /etc/libvirt/qemu.conf\n"
        'cgroup_controllers = ["devices", "memory", "blkio", "cpuset", "cpuacct"]\n'
        "(guests of flavors with quota:cpu_* do not start then)"
    )


_V2 = 2


def _fleet(controllers: frozenset[str] | None) -> FleetCase:
    host = new_style(
        intent="realtime",
        kernel=Kernel(rt_group_sched=True),
        cgroups=Cgroups(version=1, cpu_controller=True),
        libvirt=Libvirt(controllers=controllers),
    )
    return a_fleet(hosts=(host,))


RULE = Rule(
    code="HC-19",
    severity=Severity.ERROR,
    title="The kernel refuses realtime priorities within control groups",
    subject=FleetCase,
    check=_check,
    bad=lambda: _fleet(None),
    good=lambda: _fleet(frozenset({"cpuset", "memory"})),
)
