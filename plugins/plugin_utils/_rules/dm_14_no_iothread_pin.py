# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pinned guest is from before Nova gave guests an I/O thread.

From 33.0.0 a live migration writes the pins of the I/O thread anew, and in some releases fails
where there are none to write: for each guest with NUMA topology that was last started by an older
Nova.

Source: ``nova/virt/libvirt/migration.py``, ``_update_numa_xml``; Launchpad bug 2152697.
"""

from __future__ import annotations

import typing as t

from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    xml, release = guests.running_xml(case.domain), case.host.release
    if xml is None or not release.iothread or case.domain.nova is None:
        return
    if not guests.has_numa(xml) or not xml.emulator or xml.iothread_pins:
        return
    what = f"it has no iothreadpin, on a host with Nova {release.name}"
    if release.live_needs_iothread_pin:
        yield Detail(
            what,
            "its live migration fails until Nova has written its domain anew",
            f"{guests.hard_reboot(case)}\n(before a live migration; or go to Nova 34 first)",
        )
    else:
        yield Detail(
            what,
            "its disks are served by its main thread, until Nova writes its domain anew",
            f"nothing at once; the next start by Nova adds it:\n{guests.hard_reboot(case)}",
            severity=Severity.INFO,
        )


RULE = Rule(
    code="DM-14",
    severity=Severity.WARNING,
    title="Pinned guest is from before Nova gave guests an I/O thread",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(release="33.0.1"), a_domain(no_smt(release="33.0.1"), 1, 2, release="32.0.0")
    ),
    good=lambda: a_guest_case(no_smt(release="33.0.1"), a_domain(no_smt(release="33.0.1"), 1, 2)),
)
