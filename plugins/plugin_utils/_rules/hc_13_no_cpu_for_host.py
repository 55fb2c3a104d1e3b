# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No CPU is kept for the host.

Daemons, interrupts and QEMU's own threads run where guests do not, if there is such a CPU. Beside
floating guests they are served in turn; beside pinned ones they take time that was promised.
Isolated CPUs and those of a poll-mode data path do not count: nothing else runs there.

Source: ``nova/virt/libvirt/driver.py``, ``_get_vcpu_available``, ``_get_pcpu_available``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size, to_text
from . import host_sets, hosts
from .examples import a_host, new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    if case.sets is None or hosts.unconfigured(case):
        return
    host, guests = case.host, case.sets.shared | case.sets.dedicated
    free = host.topology.online & ~(guests | hosts.isolated(case) | host.data_path_cpus)
    if free:
        return
    if host.topology.online & case.sets.shared & ~(hosts.isolated(case) | host.data_path_cpus):
        yield Detail(
            f"all {size(host.topology.online)} online CPUs are for guests, isolated or polled",
            f"the host runs on shared CPUs {to_text(case.sets.shared)}, beside floating guests",
            "leave a core of each cell out of every set, if the host needs one of its own",
            host.config.where(hosts.read_options(case)[0][0]),
            severity=Severity.INFO,
        )
        return
    kept = case.sets.dedicated & ~host_sets.first_cores(host.topology, host.topology.online)
    yield Detail(
        f"of online CPUs {to_text(host.topology.online)} none is left beside dedicated "
        f"({to_text(case.sets.dedicated) or 'none'}), isolated and polled ones",
        "host daemons, interrupts and emulator threads run on the CPUs of pinned guests",
        f"[compute]\ncpu_dedicated_set = {to_text(kept)}\n(a core of each cell less, not isolated)"
        if kept
        else "leave a core of each cell out of every set, and not isolated",
        host.config.where(hosts.read_options(case)[-1][0]),
    )


RULE = Rule(
    code="HC-13",
    severity=Severity.ERROR,
    title="No CPU is kept for the host",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(cpu_dedicated_set="0-31"),
    good=lambda: new_style(cpu_shared_set="8,24"),
)
