# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Policy mixed with a cell that has no pinned vCPU.

Before 27.1.0 a mixed guest with a wholly shared cell fits no host (Launchpad 1994526).

Source: ``nova/virt/hardware.py``, ``_pack_instance_onto_cores``; Launchpad 1994526.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if case.guest is None or case.guest.cells[0].cpu_policy != "mixed":
        return
    empty = [cell.id for cell in case.guest.cells if not cell.pinned_count]
    old = [host.names[0] for host in case.hosts if not host.release.empty_pinning]
    if empty and (old or not case.release.empty_pinning):
        yield Detail(
            f"guest cell {empty[0]} has no pinned vCPU",
            "the guest fits no host of a release before 27.1.0",
            flavors.set_command(case, {"hw:numa_nodes": "1"}) + "  # or spread the mask",
            hosts=tuple(old),
        )


RULE = Rule(
    code="FL-18",
    severity=Severity.ERROR,
    title="Policy mixed with a cell that has no pinned vCPU",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(
        cpu_policy="mixed", cpu_dedicated_mask="0-1", numa_nodes="2", release="27.0.0"
    ),
    good=lambda: a_flavor(
        cpu_policy="mixed", cpu_dedicated_mask="0-1", numa_nodes="2", release="27.1.0"
    ),
)
