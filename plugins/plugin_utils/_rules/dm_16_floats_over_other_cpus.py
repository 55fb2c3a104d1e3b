# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guest floats over other CPUs than the shared set.

The range of a guest without NUMA topology is written when its domain is defined. A change of
``cpu_shared_set`` reaches no guest that runs, and before 30.0.0 a live migration brings the range
of the old host along.

A domain that Nova does not manage may float where it likes, but not over CPUs that guests are
pinned to or that are kept for such: that is an error.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_config``; ``nova/virt/libvirt/migration.py``,
``get_updated_guest_xml``; Launchpad bug 1869804.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import guests, hosts
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    xml, sets = guests.running_xml(case.domain), case.host.sets
    if xml is None or sets is None:
        return
    if case.domain.nova is None:
        yield from _beside_nova(case)
        return
    if guests.has_numa(xml) or guests.has_numa(case.predicted) or _numa_flavor(case):
        return
    if guests.tied(case.domain, case.host):
        return
    bounded = hosts.listed(case.host, "vcpu_pin_set") or hosts.listed(case.host, "cpu_shared_set")
    homeless = not bounded and bool(sets.dedicated)
    if (xml.cpuset or 0) == bounded and not homeless:
        return
    online = case.host.host.topology.online
    beyond = (xml.cpuset or online) & ~(bounded or (0 if homeless else online))
    now = f"runs on {to_text(xml.cpuset)}" if xml.cpuset else "has no range of CPUs"
    wanted = f"the shared set is {to_text(bounded)}" if bounded else "the host has no shared set"
    if not beyond:
        yield Detail(
            f"the guest {now}, and {wanted}",
            "it has fewer CPUs than the host offers it"
            if bounded
            else "it keeps a range that the host no longer has",
            guests.hard_reboot(case),
        )
        return
    parts = [
        f"{to_text(cpus)} ({name})"
        for name, cpus in (
            ("dedicated", beyond & sets.dedicated),
            ("in no set", beyond & ~sets.dedicated),
        )
        if cpus
    ]
    yield Detail(
        f"the guest {now}, and {wanted}: it may run on {' and '.join(parts)}",
        "it takes time from pinned guests or from the host itself",
        guests.cold_migrate(case)
        if homeless
        else f"{guests.hard_reboot(case)}\n(and migrate nothing live between hosts of other shared "
        "sets before Nova 30)",
        severity=Severity.ERROR,
    )


def _beside_nova(case: GuestCase) -> Iterator[Detail]:
    """Look at a domain that Nova does not manage: it may float where no guest is pinned."""
    floating, sets = guests.floating_cpus(case.domain, case.host), case.host.sets
    taken = {
        guests.title(other): cpus
        for other in case.others
        if (cpus := floating & (case.pinned[other.id] | case.realtime[other.id]))
    }
    rows = [f"{to_text(cpus)} ({name})" for name, cpus in taken.items()]
    dedicated = floating & sets.dedicated if sets and not sets.legacy else 0
    for cpus in taken.values():
        dedicated &= ~cpus
    if dedicated:
        rows.append(f"{to_text(dedicated)} (cpu_dedicated_set)")
    if rows:
        yield Detail(
            f"its vCPUs float over {guests.told_cpus(floating)}, and pinned guests have of these: "
            + guests.few(rows, 4),
            "it takes time from pinned guests, realtime vCPUs among them, now or as soon as Nova "
            "puts one there",
            guests.move_vcpus(case),
            severity=Severity.ERROR,
        )


def _numa_flavor(case: GuestCase) -> bool:
    return not case.inferred and guests.guest_of(case) is not None


RULE = Rule(
    code="DM-16",
    severity=Severity.WARNING,
    title="Guest floats over other CPUs than the shared set",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(no_smt(), a_domain(no_smt(), xml={"cpuset": 0b1})),
    good=lambda: a_guest_case(no_smt(), a_domain(no_smt())),
)
