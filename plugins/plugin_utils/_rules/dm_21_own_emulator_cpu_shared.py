# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU kept for emulator threads is not the guest's own.

Policy ``isolate`` buys a dedicated CPU for the emulator threads. Another guest is on it, or the
shared set has it: the price is paid and the isolation is gone.

Source: ``nova/virt/hardware.py``, ``_pack_instance_onto_cores``; ``nova/virt/libvirt/driver.py``,
``_get_guest_numa_config``.
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
    guest, xml, sets = guests.guest_of(case), case.domain.xml, case.host.sets
    if guest is None or guest.emulator_threads_policy != "isolate" or xml is None:
        return
    kept = guests.reserved_cpus(case.domain)
    taken = {
        guests.title(other): struck
        for other in case.others
        if (struck := kept & _held(other, case))
    }
    shared = kept & sets.shared if sets and not sets.legacy else 0
    rows = [f"{to_text(cpus)} by {name}" for name, cpus in taken.items()]
    if shared:
        rows.append(f"{to_text(shared)} by cpu_shared_set")
    if rows:
        yield Detail(
            f"its emulator threads have CPU {to_text(kept)} by policy isolate, which is taken as "
            f"well: {guests.few(rows)}",
            "its emulator threads wait for others, and others for them",
            f"{guests.cold_migrate(case)}\n(or the other guest; or take the CPU out of the shared "
            "set)",
        )


def _held(other: Domain, case: GuestCase) -> int:
    """List the CPUs that another guest has (bitmask); one whose emulator threads may run all over
    the host is what is wrong then."""
    return case.pinned[other.id] | guests.reserved_cpus(other)


RULE = Rule(
    code="DM-21",
    severity=Severity.WARNING,
    title="CPU kept for emulator threads is not the guest's own",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(),
        a_domain(no_smt(), 1, 2, reserved="3", hw={"emulator_threads_policy": "isolate"}),
        a_domain(no_smt(), 3, 4, number=2),
    ),
    good=lambda: a_guest_case(
        no_smt(),
        a_domain(no_smt(), 1, 2, reserved="3", hw={"emulator_threads_policy": "isolate"}),
        a_domain(no_smt(), 4, 5, number=2),
    ),
)
