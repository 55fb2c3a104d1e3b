# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One thread of each core is dedicated on a host with SMT.

Nova tells of SMT by the hardware, and of siblings by the sets. With the other threads in no set the
trait HW_CPU_HYPERTHREADING is there and no core has two usable threads: thread policy require finds
the host and never fits. Isolate is kept out of its PCPU; it gets in by the fallback for VCPU, into
cells whose shared CPUs are single threads too.

Source: ``nova/virt/libvirt/host.py``, ``has_hyperthreading``;
``nova/virt/libvirt/driver.py``, ``_get_host_numa_topology``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size, to_text
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    if case.sets is None or case.sets.legacy or not case.sets.dedicated:
        return
    dedicated = case.sets.dedicated
    cores = [core for core in case.host.topology.cores if core & dedicated]
    threads = [size(core & (dedicated | case.sets.shared)) for core in cores]
    if max(threads, default=2) > 1 or all(size(core) == 1 for core in cores):
        return
    left = sum(core & ~dedicated for core in cores)
    single = any(cell.pcpuset and cell.threads == 1 for cell in case.cells or ())
    enters = "gets in by the VCPU fallback alone" if case.sets.shared and single else "cannot land"
    yield Detail(
        f"each of {len(cores)} cores has one thread in cpu_dedicated_set; "
        f"siblings {to_text(left)} are in no set",
        f"thread policy require never fits, isolate {enters}",
        "switch SMT off (kernel argument nosmt), or\n"
        f"[compute]\ncpu_dedicated_set = {to_text(dedicated | left)}",
        case.host.config.where("cpu_dedicated_set"),
    )


RULE = Rule(
    code="HC-78",
    severity=Severity.WARNING,
    title="One thread of each core is dedicated on a host with SMT",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(cpu_shared_set="0,8", cpu_dedicated_set="1-7,9-15"),
    good=new_style,
)
