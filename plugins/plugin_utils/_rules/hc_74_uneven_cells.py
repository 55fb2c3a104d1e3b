# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cells have unequal numbers of CPUs for pinned guests.

A guest cell lies in one host cell. What fits the largest does not fit the others, and a guest of
several cells is bounded by the smallest. Cells without any are left out: they serve others.

Source: ``nova/virt/hardware.py``, ``_numa_fit_instance_cell``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size
from . import hosts
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    if hosts.unconfigured(case):
        return
    pinned = hosts.pinnable(case)
    serving = [cell for cell in case.host.topology.cells if cell.cpuset & pinned]
    counts = {cell.id: size(cell.cpuset & pinned) for cell in serving}
    if len(set(counts.values())) < 2:
        return
    most, least = max(counts.values()), min(counts.values())
    alike = len({size(cell.cpuset) for cell in serving}) == 1
    told = ", ".join(f"{count} in cell {cell}" for cell, count in counts.items())
    dedicated = bool(hosts.listed(case, "cpu_dedicated_set"))
    yield Detail(
        f"CPUs for pinned guests: {told}",
        f"a guest cell of {least + 1} to {most} vCPUs fits some cells and not the others"
        if most > least + 1
        else f"a guest cell of {most} vCPUs fits some cells and not the others",
        f"give each cell {least}"
        if alike
        else f"flavors of at most {least} vCPUs a guest cell; the cells are of unequal size",
        case.host.config.where("cpu_dedicated_set" if dedicated else "vcpu_pin_set"),
        None if alike else Severity.INFO,
    )


RULE = Rule(
    code="HC-74",
    severity=Severity.WARNING,
    title="Cells have unequal numbers of CPUs for pinned guests",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(cpu_dedicated_set="2-7,9-15,18-23,25-31"),
    good=lambda: new_style(cpu_dedicated_set="2-7,10-15,18-23,26-31"),
)
