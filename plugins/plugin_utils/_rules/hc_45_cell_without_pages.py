# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A realtime host has too few large pages in a cell.

Pages are counted by cell: those of another cell do not help, and pages made at run time often come
out unevenly. The rule looks at realtime hosts and, where nobody told the intent, at those whose
kernel isolates CPUs for guests or that have large pages somewhere; at cells with CPUs enough for
the guest, and at the pages that guests may have at all, in use or not.

Source: ``nova/virt/hardware.py``, ``_numa_cell_supports_pagesize_request``.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._nova import constraints
from . import flavors, hosts
from .examples import a_flavor, a_fleet, new_style, topology
from .rule import Detail, FlavorCase, FleetCase, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.guest import GuestCell
    from .._model.host_cell import HostCell


def _check(case: FleetCase) -> Iterator[Detail]:
    wishes = tuple(
        flavor
        for flavor in case.flavors
        if flavors.realtime(flavor) and flavors.pinned(flavor) and not flavor.refusal
    )
    for host in case.hosts if wishes else ():
        if host.cells and _realtime(host, host.cells):
            yield from _short(host, host.cells, wishes)


def _realtime(case: HostCase, cells: tuple[HostCell, ...]) -> bool:
    if case.host.intent or hosts.realtime(case):
        return hosts.realtime(case)
    isolated = hosts.isolated(case) & hosts.pinnable(case)
    return bool(isolated) or any(
        pool.size_kb > cell.small_page_kb and pool.total > pool.reserved
        for cell in cells
        for pool in cell.pages
    )


def _short(
    case: HostCase, cells: tuple[HostCell, ...], wishes: tuple[FlavorCase, ...]
) -> Iterator[Detail]:
    for cell in cells:
        lacking = {}
        for flavor in wishes:
            lacks = [each for each in _cells(flavor) if _lacks(cell, each)]
            if lacks:
                lacking[flavor.flavor.name] = (flavor, max(lacks, key=lambda each: each.memory_mb))
        if lacking:
            wished, largest = max(lacking.values(), key=lambda row: row[1].memory_mb)
            size_kb = _size_kb(cell, largest)
            count = -(-largest.memory_kb // size_kb)
            have = ", ".join(
                f"{pool.total - pool.reserved} of {pool.size_kb} KiB"
                for pool in cell.pages
                if pool.size_kb > cell.small_page_kb
            )
            yield Detail(
                f"cell {cell.id} of {case.host.name} has {have or 'no large pages'}; "
                f"{hosts.named(tuple(row[0] for row in lacking.values()))}: a guest cell of "
                f"{wished.flavor.name} takes {largest.memory_mb} MiB",
                "the guest does not fit this cell although its CPUs would do",
                f"allocate at least {count} pages of {size_kb} KiB in cell {cell.id} at boot "
                f"(hugepagesz={_unit(size_kb)} hugepages={cell.id}:{count})",
                f"node{cell.id}/hugepages",
                hosts=(case.host.name,),
            )


def _cells(case: FlavorCase) -> tuple[GuestCell, ...]:
    return case.guest.cells if case.guest else ()


def _lacks(cell: HostCell, guest: GuestCell) -> bool:
    """Say whether CPUs are enough and pages of the size are too few, were the cell empty."""
    wish = guest.page_size_kb
    if not wish or wish in (constraints.SMALL, constraints.ANY):
        return False
    if not 0 < guest.pinned_count <= cell.dedicated_count:
        return False
    if guest.floating_count > cell.shared_count or wish == cell.small_page_kb:
        return False
    return not any(
        (pool.total - pool.reserved) * pool.size_kb >= guest.memory_kb
        and guest.memory_kb % pool.size_kb == 0
        for pool in cell.pages
        if (
            pool.size_kb > cell.small_page_kb if wish == constraints.LARGE else pool.size_kb == wish
        )
    )


def _size_kb(cell: HostCell, guest: GuestCell) -> int:
    """Give the page size to allocate: the one asked for, or the cell's largest that fits."""
    if guest.page_size_kb and guest.page_size_kb > 0:
        return guest.page_size_kb
    large = [
        pool.size_kb
        for pool in cell.pages
        if pool.size_kb > cell.small_page_kb and guest.memory_kb % pool.size_kb == 0
    ]
    return max(large, default=2048)


def _unit(size_kb: int) -> str:
    return f"{size_kb >> 20}G" if size_kb % (1 << 20) == 0 else f"{size_kb >> 10}M"


def _with_pages_in_first_cell() -> FleetCase:
    machine = topology(huge_pages=8192)
    first, second = machine.cells
    second = dataclasses.replace(second, pages=second.pages[:1])
    return _fleet(new_style(machine=dataclasses.replace(machine, cells=(first, second))))


def _fleet(host: HostCase) -> FleetCase:
    flavor = a_flavor(
        host,
        cpu_policy="dedicated",
        cpu_realtime="yes",
        cpu_realtime_mask="^0",
        mem_page_size="large",
    )
    return a_fleet(flavor, hosts=(host,))


RULE = Rule(
    code="HC-45",
    severity=Severity.WARNING,
    title="A realtime host has too few large pages in a cell",
    subject=FleetCase,
    check=_check,
    bad=_with_pages_in_first_cell,
    good=lambda: _fleet(new_style(machine=topology(huge_pages=8192))),
)
