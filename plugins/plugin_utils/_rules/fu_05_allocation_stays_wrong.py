# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Allocations are wrong after the restart.

The first start with ``cpu_dedicated_set`` on a host with pinned servers moves their VCPU to PCPU,
amount for amount: what emulator threads hold, and the siblings that policy isolate keeps free, is
not added. Mixed servers are passed over. Where the host has PCPU already nothing is moved: pinned
servers that hold VCPU keep it. Placement then offers PCPU that the NUMA cells do not have, and
boots that it lets pass fail in the fit.

Source: ``nova/virt/libvirt/driver.py``, ``_update_provider_tree_for_pcpu``.
"""

from __future__ import annotations

import typing as t

from . import restarts
from .examples import a_guest, a_restart, legacy, new_style
from .rule import Detail, RestartCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._nova.resident import Resident


def _check(case: RestartCase) -> Iterator[Detail]:
    sets = restarts.sets(case)
    if not case.start.clean or sets is None or not sets.dedicated:
        return
    moved = case.start.moved
    short = [
        each
        for each in case.residents
        if each.consumer in moved and _holds(case, each) > moved[each.consumer]["PCPU"]
    ]
    isolating = [each for each in short if restarts.kept_siblings(case, each)]
    others = [each for each in short if each not in isolating]
    if isolating:
        yield _short(case, isolating, "before the restart, to hosts without SMT or to legacy ones")
    if others:
        yield _short(case, others, "after the restart, to hosts that have PCPU")
    provider = case.before.provider
    had_pcpu = provider is not None and "PCPU" in provider.inventories
    stuck = [
        each
        for each in case.residents
        if each.pinned
        and (had_pcpu or "mixed" in each.policies)
        and each.allocation.get("VCPU", 0) > restarts.floats(each)
    ]
    if stuck:
        yield Detail(
            f"{restarts.servers(stuck, 'are', 'is')} pinned, and VCPU is allocated all the same",
            "Placement counts shared CPUs for them, and offers their dedicated ones again; "
            "cpu_shared_set cannot be removed while they are there",
            restarts.moves(stuck) + "\n(to hosts that have PCPU)",
        )


def _short(case: RestartCase, found: list[Resident], when: str) -> Detail:
    got = sum(case.start.moved[each.consumer]["PCPU"] for each in found)
    hold = sum(_holds(case, each) for each in found)
    return Detail(
        f"the reshape gives {got} PCPU to {restarts.servers(found)}; {hold} CPUs are held",
        "Placement offers PCPU that no NUMA cell has: boots that it lets pass fail in the fit",
        f"{restarts.moves(found)}\n({when})",
    )


def _holds(case: RestartCase, resident: Resident) -> int:
    """Count the CPUs that a server holds for itself."""
    cpus = restarts.own_cpus(resident) | restarts.kept_siblings(case, resident)
    if cpus or resident.guest is None:
        return cpus.bit_count()
    emulator = resident.guest.emulator_threads_policy == "isolate"
    return sum(cell.pcpuset.bit_count() for cell in resident.guest.cells) + emulator


RULE = Rule(
    code="FU-05",
    severity=Severity.WARNING,
    title="Allocations are wrong after the restart",
    subject=RestartCase,
    check=_check,
    bad=lambda: a_restart(
        legacy(),
        new_style(),
        a_guest(1, 17, reserved="2", allocation={"VCPU": 2}, emulator_threads_policy="isolate"),
    ),
    good=lambda: a_restart(legacy(), new_style(), a_guest(1, 17, allocation={"VCPU": 2})),
)
