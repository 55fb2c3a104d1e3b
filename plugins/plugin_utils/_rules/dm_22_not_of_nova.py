# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Domain is not managed by Nova.

Nova counts none of its CPUs and memory and hands them out again; what it takes shows with the
guests that share CPUs with it.

Source: ``nova/virt/libvirt/config.py``, ``LibvirtConfigGuestMetaNovaInstance``.
"""

from __future__ import annotations

import typing as t

from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    domain = case.domain
    if domain.nova is not None or domain.xml is None:
        return
    xml, sets = domain.xml, case.host.sets
    own = case.pinned[domain.id] | guests.floating_cpus(domain, case.host)
    emulator = xml.emulator if xml.emulator is not None else xml.cpuset
    threads = guests.told_cpus(emulator) if emulator else "any CPU of the host"
    vcpus = "its vCPU runs" if xml.vcpus == 1 else f"its {xml.vcpus} vCPUs run"
    dedicated = own & sets.dedicated if sets and not sets.legacy else 0
    yield Detail(
        f"domain {domain.name} has no metadata of Nova; {vcpus} on {guests.told_cpus(own)}, its "
        f"emulator threads on {threads}",
        "Nova gives these CPUs to others as if they were free",
        f"{guests.move_vcpus(case)}\n({guests.told_cpus(dedicated)} of cpu_dedicated_set: Nova "
        "pins its guests there)"
        if dedicated
        else "nothing, if it is meant: keep its CPUs out of cpu_shared_set and cpu_dedicated_set",
    )


RULE = Rule(
    code="DM-22",
    severity=Severity.INFO,
    title="Domain is not managed by Nova",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2, nova=None)),
    good=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2)),
)
