# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""More is allocated than the new inventory has.

Placement takes an inventory that is smaller than what is allocated, and then lets nothing more in:
no boot, no resize and no way back for a server that moves.

Source: openstack-placement, ``objects/resource_provider.py``, ``_check_capacity_exceeded``.
"""

from __future__ import annotations

import math
import typing as t

from .examples import a_guest, a_restart, legacy, new_style
from .rule import Detail, RestartCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._nova.candidates import Provider
    from .._nova.inventory import Inventory


def _check(case: RestartCase) -> Iterator[Detail]:
    provider = case.start.seen.provider
    if not case.start.clean or provider is None:
        return
    for name, offered in provider.inventories.items():
        used, room = provider.used.get(name, 0), _room(offered)
        if used > room and used - room > _excess(case.before.provider, name):
            yield Detail(
                f"{used} {name} are allocated, and the new inventory takes {room:g} "
                f"({_sum(offered)})",
                f"nothing that asks for {name} fits the host until servers leave",
                _fix(name, used, offered),
            )


def _room(offered: Inventory) -> float:
    return (offered.total - offered.reserved) * offered.ratio


def _excess(before: Provider | None, name: str) -> float:
    if before is None or name not in before.inventories:
        return 0
    return before.used.get(name, 0) - _room(before.inventories[name])


def _sum(offered: Inventory) -> str:
    total = f"{offered.total} less {offered.reserved}" if offered.reserved else f"{offered.total}"
    return f"{total}, ratio {offered.ratio:g}"


def _fix(name: str, used: int, offered: Inventory) -> str:
    least = math.ceil(used / offered.ratio) + offered.reserved
    if name == "PCPU":
        return f"give cpu_dedicated_set {least} CPUs, or first move servers off the host"
    base = offered.total - offered.reserved
    raised = f"raise its allocation ratio to {math.ceil(100 * used / base) / 100:g}" if base else ""
    options = [f"give cpu_shared_set {least} CPUs"] if name == "VCPU" else []
    options += [raised] if raised else []
    return ", ".join([*options, "or first move servers off the host"])


RULE = Rule(
    code="FU-09",
    severity=Severity.WARNING,
    title="More is allocated than the new inventory has",
    subject=RestartCase,
    check=_check,
    bad=lambda: a_restart(
        legacy(), new_style(cpu_allocation_ratio=1.0), a_guest(vcpus=8, allocation={"VCPU": 8})
    ),
    good=lambda: a_restart(legacy(), new_style(), a_guest(vcpus=8, allocation={"VCPU": 8})),
)
