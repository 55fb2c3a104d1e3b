# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many realtime guests share few CPUs for their emulator threads.

With policy ``share`` the emulator threads of all guests run on the shared set, beside all that
floats there. A realtime vCPU that waits for one of them waits for its turn.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size
from .._model.domain import Domain
from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

MOST_GUESTS = 2
"""Realtime guests for each CPU."""

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.guest_xml import GuestXml


def _check(case: GuestCase) -> Iterator[Detail]:
    shared = case.host.sets.shared if case.host.sets and not case.host.sets.legacy else 0
    if not _shares(case.domain, shared):
        return
    sharing = [domain for domain in guests.everyone(case) if _shares(domain, shared)]
    # One finding is enough: with the first of them.
    first = min((domain.id for domain in sharing), default="")
    if case.domain.id != first or len(sharing) <= MOST_GUESTS * size(shared):
        return
    names = [guests.title(domain) for domain in sharing]
    yield Detail(
        f"{len(sharing)} realtime guests have their emulator threads on "
        f"{guests.told_cpus(shared)}: {guests.few(names)}",
        "their emulator threads queue, and realtime vCPUs wait for them",
        "enlarge cpu_shared_set by CPUs that are not isolated, or give these guests a CPU of "
        f"their own:\n{guests.change_emulator_policy(case, _alone)}",
    )


def _alone(xml: GuestXml) -> bool:
    emulator = xml.emulator or 0
    return size(emulator) == 1 and not any(cpus & emulator for cpus in xml.vcpu_pins.values())


def _shares(domain: Domain, shared: int) -> bool:
    """Say whether the emulator threads of a realtime guest run on shared CPUs alone."""
    xml = domain.xml
    if xml is None or not domain.running or not xml.emulator or xml.emulator & ~shared:
        return False
    return bool(xml.realtime)


RULE = Rule(
    code="DM-25",
    severity=Severity.WARNING,
    title="Many realtime guests share few CPUs for their emulator threads",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(no_smt(), *_guests(5)),
    good=lambda: a_guest_case(no_smt(), *_guests(2)),
)


def _guests(count: int) -> tuple[Domain, ...]:
    hw = {"cpu_realtime": "yes", "emulator_threads_policy": "share"}
    return tuple(a_domain(no_smt(), 1 + n, number=1 + n, hw=hw) for n in range(count))
