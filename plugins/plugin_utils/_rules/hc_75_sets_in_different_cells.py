# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared and dedicated CPUs lie in different cells.

A mixed guest needs both in one cell. One cell of many kept for floating guests is a choice; where
half of the cells or more have no pinned room, halves of the host stand idle by turns.

Source: ``nova/virt/hardware.py``, ``_numa_fit_instance_cell``.
"""

from __future__ import annotations

import typing as t

from . import hosts
from .examples import a_host, new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    if case.sets is None or hosts.unconfigured(case) or case.sets.legacy:
        return
    cells = [cell for cell in case.host.topology.cells if cell.cpus]
    shared = [cell.id for cell in cells if cell.cpuset & case.sets.shared]
    dedicated = [cell.id for cell in cells if cell.cpuset & case.sets.dedicated]
    if not shared or not dedicated or set(shared) & set(dedicated):
        return
    if 2 * len(dedicated) > len(cells):
        return
    yield Detail(
        f"cells with shared CPUs: {_text(shared)}; with dedicated CPUs: {_text(dedicated)}",
        "no mixed guest fits a cell, and "
        f"{len(cells) - len(dedicated)} of {len(cells)} cells have no room for pinned guests",
        "put some cores of each cell into both sets",
        case.host.config.where("cpu_shared_set"),
    )


def _text(cells: list[int]) -> str:
    return ", ".join(map(str, cells))


RULE = Rule(
    code="HC-75",
    severity=Severity.WARNING,
    title="Shared and dedicated CPUs lie in different cells",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(cpu_shared_set="1-7,17-23", cpu_dedicated_set="8-15,24-31"),
    good=new_style,
)
