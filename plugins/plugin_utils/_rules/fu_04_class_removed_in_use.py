# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Placement does not take the new inventory: more of a class is allocated.

Without ``cpu_shared_set`` there is no VCPU, without ``cpu_dedicated_set`` no PCPU, and Placement
drops no class that is allocated. The check of the servers at start does not see it: pinned servers
may hold VCPU, through the fallback query or a leak, and on the way back to ``vcpu_pin_set`` they
hold PCPU. From 26.0.0 on nova-compute dies of it at its start; before, it runs with the old
inventory. In a reshape it dies on every release, and there Placement checks every allocation anew:
a floating server with more vCPUs than ``cpu_shared_set`` has CPUs is enough.

Source: ``nova/scheduler/client/report.py``, ``_set_inventory_for_provider``;
``nova/compute/resource_tracker.py``, ``_update_available_resource``.
"""

from __future__ import annotations

import typing as t

from .._nova import compute, inventory
from .._nova.releases import release as release_of
from . import restarts
from .examples import a_guest, a_restart, legacy, new_style
from .rule import Detail, RestartCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._nova.candidates import Provider

_OPTIONS = {"VCPU": "cpu_shared_set", "PCPU": "cpu_dedicated_set"}


def _check(case: RestartCase) -> Iterator[Detail]:
    fault = case.start.refusal or case.start.failure
    if fault is None or fault.name not in restarts.INVENTORY_ERRORS or not case.before.provider:
        return
    effect = (
        f"nova-compute does not start: {fault.name}"
        if case.start.refusal
        else f"nova-compute runs with the old inventory, and tries again each minute: {fault.name}"
    )
    offered = inventory.inventories(case.host, release_of(case.host.release, host=True))
    gone = [name for name in sorted(case.before.provider.inventories) if name not in offered]
    found = [
        detail for name in gone for detail in _of_class(case, case.before.provider, name, effect)
    ]
    more = "give the set of this class more CPUs, or first move such servers off the host"
    yield from found or [Detail(fault.text, effect, more)]


def _of_class(case: RestartCase, provider: Provider, name: str, effect: str) -> Iterator[Detail]:
    moving = compute.reshaped(case.residents) if _reshapes(case) else {}
    mine = [each for each in case.residents if each.allocation.get(name)]
    keepers = [each for each in mine if name != "VCPU" or each.consumer not in moving]
    others = provider.used.get(name, 0) - sum(each.allocation[name] for each in mine)
    if not keepers and others <= 0:
        return
    held = sum(each.allocation[name] for each in keepers)
    told, fixes = [], [f"keep {_OPTIONS.get(name, 'the option')} as it is"]
    if keepers:
        told.append(f"{restarts.servers(keepers, 'hold')} {held}")
        fixes.append(f"first: {restarts.moves(keepers)}")
    if others > 0:
        told.append(f"consumers that are no servers here hold {others}")
        fixes.append("first: nova-manage placement audit --verbose, and delete what is left over")
    yield Detail(
        f"{name} leaves the inventory, but {' and '.join(told)}",
        effect,
        "\nor ".join(fixes),
    )


def _reshapes(case: RestartCase) -> bool:
    fault = case.start.refusal
    return fault is not None and fault.name == "ReshapeFailed"


RULE = Rule(
    code="FU-04",
    severity=Severity.ERROR,
    title="Placement does not take the new inventory: more of a class is allocated",
    subject=RestartCase,
    check=_check,
    bad=lambda: a_restart(new_style(), legacy(), a_guest(1, 2, allocation={"PCPU": 2})),
    good=lambda: a_restart(new_style(), legacy(), a_guest(allocation={"VCPU": 2})),
)
