# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A NUMA cell has dedicated CPUs and no shared ones.

The floating vCPUs of a guest cell run on the shared CPUs of its host cell, so mixed guests and
floating ones with a NUMA topology never fit such a cell, and shared emulator threads of the guests
there run in another. Where one cell has both kinds the others look forgotten; a cell kept for
floating guests alone is a choice. HC-75 and HC-76 speak of hosts where nothing mixed fits.

Source: ``nova/virt/hardware.py``, ``_numa_fit_instance_cell``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import host_sets, hosts
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._nova.inventory import CpuSets


def _check(case: HostCase) -> Iterator[Detail]:
    sets = case.sets
    if sets is None or sets.legacy or not sets.shared or not sets.dedicated:
        return
    cells = [cell for cell in case.host.topology.cells if cell.cpuset & sets.dedicated]
    bare = [cell for cell in cells if not cell.cpuset & sets.shared]
    mixes = len(bare) < len(cells)
    populated = sum(1 for cell in case.host.topology.cells if cell.cpus)
    if not bare or (not mixes and 2 * len(cells) <= populated):
        return
    inside = sum(cell.cpuset & sets.dedicated for cell in bare)
    ids = ", ".join(str(cell.id) for cell in bare)
    yield Detail(
        f"cell{'s' if len(bare) > 1 else ''} {ids}: CPU {to_text(inside)} dedicated, none shared",
        "mixed guests and floating guests with a NUMA topology never fit there; shared emulator "
        "threads of guests there run in another cell",
        _fix(case, sets, sum(cell.cpuset for cell in bare)),
        case.host.config.where("cpu_shared_set"),
        None if mixes else Severity.INFO,
    )


def _fix(case: HostCase, sets: CpuSets, cells: int) -> str:
    """Share a core of each of the ``cells`` (their CPUs, a bitmask): one of no set, else a
    dedicated one, and an isolated one only where the cell has no other."""
    topology, isolated = case.host.topology, hosts.isolated(case)
    known = sets.shared | sets.dedicated | host_sets.whole_cores(topology, 1)
    among = sets.dedicated & cells & ~host_sets.pinned_cpus(case)
    free = topology.online & cells & ~known & ~case.host.data_path_cpus
    moved = host_sets.best_cores(topology, free & ~isolated, among & ~isolated, free, among)
    if not moved or not sets.dedicated & ~moved:
        return "move a core of each cell from cpu_dedicated_set to cpu_shared_set"
    told = host_sets.snippet(
        cpu_shared_set=sets.shared | moved, cpu_dedicated_set=sets.dedicated & ~moved
    )
    if moved & isolated:
        told += (
            f"\n# first take CPU {to_text(moved & isolated)} out of isolcpus or the cpuset "
            "partition: no other core there is free"
        )
    return told


RULE = Rule(
    code="HC-14",
    severity=Severity.WARNING,
    title="A NUMA cell has dedicated CPUs and no shared ones",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(cpu_shared_set="0,16"),
    good=new_style,
)
