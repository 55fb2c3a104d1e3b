# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pinned vCPU does not have its CPU for itself.

Two guests are pinned to one CPU, or a pin is not in the set of dedicated CPUs or is in that of the
shared ones: a race of a move, a migration with other sets, a change of the sets under running
guests, or a guest that was made beside Nova.

Of two guests on the same CPUs the finding is about the one that is to leave: a domain that Nova
does not manage, else the one that Nova's record does not have there, else the later one.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``; ``nova/virt/hardware.py``,
``numa_usage_from_instance_numa``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.domain import Domain
from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    own = case.pinned[case.domain.id]
    # One that moves is enough: that one has the finding.
    doubled = {
        guests.title(other): both
        for other in case.others
        if (both := own & case.pinned[other.id]) and _leaves(case, other, both)
    }
    if doubled:
        rows = [f"{to_text(both)} ({name})" for name, both in doubled.items()]
        yield Detail(
            f"it is pinned to CPUs that other guests are pinned to as well: {guests.few(rows)}",
            "two vCPUs take turns on each of these CPUs, and neither is isolated",
            guests.cold_migrate(case),
        )
    if case.domain.nova is None:
        for both in doubled.values():
            own &= ~both
    wrong = _outside(case, own)
    if wrong and case.domain.nova is None:
        yield Detail(
            wrong,
            "Nova does not know of it and gives these CPUs to its own guests too",
            f"{guests.move_vcpus(case)}\n(or take them out of cpu_dedicated_set and "
            "cpu_shared_set, where no guest of Nova has them)",
        )
    elif wrong:
        yield Detail(
            wrong,
            "guests that float over these CPUs, or the host itself, run beside its vCPUs",
            f"{guests.cold_migrate(case)}\n(or put these CPUs into cpu_dedicated_set and out of "
            "cpu_shared_set, if they were meant for it)",
        )


def _leaves(case: GuestCase, other: Domain, both: int) -> bool:
    """Say which of two guests on the same CPUs is to leave: one beside Nova, else one that Nova's
    record does not have there, else the later one."""

    def rank(domain: Domain) -> tuple[bool, int, str, str]:
        told = case.recorded.get(domain.id)
        strange = 1 if told is None else 2 * bool(both & ~told)
        return domain.nova is None, strange, domain.name, domain.id

    return rank(case.domain) > rank(other)


def _outside(case: GuestCase, own: int) -> str:
    sets = case.host.sets
    if sets is None:
        return ""
    foreign = case.domain.nova is None
    pinnable = sets.pinnable
    if sets.legacy:
        beyond = 0 if foreign else own & ~pinnable
        return f"its pins {to_text(beyond)} are in no set of the host" if beyond else ""
    beyond = own & ~pinnable & ~sets.shared
    parts = [
        f"{to_text(cpus)} {where}"
        for cpus, where in (
            (own & sets.shared, "in cpu_shared_set"),
            (own & pinnable if foreign else 0, "in cpu_dedicated_set"),
            (0 if foreign else beyond, "outside cpu_dedicated_set"),
        )
        if cpus
    ]
    return f"its pins are {' and '.join(parts)}" if parts else ""


RULE = Rule(
    code="DM-07",
    severity=Severity.ERROR,
    title="Pinned vCPU does not have its CPU for itself",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(), a_domain(no_smt(), 1, 2, number=2), a_domain(no_smt(), 2, 3)
    ),
    good=lambda: a_guest_case(
        no_smt(), a_domain(no_smt(), 1, 2), a_domain(no_smt(), 3, 4, number=2)
    ),
)
