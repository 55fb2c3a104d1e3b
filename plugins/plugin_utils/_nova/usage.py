# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The books of a host: what a guest takes of its NUMA cells, and gives back.

Source throughout: ``nova/virt/hardware.py``, ``numa_usage_from_instance_numa``;
``nova/objects/numa.py``, ``NUMACell``.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.cpu_list import mask, to_text
from .._model import set_order
from .errors import NovaError, crash

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from .._model.guest import Guest, GuestCell
    from .._model.host_cell import HostCell, Pages
    from .fit import Fitted, Pinning, Seat
    from .releases import Release


class Placed(t.NamedTuple):
    """A guest whose place on its host is known, not worked out."""

    guest: Guest
    seats: tuple[Seat, ...]
    known: tuple[Pinning | None, ...]

    def pinnings(self) -> tuple[Pinning | None, ...]:
        """Give the pins of each guest cell; None for cells that have none."""
        return self.known


Holder = t.Union["Fitted", Placed]
"""What holds CPUs and memory of a host."""


def take(cells: Sequence[HostCell], holder: Holder, release: Release) -> tuple[HostCell, ...]:
    """Enter a guest into the books of its host.

    Raises ``CPUPinningUnknown`` or ``CPUPinningInvalid`` for pins that the cell does not have or
    that are taken; crashes with ``IndexError`` on a cell without page pools.
    """
    return _changed(cells, holder, release, 1)


def check(cells: Sequence[HostCell], holder: Holder, release: Release) -> None:
    """Try to enter a guest in the books of its host. Raises as :func:`take` does."""
    for host in cells:
        _usage(host, holder, release, 1)


def give_back(cells: Sequence[HostCell], holder: Holder, release: Release) -> tuple[HostCell, ...]:
    """Strike a guest from the books of its host.

    Raises ``CPUUnpinningUnknown`` or ``CPUUnpinningInvalid`` for pins that are not the cell's or
    not taken; crashes with ``IndexError`` on a cell without page pools.
    """
    return _changed(cells, holder, release, -1)


def _changed(
    cells: Sequence[HostCell], holder: Holder, release: Release, sign: int
) -> tuple[HostCell, ...]:
    return tuple(_cell(host, holder, release, sign) for host in cells)


def _cell(host: HostCell, holder: Holder, release: Release, sign: int) -> HostCell:
    # Nova copies the sets of every cell, which may change their order.
    siblings = tuple(set_order.rebuilt(core) for core in host.siblings)
    pcpus = set_order.rebuilt(host.pcpus)
    changed = _usage(host, holder, release, sign)
    if not changed and (siblings, pcpus) == (host.siblings, host.pcpus):
        return host
    return dataclasses.replace(host, **changed, siblings=siblings, pcpus=pcpus)


def _usage(host: HostCell, holder: Holder, release: Release, sign: int) -> dict[str, t.Any]:
    """Count what a guest changes in one host cell; nothing where none of its cells sits there."""
    if all(seat.cell != host.id for seat in holder.seats):
        return {}
    pages, pinned = host.pages, host.pinned_cpus
    cpu_usage, memory_mb = host.cpu_usage, host.memory_usage_mb
    for cell, seat, pinning in zip(
        holder.guest.cells, holder.seats, holder.pinnings(), strict=True
    ):
        if seat.cell != host.id:
            continue
        memory_mb += sign * cell.memory_mb
        cpu_usage += sign * cell.floating_count
        pages = _pages(pages, cell, seat.page_size_kb, sign)
        if cell.pinned:
            pinned = _pinned(host, pinned, cell, _pins(pinning, release), sign)
    return {
        "pages": pages,
        "pinned_cpus": pinned,
        "cpu_usage": max(0, cpu_usage),
        "memory_usage_mb": max(0, memory_mb),
    }


def _pages(
    pages: tuple[Pages, ...], cell: GuestCell, size_kb: int | None, sign: int
) -> tuple[Pages, ...]:
    if not size_kb:
        if not pages:
            raise crash("IndexError", "the host cell has no page pools")
        size_kb = min(pool.size_kb for pool in pages)
    return tuple(
        dataclasses.replace(pool, used=int(max(0, pool.used + sign * cell.memory_kb / size_kb)))
        if pool.size_kb == size_kb
        else pool
        for pool in pages
    )


def _pins(pinning: Pinning | None, release: Release) -> int:
    if pinning is None:
        if not release.empty_pinning:
            raise crash("AttributeError", "the guest cell has no pins")
        return 0
    reserved = () if pinning.reserved is None else (pinning.reserved,)
    return mask((*pinning.pins.values(), *reserved))


def _pinned(host: HostCell, pinned: int, cell: GuestCell, pins: int, sign: int) -> int:
    if cell.cpu_thread_policy == "isolate":
        pins = mask(cpu for core in host.siblings if mask(core) & pins for cpu in core)
    verb = "Pinning" if sign > 0 else "Unpinning"
    if pins & ~host.pcpuset:
        raise NovaError(
            f"CPU{verb}Unknown",
            f"CPU {to_text(pins & ~host.pcpuset)} is not dedicated in cell {host.id}",
        )
    if sign > 0:
        if pins & pinned:
            raise NovaError("CPUPinningInvalid", f"CPU {to_text(pins & pinned)} is pinned already")
        return pinned | pins
    if pins & ~pinned:
        raise NovaError("CPUUnpinningInvalid", f"CPU {to_text(pins & ~pinned)} is not pinned")
    return pinned & ~pins
