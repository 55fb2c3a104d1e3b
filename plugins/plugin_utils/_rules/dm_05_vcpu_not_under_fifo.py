# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime vCPU does not run as its domain says.

libvirt sets the scheduling of a vCPU thread when the domain starts. A thread under another policy
or priority was changed since, or is of a start before the XML had it: it competes with everything
else on its CPU, or stands above kernel threads that it needs.

Source: libvirt ``src/qemu/qemu_process.c``, ``qemuProcessSetupPid``; kernel
``Documentation/filesystems/proc.rst``, stat.
"""

from __future__ import annotations

import typing as t

from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    live = case.domain.live
    if live is None:
        return
    found, commands = [], []
    for thread in guests.threads(case.domain, "vcpu"):
        wanted = None if thread.index is None else live.vcpu_scheduling.get(thread.index)
        if wanted is None or wanted.policy not in ("fifo", "rr"):
            continue
        priority = wanted.priority or 0
        if (thread.policy, thread.priority) != (wanted.policy, priority):
            now = f"{thread.policy} {thread.priority}" if thread.priority else thread.policy
            found.append(
                f"{thread.name} ({thread.id}) runs under {now}, vcpusched says "
                f"{guests.scheduled(wanted)}"
            )
            commands.append(f"chrt --{wanted.policy} -p {priority} {thread.id}")
    if found:
        yield Detail(
            guests.few(found),
            "the realtime vCPUs wait behind ordinary threads, or keep kernel threads waiting",
            "\n".join((guests.hard_reboot(case), "(or at once, until the next start)", *commands)),
        )


RULE = Rule(
    code="DM-05",
    severity=Severity.ERROR,
    title="Realtime vCPU does not run as its domain says",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(),
        a_domain(
            no_smt(),
            *(1, 2, 3, 4),
            hw={"cpu_realtime": "yes", "cpu_realtime_mask": "^0"},
            moved={"CPU 1/KVM": {"policy": "other", "priority": 0}},
        ),
    ),
    good=lambda: a_guest_case(
        no_smt(),
        a_domain(no_smt(), *(1, 2, 3, 4), hw={"cpu_realtime": "yes", "cpu_realtime_mask": "^0"}),
    ),
)
