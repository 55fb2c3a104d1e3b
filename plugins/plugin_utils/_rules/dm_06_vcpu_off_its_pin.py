# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pinned vCPU may run elsewhere than on its CPU.

The mask of the thread is not what ``vcpupin`` says: the CPU was offline for a while, a cpuset was
narrowed and widened, or someone changed the mask. The guest shares CPUs with others, and Nova
does not know.

Source: libvirt ``src/qemu/qemu_process.c``, ``qemuProcessSetupVcpu``; kernel
``Documentation/admin-guide/cgroup-v1/cpusets.rst``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    if case.domain.live is None:
        return
    pins = guests.tied(case.domain, case.host)
    online = case.host.host.topology.online
    found, commands = [], []
    for thread in guests.threads(case.domain, "vcpu"):
        cpu = None if thread.index is None else pins.get(thread.index)
        # A CPU that is offline is another rule's.
        if cpu is not None and thread.cpus != 1 << cpu and online >> cpu & 1:
            found.append(
                f"{thread.name} ({thread.id}) may run on {to_text(thread.cpus)}, its vcpupin is "
                f"{cpu}"
            )
            commands.append(f"virsh vcpupin {case.domain.name} {thread.index} {cpu} --live")
    if found:
        yield Detail(
            guests.few(found),
            "the vCPUs share CPUs that other guests or the host use",
            "\n".join((*commands, "(and where that is not enough)", guests.hard_reboot(case))),
        )


RULE = Rule(
    code="DM-06",
    severity=Severity.ERROR,
    title="Pinned vCPU may run elsewhere than on its CPU",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(), a_domain(no_smt(), 1, 2, moved={"CPU 1/KVM": {"cpus": 0b1100}})
    ),
    good=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2)),
)
