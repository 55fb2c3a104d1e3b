# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Persistent domain differs from the running one.

A change with ``--live`` alone is gone, and one with ``--config`` alone comes, when the domain is
started by anything but Nova, which writes both anew.

Source: libvirt ``docs/manpages/virsh.rst``, emulatorpin and vcpupin.
"""

from __future__ import annotations

import typing as t

from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

TUNED = (
    "shares",
    "quota",
    "period",
    "emulatorpin",
    "iothreadpin",
    "vcpupin",
    "vcpusched",
    "emulatorsched",
    "iothreadsched",
)
"""What ``<cputune>`` holds."""

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    live, persistent = case.domain.live, case.domain.persistent
    if live is None or persistent is None:
        return
    found = [each for each in guests.drift(persistent, live) if each.element in TUNED]
    if found:
        rows = [
            f"{each.element}{f' of {each.at}' if each.at else ''} is {each.live} now and "
            f"{each.predicted} at the next start"
            for each in found
        ]
        yield Detail(
            guests.few(rows, 4),
            "a restart that is none of Nova's changes what the guest's threads run on",
            "decide which is right: virsh dumpxml against virsh dumpxml --inactive; what Nova "
            f"means comes with\n{guests.hard_reboot(case)}",
        )


RULE = Rule(
    code="DM-24",
    severity=Severity.INFO,
    title="Persistent domain differs from the running one",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2, persistent={"emulator": 0b1})),
    good=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2)),
)
