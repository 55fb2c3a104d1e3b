# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime evidence that nobody read.

A rule that lacks what it judges by is silent. On a host for realtime guests that silence is no
proof that all is well.

Source: ``pinguard.nova.host_facts``, which reads all of it as root with libvirt's daemon running.
"""

from __future__ import annotations

import typing as t

from .._model.host import Isolation
from .._model.kernel import Cgroups, Kernel, Libvirt
from . import hosts
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

KERNEL = {
    "preempt_rt": "PREEMPT_RT",
    "rt_group_sched": "CONFIG_RT_GROUP_SCHED",
    "rt_runtime_us": "sched_rt_runtime_us",
    "irqs": "interrupts",
}
"""Fields of the kernel that each host has, and what they are."""


def _check(case: HostCase) -> Iterator[Detail]:
    if not hosts.realtime(case):
        return
    missing = tuple(_missing(case))
    if missing:
        yield Detail(
            f"nobody read of this realtime host: {', '.join(missing)}",
            "what is wrong there stays unseen",
            "read the host with pinguard.nova.host_facts as root, libvirt's daemon running",
            "facts",
        )


def _missing(case: HostCase) -> Iterator[str]:
    host = case.host
    if not hosts.isolation_told(host):
        yield "isolated CPUs"
    if host.kernel is None:
        yield "the kernel's settings"
    else:
        for field, name in KERNEL.items():
            if getattr(host.kernel, field) is None:
                yield name
    if not hosts.cgroups(case) or host.cgroups is None or host.cgroups.cpu_controller is None:
        yield "control groups"
    if host.libvirt is None:
        yield "libvirt's settings"
    elif host.libvirt.lock_capable is None and host.libvirt.memlock_unlimited is None:
        yield "whether libvirt may lock memory"


def read_host(**kernel: t.Any) -> HostCase:
    """Make a realtime host of which everything is known; ``kernel`` are fields of its kernel."""
    told = {"preempt_rt": True, "rt_group_sched": False, "rt_runtime_us": -1, "irqs": {}}
    return new_style(
        intent="realtime",
        isolation=Isolation(),
        kernel=Kernel(**{**told, **kernel}),
        cgroups=Cgroups(version=2, cpu_controller=True),
        libvirt=Libvirt(lock_capable=True, memlock_unlimited=True),
    )


RULE = Rule(
    code="HC-80",
    severity=Severity.WARNING,
    title="Realtime evidence that nobody read",
    subject=HostCase,
    check=_check,
    bad=lambda: read_host(rt_group_sched=None),
    good=read_host,
)
