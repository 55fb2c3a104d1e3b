# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU of a pinned guest is offline.

The kernel moves the threads of a CPU that goes offline to others and forgets that they were tied
to it; libvirt starts no domain that is tied to CPUs of which none is online.

Source: kernel ``Documentation/core-api/cpu_hotplug.rst``; ``nova/virt/libvirt/cpu/api.py``,
``power_down_all_dedicated_cpus``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import ids
from . import guests, host_sets
from .examples import a_domain, a_guest_case, no_smt, topology
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    xml, machine = case.domain.xml, case.host.host.topology
    if xml is None:
        return
    pins, emulator = case.pinned[case.domain.id], xml.emulator or 0
    gone = {
        name: cpus & ~machine.online
        for name, cpus in (("vCPUs", pins), ("emulator threads", emulator & ~pins))
        if cpus & ~machine.online
    }
    if not gone or not case.domain.running:
        return
    every = 0
    for cpus in gone.values():
        every |= cpus
    rows = [
        f"{guests.told_cpus(cpus & among)} of its {name} {what}"
        for what, among in (("offline", machine.present), ("no longer there", ~machine.present))
        for name, cpus in gone.items()
        if cpus & among
    ]
    if every & ~machine.present:
        commands = [guests.cold_migrate(case), "(the next start here fails)"]
    else:
        commands = [f"echo 1 > /sys/devices/system/cpu/cpu{cpu}/online" for cpu in ids(every)]
        if host_sets.powers_off(case.host):
            commands.append("(nova-compute took them offline: see HC-34 before its next restart)")
        commands += ["(then tie the threads to them again)", guests.hard_reboot(case)]
    yield Detail(
        ", ".join(rows),
        "the threads run on other CPUs already, tied to none, and the domain may not start again",
        "\n".join(commands),
    )


RULE = Rule(
    code="DM-08",
    severity=Severity.ERROR,
    title="CPU of a pinned guest is offline",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(machine=topology(threads=1, offline="2"), cpu_dedicated_set="1,3-7,9-15"),
        a_domain(no_smt(), 1, 2),
    ),
    good=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2)),
)
