# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel, its cgroups and libvirt on a host are and do, beside its CPUs.

None stands for what nobody could read: a rule that needs it says nothing, or says so.
"""

from __future__ import annotations

import dataclasses
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class Kernel:
    """The running kernel. Sets of CPUs are bitmasks."""

    release: str | None = None
    """``uname -r``."""
    preempt_rt: bool | None = None
    rt_group_sched: bool | None = None
    """CONFIG_RT_GROUP_SCHED."""
    no_hz_full: bool | None = None
    """CONFIG_NO_HZ_FULL."""
    nohz_full: int | None = None
    """CPUs without a tick, as sysfs tells; 0 for none."""
    rcu_nocbs: int | None = None
    """CPUs of the argument ``rcu_nocbs``; 0 without it."""
    kthread_cpus: bool = False
    """The argument ``kthread_cpus`` is given."""
    kthread_cpus_known: bool | None = None
    """Whether this kernel knows that argument."""
    rt_runtime_us: int | None = None
    """``sched_rt_runtime_us``; -1 for no limit."""
    numa_balancing: bool | None = None
    nmi_watchdog: bool | None = None
    watchdog_cpus: int | None = None
    """CPUs that the lockup detectors watch; 0 where the soft one is off."""
    ksm: int | None = None
    """``/sys/kernel/mm/ksm/run``: 0 off, 1 on, 2 off and everything unmerged."""
    huge_pages: str | None = None
    """Transparent huge pages: always, madvise or never."""
    workqueue_cpus: int | None = None
    irq_default: int | None = None
    """Default affinity of interrupts."""
    irqs: Mapping[str, int] | None = None
    """Interrupts by name, with ``*`` for its last number (``nvme0q*``, ``eth0-TxRx-*``), to all
    CPUs that they go to. Only those that go to isolated, tickless or, on a host for realtime,
    pinnable CPUs are kept, with these CPUs alone: where the others go tells no hosts apart."""
    managed_irqs: bool | None = None
    """Whether devices with an interrupt for each CPU (NVMe, multi-queue network) are there."""
    irqbalance: bool | None = None
    """Whether irqbalance runs."""
    irqbalance_banned: int | None = None
    """CPUs that irqbalance leaves alone: those it was told, else isolated and tickless ones."""
    smt: str | None = None
    """on, off, forceoff, notsupported or notimplemented."""
    governors: Mapping[str, int] | None = None
    """Frequency governor to the CPUs under it."""
    idle_latency_us: Mapping[int, int] | None = None
    """Longest wake-up latency of the idle states that are allowed to the CPUs with it."""
    kthread_priorities: Mapping[str, int] | None = None
    """ksoftirqd, rcuc, ktimers to the lowest FIFO priority of such a thread; 0 for no FIFO."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cgroups:
    """Control groups."""

    version: int | None = None
    """2 for a pure v2 host, 1 where any controller is mounted the old way."""
    cpu_controller: bool | None = None
    """Whether the controller ``cpu`` is there."""
    isolated: int | None = None
    """CPUs in isolated partitions (bitmask)."""
    machine_cpus: int | None = None
    """CPUs that machine.slice and its parents allow (bitmask)."""
    system_cpus: int | None = None
    """CPUs that systemd gives services: CPUAffinity of the manager, AllowedCPUs (bitmask)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Libvirt:
    """The libvirt daemon that runs the guests."""

    version: str | None = None
    qemu: str | None = None
    lock_capable: bool | None = None
    """Whether it may lock memory beyond its limit (CAP_SYS_RESOURCE)."""
    memlock_unlimited: bool | None = None
    controllers: frozenset[str] | None = None
    """``cgroup_controllers`` of qemu.conf; None where it is not set: every one."""
