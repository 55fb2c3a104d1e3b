# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Emulator threads under FIFO share a CPU with ordinary vCPUs.

``emulatorsched`` reaches the main thread alone, and every thread that it starts later inherits it:
those of a live migration, of VNC, of disk workers. Under FIFO they keep an ordinary vCPU on the
same CPU from running for as long as they work.

Source: libvirt ``docs/formatdomain.rst``, CPU Tuning, emulatorsched; kernel
``Documentation/scheduler/sched-rt-group.rst``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import ids, to_text
from .._model.domain import Domain
from .._model.guest_xml import Scheduling
from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

FIFO = Scheduling("fifo", 1)

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.guest_xml import GuestXml


def _check(case: GuestCase) -> Iterator[Detail]:
    xml = guests.running_xml(case.domain)
    if xml is None or xml.emulator_scheduling is None:
        return
    if xml.emulator_scheduling.policy not in ("fifo", "rr"):
        return
    emulator = guests.emulator_cpus(case.domain)
    starved = {
        guests.title(domain): struck
        for domain in guests.everyone(case)
        if (struck := _ordinary(domain) & emulator)
    }
    if starved:
        rows = [f"{to_text(cpus)} ({name})" for name, cpus in starved.items()]
        yield Detail(
            f"emulatorsched is {guests.scheduled(xml.emulator_scheduling)}, and ordinary vCPUs "
            f"have the CPUs of the emulator threads too: {guests.few(rows)}",
            "threads of a live migration, of VNC and of disk workers inherit FIFO and starve these "
            "vCPUs; with sched_rt_runtime_us -1 without end",
            _fix(case),
        )


def _fix(case: GuestCase) -> str:
    """Take the policy out first, which Nova never writes; then move the threads off the vCPUs."""

    def apart(xml: GuestXml) -> bool:
        return not any(cpus & (xml.emulator or 0) for cpus in xml.vcpu_pins.values())

    return (
        f"{guests.hard_reboot(case)}\n(Nova writes no emulatorsched; before they get FIFO again, "
        f"give the emulator threads CPUs apart from vCPUs:)\n"
        f"{guests.change_emulator_policy(case, apart)}"
        if case.domain.nova
        else f"{guests.change_emulator_policy(case, apart)}\n(or take emulatorsched out: virsh "
        "edit, then a restart)"
    )


def _ordinary(domain: Domain) -> int:
    """List the CPUs of the vCPUs that are not under FIFO or RR (bitmask)."""
    found, xml = 0, guests.running_xml(domain)
    seen = guests.threads(domain, "vcpu")
    for thread in seen:
        if thread.policy not in ("fifo", "rr"):
            found |= thread.cpus
    if seen or xml is None:
        return found
    for vcpu in ids(((1 << xml.vcpus) - 1) & ~xml.realtime):
        found |= xml.vcpu_pins.get(vcpu, xml.cpuset or 0)
    return found


RULE = Rule(
    code="DM-12",
    severity=Severity.WARNING,
    title="Emulator threads under FIFO share a CPU with ordinary vCPUs",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(),
        a_domain(
            no_smt(),
            *(1, 2),
            hw={"cpu_realtime": "yes", "cpu_realtime_mask": "^0"},
            xml={"emulator_scheduling": FIFO},
        ),
    ),
    good=lambda: a_guest_case(
        no_smt(),
        a_domain(
            no_smt(),
            *(1, 2),
            reserved="3",
            hw={
                "cpu_realtime": "yes",
                "cpu_realtime_mask": "^0",
                "emulator_threads_policy": "isolate",
            },
            xml={"emulator_scheduling": FIFO},
        ),
    ),
)
