# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guest with NUMA topology has no CPUs for its emulator threads.

Nova writes ``emulatorpin`` for each such guest. Where the set comes out empty, as with policy
``isolate`` and a lost record of the CPU that was kept, libvirt refuses the domain at its next
start.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``; libvirt
``src/util/virbitmap.c``, ``virBitmapParse``.
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
    domain = case.domain
    if domain.nova is None:
        return
    found = [
        f"{'empty' if xml.emulator == 0 else 'missing'} in the {name} XML"
        for name, xml in (("live", domain.live), ("persistent", domain.persistent))
        if xml is not None and xml.memnodes and not xml.emulator
    ]
    guest, record = guests.guest_of(case), guests.recorded_places(case)
    lost = (
        guest is not None
        and guest.emulator_threads_policy == "isolate"
        and bool(record)
        and not any(place.reserved for place in record)
    )
    if lost:
        found.append("and Nova has no record of a CPU for it (cpuset_reserved)")
    if found:
        yield Detail(
            f"emulatorpin is {', '.join(found)}"
            if not lost or len(found) > 1
            else "policy isolate, and Nova has no record of a CPU for the emulator threads "
            "(cpuset_reserved)",
            *_consequence(case),
        )


def _consequence(case: GuestCase) -> tuple[str, str]:
    """Give the effect and the fix."""
    predicted = case.predicted.emulator if case.predicted else None
    if predicted:
        return (
            "its emulator threads run where nobody keeps them, and a start that is none of Nova's "
            "leaves them there or fails",
            f"{guests.hard_reboot(case)}\n(Nova writes emulatorpin {to_text(predicted)})",
        )
    return (
        "its next start fails: libvirt takes no empty set",
        f"{guests.cold_migrate(case)}\n(Nova then chooses its CPUs anew; shelve and unshelve does "
        "it too)",
    )


RULE = Rule(
    code="DM-20",
    severity=Severity.ERROR,
    title="Guest with NUMA topology has no CPUs for its emulator threads",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2, persistent={"emulator": None})),
    good=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2)),
)
