# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Allocation of a consumer that has no server on the host.

It is left over from a failed move or build, or somebody made it by hand. Where it holds PCPU,
Placement runs out of PCPU before the host runs out of dedicated CPUs, and pinned guests then come
by the fallback query and hold VCPU. A server that is being moved accounts for one consumer that
holds as much as it asks for: its migration.

Source: ``nova/scheduler/manager.py``, ``select_destinations``; ``nova/cmd/manage.py``,
``PlacementCommands.audit``.
"""

from __future__ import annotations

import dataclasses
import typing as t

from . import servers
from .examples import a_guest, a_stray, new_style
from .rule import AllocationCase, Detail, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: AllocationCase) -> Iterator[Detail]:
    amounts = {name: amount for name, amount in case.allocation.resources.items() if amount}
    if not amounts or case.mover:
        return
    leads = servers.leads_to_vcpu(case)
    held, owner = servers.told(amounts), case.owner
    yield Detail(
        f"the consumer is no server and holds {held}"
        if owner is None
        else f"the server is on {owner.host or 'no host'} and still holds {held} here",
        "pinned guests that find no PCPU left in Placement land here with VCPU by the fallback"
        if leads
        else "Placement offers less of the host than is free",
        "delete the allocation once no server and no migration has it",
        severity=Severity.ERROR if leads else None,
    )


RULE = Rule(
    code="FU-13",
    severity=Severity.WARNING,
    title="Allocation of a consumer that has no server on the host",
    subject=AllocationCase,
    check=_check,
    bad=lambda: a_stray(new_style(), {"PCPU": 2}),
    good=lambda: a_stray(
        new_style(), {"PCPU": 2}, dataclasses.replace(a_guest(1, 2), status="VERIFY_RESIZE")
    ),
)
