# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A NUMA cell has memory and no CPU for guests.

A guest cell takes CPUs and memory of one host cell; memory beside which no CPU may be used serves
only guests without NUMA topology. Cells of memory alone (HBM, CXL) are like that by nature.

Source: ``nova/virt/libvirt/driver.py``, ``_get_host_numa_topology``.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.topology import NumaCell
from .examples import a_host, new_style, topology
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    if case.sets is None:
        return
    usable = case.sets.shared | case.sets.dedicated
    for cell in case.host.topology.cells:
        if cell.cpuset & usable or not cell.memory_mb:
            continue
        yield Detail(
            f"cell {cell.id} has {cell.memory_mb} MiB and "
            + (f"none of its CPUs {to_text(cell.cpuset)} is in a set" if cell.cpus else "no CPUs"),
            "guests with a NUMA topology cannot use this memory",
            f"add some of CPU {to_text(cell.cpuset)} to cpu_shared_set or cpu_dedicated_set, or "
            "leave it to the host"
            if cell.cpus
            else "expect it: plan such guests without this memory",
        )


def _with_bare_cell() -> HostCase:
    machine = topology()
    bare = NumaCell(2, (), 16384)
    return new_style(machine=dataclasses.replace(machine, cells=(*machine.cells, bare)))


RULE = Rule(
    code="HC-15",
    severity=Severity.INFO,
    title="A NUMA cell has memory and no CPU for guests",
    subject=HostCase,
    check=_check,
    bad=_with_bare_cell,
    good=lambda: a_host(cpu_shared_set="0,8"),
)
