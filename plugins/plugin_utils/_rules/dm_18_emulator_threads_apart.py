# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Emulator threads are not where the domain has them.

``virsh emulatorpin --live`` moves the main thread alone where there is no cpuset cgroup; where
there is one, it narrows the others and does not widen them again. libvirt then shows a mask that
most of the threads do not have.

Source: libvirt ``src/qemu/qemu_driver.c``, ``qemuDomainPinEmulator``; kernel
``Documentation/admin-guide/cgroup-v2.rst``, Cpuset.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

BESIDE = (
    "(where a cpuset of libvirt allows these CPUs; threads that start later are as the main "
    "thread; and else)"
)


def _check(case: GuestCase) -> Iterator[Detail]:
    seen, live = guests.threads(case.domain, "emulator"), case.domain.live
    main = next((thread for thread in seen if thread.main), None)
    if main is None:
        return
    online = case.host.host.topology.online
    pinned = (live.emulator or 0) & online if live else 0
    apart = [thread for thread in seen if thread.cpus != main.cpus]
    wanted = pinned or main.cpus
    if apart:
        what = (
            f"its main thread {main.name} ({main.id}) may run on {to_text(main.cpus)}, and "
            f"{guests.told_threads(apart)}"
        )
    elif main.cpus != wanted:
        what = f"its emulator threads may run on {to_text(main.cpus)}"
    else:
        return
    said = f"; emulatorpin is {to_text(pinned)}" if pinned else ""
    moves = [
        f"taskset -p -c {to_text(wanted)} {thread.id}" for thread in seen if thread.cpus != wanted
    ]
    yield Detail(
        what + said,
        "threads of QEMU run where nobody looks for them",
        # Where the set itself is not Nova's, moving more threads to it mends nothing.
        guests.reboot_alone(case)
        if guests.edited(case)
        else "\n".join((*moves[:8], BESIDE, guests.hard_reboot(case))),
    )


RULE = Rule(
    code="DM-18",
    severity=Severity.WARNING,
    title="Emulator threads are not where the domain has them",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(), a_domain(no_smt(), 1, 2, moved={"call_rcu": {"cpus": 0b1000}})
    ),
    good=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2)),
)
