# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Server holds no CPU in Placement.

The allocation was deleted, lost in a move, or the flavor asks for no CPU. Placement sells the CPUs
once more. A server on its way to another host may hold its allocation there already.

Source: ``nova/cmd/manage.py``, ``PlacementCommands.heal_allocations``.
"""

from __future__ import annotations

import typing as t

from . import servers
from .examples import a_guest, a_server, new_style
from .rule import Detail, Rule, ServerCase, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: ServerCase) -> Iterator[Detail]:
    allocation = case.server.allocation
    settled = case.server.status not in servers.ON_THE_WAY
    if settled and allocation is not None and not servers.cpu_amounts(allocation):
        due = servers.told(servers.due(case))
        asked = case.asked.primary
        free = asked is not None and not servers.cpu_amounts(asked.resources)
        yield Detail(
            f"the server holds {'no CPU' if any(allocation.values()) else 'nothing'}, where {due} "
            "is right" + (f"; flavor {case.server.flavor.name} asks for none" if free else ""),
            "Placement offers to others what the server uses",
            "heal its allocation where that gives the right one, or migrate it",
        )


RULE = Rule(
    code="FU-17",
    severity=Severity.ERROR,
    title="Server holds no CPU in Placement",
    subject=ServerCase,
    check=_check,
    bad=lambda: a_server(new_style(), a_guest(1, 2, allocation={})),
    good=lambda: a_server(new_style(), a_guest(1, 2, allocation={"PCPU": 2})),
)
