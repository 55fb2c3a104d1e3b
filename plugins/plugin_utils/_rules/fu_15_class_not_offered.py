# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Server holds a CPU class that its host does not report.

The options were taken back, or cpu_shared_set was removed, while a server held the class. Placement
keeps the old inventory: up to Yoga nova-compute logs the refusal at every update, from Zed on it
dies of it at its start.

Source: ``nova/compute/resource_tracker.py``, ``_update_to_placement``.
"""

from __future__ import annotations

import typing as t

from . import servers
from .examples import a_guest, a_server, legacy, new_style
from .rule import Detail, Rule, ServerCase, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: ServerCase) -> Iterator[Detail]:
    if case.seen.provider is None:
        return
    offered = case.seen.provider.inventories
    lacking = {
        name: amount
        for name, amount in servers.cpu_amounts(case.server.allocation).items()
        if name not in offered
    }
    if lacking:
        dies = case.seen.release.dies_of_inventory_in_use
        reported = " and ".join(name for name in servers.CPU_CLASSES if name in offered)
        yield Detail(
            f"the server holds {servers.told(lacking)}, the host reports {reported} alone",
            "Placement refuses the host's inventory: nova-compute "
            + ("dies at its next start" if dies else "goes on with the old one and logs it"),
            "migrate it to a host that reports what it is given there, then restart nova-compute",
        )


RULE = Rule(
    code="FU-15",
    severity=Severity.ERROR,
    title="Server holds a CPU class that its host does not report",
    subject=ServerCase,
    check=_check,
    bad=lambda: a_server(legacy(), a_guest(1, 2, allocation={"PCPU": 2})),
    good=lambda: a_server(new_style(), a_guest(1, 2, allocation={"PCPU": 2})),
)
