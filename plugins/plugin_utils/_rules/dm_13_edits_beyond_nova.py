# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Domain has what Nova never writes.

The scheduling of emulator and I/O threads is no setting of Nova. Whoever wrote it into the domain
loses it at the next hard reboot, start, resize, cold migration, rebuild, unshelve or evacuation; a
live migration keeps it, while the pins follow the new host.

Source: ``nova/virt/libvirt/config.py``, ``LibvirtConfigGuestCPUTune``; ``nova/virt/libvirt/
migration.py``, ``get_updated_guest_xml``.
"""

from __future__ import annotations

import typing as t

from .._model.guest_xml import Scheduling
from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    xml = case.domain.xml
    if xml is None or case.domain.nova is None:
        return
    found = []
    if xml.emulator_scheduling:
        found.append(f"emulatorsched {guests.scheduled(xml.emulator_scheduling)}")
    found += [
        f"iothreadsched {guests.scheduled(scheduling)} of I/O thread {thread}"
        for thread, scheduling in xml.iothread_scheduling.items()
    ]
    if xml.iothread_pins and not case.release.iothread and not case.host.release.iothread:
        found.append("iothreadpin")
    if found:
        yield Detail(
            f"no release of Nova writes this: {', '.join(found)}",
            "it is gone after the next start by Nova, and survives a live migration with pins that "
            "it was not made for",
            "nothing now; say it through Nova's own inputs where they can: "
            "hw:emulator_threads_policy isolate, or share with cpu_shared_set, gives the emulator "
            "threads CPUs without realtime vCPUs; else apply it again after each start",
        )


RULE = Rule(
    code="DM-13",
    severity=Severity.INFO,
    title="Domain has what Nova never writes",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(), a_domain(no_smt(), 1, 2, xml={"emulator_scheduling": Scheduling("batch")})
    ),
    good=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2)),
)
