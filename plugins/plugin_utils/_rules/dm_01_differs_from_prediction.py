# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Domain is not what Nova writes for it.

The emulator threads, the pins, the scheduling or the memory of a guest were changed behind Nova's
back, or Nova's inputs changed after the XML was written: a set of CPUs, the flavor, the release.
The next event that makes Nova write the XML anew undoes or enforces the change without notice.

What other rules tell more exactly is left to them.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``; ``nova/virt/libvirt/
migration.py``, ``get_updated_guest_xml``.
"""

from __future__ import annotations

import typing as t

from .._model.guest_xml import GuestXml
from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    xml = guests.running_xml(case.domain)
    if xml is None or case.domain.nova is None:
        return
    fix = (
        f"{guests.hard_reboot(case)}\n(Nova writes the XML anew; or record the exception where "
        "the change is meant, and make it again after each start by Nova)"
    )
    effect = "it behaves otherwise than planned, and the next start by Nova changes it again"
    if case.predicted is None:
        contradiction = guests.contradiction(case)
        if contradiction and (xml.emulator or not xml.memnodes):
            what = f"the domain contradicts its flavor: {contradiction}"
            # Where floating vCPUs have the CPUs of pinned ones, that is Nova's doing.
            legacy = case.host.sets is None or case.host.sets.legacy
            struck = 0 if legacy else guests.all_cpus(xml) & _of_others(case)
            yield _told(what, struck, effect, fix)
        return
    found = [
        each for each in guests.drift(case.predicted, xml) if not _told_elsewhere(case, xml, each)
    ]
    if not found:
        return
    what = f"Nova {case.release.name} would write another domain: " + guests.few(
        [each.text for each in found], 4
    )
    if case.inferred:
        what += " (by a flavor that is read off its XML)"
    beyond = _beyond(case.predicted, xml)
    sets = case.host.sets
    kept = sets.dedicated if sets and not sets.legacy else 0
    floating = guests.floating_cpus(case.domain, case.host) & kept
    yield _told(what, beyond & (_of_others(case) | floating), effect, fix)


def _told(what: str, struck: int, effect: str, fix: str) -> Detail:
    """Tell what differs; it is an error where it lets the guest run on pins of others."""
    if not struck:
        return Detail(what, effect, fix)
    return Detail(
        what,
        f"it may run on {guests.told_cpus(struck)}, which are for other guests that are pinned, "
        "and takes time from their vCPUs",
        fix,
        severity=Severity.ERROR,
    )


def _told_elsewhere(case: GuestCase, xml: GuestXml, each: guests.Difference) -> bool:
    """Say whether another rule is about a difference."""
    predicted = case.predicted
    realtime = guests.wanted_realtime(case)
    other_realtime = realtime is not None and realtime != xml.realtime
    emulator = xml.emulator or 0
    match each.element:
        case "emulatorsched" | "iothreadsched":
            return True
        case "emulatorpin":
            beyond = emulator & ~((predicted.emulator or 0) if predicted else 0)
            return not emulator or _on_realtime(case, beyond) or other_realtime
        case "iothreadpin":
            pinned = xml.iothread_pins.values()
            return not pinned or set(pinned) == {emulator}
        case "vcpusched":
            return other_realtime and "none" in (each.predicted, each.live)
        case "nosharepages" | "locked":
            return each.live == "none" and bool(xml.realtime or (predicted and predicted.realtime))
        case "vcpu cpuset":
            return not guests.has_numa(xml) and not guests.has_numa(predicted)
        case _:
            return False


def _on_realtime(case: GuestCase, cpus: int) -> bool:
    return bool(cpus & guests.realtime_cpus(case.domain))


def _beyond(predicted: GuestXml, xml: GuestXml) -> int:
    """List the CPUs that the guest may run on and should not (bitmask)."""
    return guests.all_cpus(xml) & ~guests.all_cpus(predicted)


def _of_others(case: GuestCase) -> int:
    found = 0
    for other in case.others:
        found |= case.pinned[other.id]
    return found


RULE = Rule(
    code="DM-01",
    severity=Severity.WARNING,
    title="Domain is not what Nova writes for it",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2, xml={"emulator": 0b1110})),
    good=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2)),
)
