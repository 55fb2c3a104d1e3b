# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Emulator or I/O threads may run on the CPUs of realtime vCPUs.

A realtime vCPU and a thread of QEMU share a CPU: the vCPU, under FIFO, keeps the thread waiting as
long as it runs, and every answer of the thread that the vCPU waits for comes late; a thread that
inherited FIFO takes the CPU from the vCPU. Both end the isolation that the guest was given.

For a realtime guest Nova ties emulator threads to the CPUs of the other vCPUs, to a CPU of their
own or to the shared set. Only without realtime do they get the CPUs of all vCPUs; a realtime guest
with those was changed by hand or started before its flavor became a realtime one.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``; kernel
``Documentation/scheduler/sched-rt-group.rst``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size, to_text
from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.guest_xml import GuestXml


def _check(case: GuestCase) -> Iterator[Detail]:
    realtime = 0
    for cpus in case.realtime.values():
        realtime |= cpus
    struck, seen = _struck(case, realtime)
    if not struck:
        return
    victims = [
        guests.title(domain)
        for domain in guests.everyone(case)
        if case.realtime[domain.id] & struck
    ]
    yield Detail(
        f"{seen}: {guests.told_cpus(struck)} {'belongs' if size(struck) == 1 else 'belong'} to "
        f"realtime vCPUs of {guests.few(victims)}" + _form(case),
        "threads of QEMU and realtime vCPUs hold each other up: unbounded latency where the guest "
        "was promised a bound",
        _fix(case, realtime),
    )


def _struck(case: GuestCase, realtime: int) -> tuple[int, str]:
    """Give the realtime CPUs that are run on, and by what; by the XML where threads are unread."""
    domain, xml, struck = case.domain, guests.running_xml(case.domain), 0
    if domain.threads is not None:
        found = [
            thread
            for thread in guests.threads(domain, "emulator", "iothread")
            if thread.cpus & realtime
        ]
        for thread in found:
            struck |= thread.cpus & realtime
        return struck, guests.told_threads(found)
    if xml is None:
        return 0, ""
    sets = {"emulatorpin": xml.emulator or 0} | {
        f"iothreadpin {thread}": cpus for thread, cpus in xml.iothread_pins.items()
    }
    for cpus in sets.values():
        struck |= cpus & realtime
    return struck, guests.few(
        [f"{name} is {to_text(cpus)}" for name, cpus in sets.items() if cpus & realtime]
    )


def _form(case: GuestCase) -> str:
    """Recognise emulator threads over the CPUs of all vCPUs of a realtime guest."""
    xml = case.domain.xml
    if xml is None or not xml.realtime or not xml.vcpu_pins:
        return ""
    every = 0
    for cpus in xml.vcpu_pins.values():
        every |= cpus
    if every & ~(xml.emulator or 0):
        return ""
    return (
        f"; emulatorpin covers the CPUs of all vCPUs, {to_text(every)}, as Nova writes it "
        "only for guests without realtime"
    )


def _fix(case: GuestCase, realtime: int) -> str:
    others = realtime & ~guests.realtime_cpus(case.domain)

    def mends(xml: GuestXml) -> bool:
        return not (xml.emulator or 0) & xml.realtime_cpus

    reboot = guests.reboot_mends(case, lambda xml: mends(xml) and not (xml.emulator or 0) & others)
    policy = guests.change_emulator_policy(case, mends)
    return (
        f"{reboot}\n(or, for CPUs apart from its vCPUs, by the flavor:)\n{policy}"
        if reboot
        else policy
    )


RULE = Rule(
    code="DM-02",
    severity=Severity.ERROR,
    title="Emulator or I/O threads may run on the CPUs of realtime vCPUs",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(),
        a_domain(
            no_smt(),
            *(1, 2, 3, 4),
            hw={"cpu_realtime": "yes", "cpu_realtime_mask": "^0"},
            xml={"emulator": 0b11110},
        ),
    ),
    good=lambda: a_guest_case(
        no_smt(),
        a_domain(no_smt(), *(1, 2, 3, 4), hw={"cpu_realtime": "yes", "cpu_realtime_mask": "^0"}),
    ),
)
