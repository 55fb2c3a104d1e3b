# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether, where and on which CPUs a guest topology fits the NUMA cells of a host.

The search decides by counting; pins are worked out afterwards for the assignment that it found.

Source throughout: ``nova/virt/hardware.py``, ``numa_fit_instance_to_host``.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
import typing as t

from ...module_utils._read.cpu_list import ids
from .constraints import ANY, LARGE, SMALL
from .errors import crash

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._model.guest import Guest, GuestCell
    from .._model.host_cell import HostCell
    from .releases import Release

_ANY_OF_THEM = (SMALL, LARGE, ANY)

MOST_STEPS = 500_000
"""Checks of a guest cell against a host cell after which the search is given up. Nova would go on,
for hours: its request has long timed out and so been refused."""


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """How far floating guests may overcommit a cell; only the scheduler filter sets limits."""

    cpu_allocation_ratio: float = 1.0
    ram_allocation_ratio: float = 1.0


class Seat(t.NamedTuple):
    """Where one guest cell ends up."""

    cell: int
    """Id of the host cell that is claimed."""
    checked: HostCell | None
    """The host cell that the guest cell was last found to fit, which its pins are from. Other than
    the claimed one, or None, only where the caches of 26 and later go wrong."""
    page_size_kb: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class Pinning:
    """The pins of one guest cell."""

    pins: dict[int, int]
    """vCPU to host CPU."""
    reserved: int | None
    """The host CPU kept for emulator threads."""
    threads: int
    """Threads that the guest uses of a core; 1 where it takes them as they come."""


class Fitted(t.NamedTuple):
    """A guest with its place on a host.

    A named tuple, as seats are: a fit takes hardly longer than making a frozen dataclass.
    """

    guest: Guest
    seats: tuple[Seat, ...]

    @property
    def cells(self) -> tuple[int, ...]:
        """Host cell id of each guest cell."""
        return tuple(seat.cell for seat in self.seats)

    def pinnings(self) -> tuple[Pinning | None, ...]:
        """Work out the pins of each guest cell; None for cells that have none."""
        isolates = self.guest.emulator_threads_policy == "isolate"
        return tuple(
            _pinning(seat.checked, cell, isolates and index == 0)
            if cell.pinned and seat.checked is not None
            else None
            for index, (cell, seat) in enumerate(zip(self.guest.cells, self.seats, strict=True))
        )

    @property
    def pins(self) -> dict[int, int]:
        """vCPU to host CPU over all cells."""
        pins: dict[int, int] = {}
        for pinning in self.pinnings():
            if pinning:
                pins.update(pinning.pins)
        return pins

    @property
    def reserved(self) -> frozenset[int]:
        """Host CPUs kept for emulator threads."""
        found = (pinning.reserved for pinning in self.pinnings() if pinning)
        return frozenset(cpu for cpu in found if cpu is not None)

    def thread_shares(self) -> Iterator[tuple[int, int]]:
        """Give each pinned cell's threads a core and its vCPUs (bitmask)."""
        for cell, pinning in zip(self.guest.cells, self.pinnings(), strict=True):
            if pinning:
                yield pinning.threads, cell.cpuset | cell.pcpuset


_by_free = operator.attrgetter("free_count", "free_memory_mb")


def _sorted(cells: Sequence[HostCell], guest: Guest, packs: bool) -> Sequence[HostCell]:
    """Order the host cells as they are tried: fullest first to pack, emptiest first to spread."""
    if guest.cells[0].pinned:
        return sorted(cells, key=_by_free, reverse=not packs)
    if packs:
        return sorted(cells, key=lambda cell: (-cell.cpu_usage, cell.free_memory_mb))
    return sorted(cells, key=lambda cell: (cell.cpu_usage, -cell.free_memory_mb))


def _page_size(host: HostCell, cell: GuestCell, wish: int, release: Release) -> int | None:
    """Choose the page size of a cell, KiB; 0 for a guest without a wish, None if none has room."""
    needed = cell.memory_kb
    if wish:
        pools = host.falling_pages
        if wish in (SMALL, LARGE):
            pools = pools[-1:] if wish == SMALL else pools[:-1]
        for pool in pools:
            if (wish == pool.size_kb or wish in _ANY_OF_THEM) and (
                needed <= pool.free_kb and needed % pool.size_kb == 0
            ):
                return pool.size_kb
        return None
    by_pages = release.pinned_memory_by_pages and cell.pinned
    if host.small_page_kb:
        room = host.small_free_kb if by_pages else host.small_total_kb
        return 0 if needed <= room and needed % host.small_page_kb == 0 else None
    return 0 if cell.memory_mb <= (host.free_memory_mb if by_pages else host.memory_mb) else None


def _packs(host: HostCell, cell: GuestCell, extra: int, release: Release) -> bool:
    """Say whether the pinned vCPUs and the reserve go onto the free cores.

    Source: ``_pack_instance_onto_cores``.
    """
    if not host.siblings:
        raise crash("ValueError", "the host cell has no thread siblings")
    needed = cell.pinned_count
    policy = cell.cpu_thread_policy
    if policy == "isolate":
        if host.threads != 1 and release.isolate_guard and host.pcpuset != host.cpuset:
            return False
        whole = len(host.free_cores[host.threads])
        return 0 < needed <= whole and (not extra or len(host.free_cores[1]) > needed)
    if not needed and (extra or not release.empty_pinning):
        return False
    if policy == "require" and (not host.most_in_pairs or needed > host.most_in_pairs):
        return False
    return needed + extra <= host.free_threads


def _floats(cell: GuestCell, release: Release) -> bool:
    """Say whether a cell is held against the shared CPUs and the limits."""
    return not cell.pinned or (release.mixed_counts_shared and cell.cpu_policy == "mixed")


def _takes(host: HostCell, cell: GuestCell, extra: int, release: Release) -> bool:
    """Hold one guest cell, whose pages have room, against one host cell, limits left aside.

    Source: ``_numa_fit_instance_cell``.
    """
    if cell.floating_count > host.shared_count and _floats(cell, release):
        return False
    if not cell.pinned:
        return True
    if cell.pinned_count + extra > host.free_count:
        return False
    if not release.pinned_memory_by_pages and cell.memory_mb > host.free_memory_mb:
        return False
    if not _packs(host, cell, extra, release):
        return False
    return bool(cell.pinned_count or cell.floating_count)


def _within(host: HostCell, cell: GuestCell, limits: Limits) -> bool:
    """Hold the floating part of a cell against the limits."""
    return (
        host.cpu_usage + cell.floating_count <= host.shared_count * limits.cpu_allocation_ratio
        and host.memory_usage_mb + cell.memory_mb <= host.memory_mb * limits.ram_allocation_ratio
    )


def _pinning(host: HostCell, cell: GuestCell, reserves: bool) -> Pinning:
    """Pin the vCPUs of a cell that fits: cores in the host's order, of each the same number.

    Source: ``_pack_instance_onto_cores``.
    """
    needed = cell.pinned_count
    vcpus = tuple(ids(cell.pcpuset))
    free = host.free_cores[1]
    if cell.cpu_thread_policy == "isolate":
        cpus = [core[0] for core in host.free_cores[host.threads][:needed]]
        taken = set(cpus)
        free = tuple(core for core in free if taken.isdisjoint(core)) if reserves else free
        threads = 1
    else:
        threads = _threads(host, needed)
        chosen = host.free_cores[threads] if threads else free
        cpus = []
        for core in chosen:
            if len(cpus) >= needed:
                break
            cpus += core[:threads] if threads else core
        del cpus[needed:]
        threads = threads or 1
    reserved = None
    if reserves:
        taken = set(cpus)
        reserved = next(cpu for core in free for cpu in core if cpu not in taken)
    return Pinning(dict(zip(vcpus, cpus, strict=True)), reserved, threads)


def _threads(host: HostCell, needed: int) -> int:
    """Find the most threads that cores taken alike can give; 0 where only unlike ones suffice."""
    for threads in range(host.threads, 0, -1):
        cores = len(host.free_cores[threads])
        if cores and needed <= threads * cores:
            return threads
    return 0


def fit(
    cells: Sequence[HostCell],
    guest: Guest,
    release: Release,
    limits: Limits | None = None,
    packs: bool | None = None,
) -> Fitted | None:
    """Fit a guest to the cells of a host; None where it does not fit.

    ``packs`` is ``[compute] packing_host_numa_cells_allocation_strategy`` of the service that
    asks, None for the release's default.

    Crashes with ``ValueError`` on a pinned guest and a host cell without thread siblings. Known
    defects are reproduced: a page size once chosen sticks to the guest cell although the attempt
    fails later; in 26 and later the caches are keyed by an id of the guest cell that is rewritten
    (``fit_caches``), so that unlike cells are refused although they fit, or taken unchecked.
    """
    wanted = len(guest.cells)
    if not wanted or wanted > len(cells):
        return None
    if wanted < len(cells) and release.packing_option:
        cells = _sorted(cells, guest, release.packs_by_default if packs is None else packs)
    extra = 1 if guest.emulator_threads_policy == "isolate" and guest.cells[0].pinned else 0
    if wanted == 1:
        return _fit_one(cells, guest, extra, release, limits)
    return _Search(cells, guest, extra, release, limits).run()


def _fit_one(
    cells: Sequence[HostCell], guest: Guest, extra: int, release: Release, limits: Limits | None
) -> Fitted | None:
    """Fit a guest of one cell: the first host cell that has room."""
    cell = guest.cells[0]
    wish = cell.page_size_kb or 0
    for host in cells:
        size_kb = _page_size(host, cell, wish, release)
        if size_kb is None:
            continue
        wish = size_kb
        if _takes(host, cell, extra, release) and (
            limits is None or not _floats(cell, release) or _within(host, cell, limits)
        ):
            return Fitted(guest, (Seat(host.id, host, wish or cell.page_size_kb),))
    return None


class _Search:
    """The search over ordered selections of host cells, with the state that leaks between them."""

    def __init__(
        self,
        cells: Sequence[HostCell],
        guest: Guest,
        extra: int,
        release: Release,
        limits: Limits | None,
    ) -> None:
        self.cells = cells
        self.guest = guest
        self.extra = extra
        self.release = release
        self.limits = limits
        self.ids = [cell.id for cell in guest.cells]
        self.wishes = [cell.page_size_kb or 0 for cell in guest.cells]
        self.checked: list[HostCell | None] = [None] * len(guest.cells)
        self.fitting: set[tuple[int, int]] = set()
        self.failing: set[tuple[int, int]] = set()
        self.steps = 0
        self.changed = False

    def run(self) -> Fitted | None:
        """Try the selections in lexicographic order.

        Selections that begin like a failed one fail at the same place once an attempt has left no
        trace, so they are passed over.
        """
        wanted = len(self.guest.cells)
        chosen: list[int] | None = list(range(wanted))
        while chosen is not None and self.steps < MOST_STEPS:
            self.changed = False
            hosts = [self.cells[index] for index in chosen]
            failed = self._attempt(hosts)
            if failed is None:
                return self._seated(hosts)
            place = wanted - 1 if self.changed else failed
            chosen = _next_selection(chosen, place, len(self.cells))
        return None

    def _attempt(self, hosts: Sequence[HostCell]) -> int | None:
        """Match the guest cells in turn; None on success, else the index that failed."""
        for index, host in enumerate(hosts):
            self.steps += 1
            if not self._matches(index, host):
                return index
        return None

    def _matches(self, index: int, host: HostCell) -> bool:
        caches = self.release.fit_caches
        key = (host.id, self.ids[index])
        if caches and key in self.failing:
            return False
        if not (caches and key in self.fitting):
            fits = self._check(index, host)
            if caches:
                (self.fitting if fits else self.failing).add(key)
                self.changed = True
            if not fits:
                return False
        self._claim(index, host)
        return True

    def _claim(self, index: int, host: HostCell) -> None:
        if self.release.fit_caches and self.ids[index] != host.id:
            self.ids[index] = host.id
            self.changed = True

    def _check(self, index: int, host: HostCell) -> bool:
        cell = self.guest.cells[index]
        size_kb = _page_size(host, cell, self.wishes[index], self.release)
        if size_kb is None:
            return False
        if self.wishes[index] != size_kb:
            self.wishes[index] = size_kb
            self.changed = True
        if not _takes(host, cell, 0 if index else self.extra, self.release):
            return False
        # A pinned cell is rewritten once it is packed, though the limits may refuse it yet.
        if cell.pinned:
            self._claim(index, host)
        fits = (
            self.limits is None
            or not _floats(cell, self.release)
            or _within(host, cell, self.limits)
        )
        if fits or cell.pinned:
            self.checked[index] = host
        return fits

    def _seated(self, hosts: Sequence[HostCell]) -> Fitted:
        return Fitted(
            self.guest,
            tuple(
                [
                    Seat(host.id, checked, wish or cell.page_size_kb)
                    for host, checked, wish, cell in zip(
                        hosts, self.checked, self.wishes, self.guest.cells, strict=True
                    )
                ]
            ),
        )


def _next_selection(chosen: list[int], place: int, total: int) -> list[int] | None:
    """Find the next ordered selection that differs at ``place`` or before; None after the last."""
    for position in range(place, -1, -1):
        before = chosen[:position]
        for index in range(chosen[position] + 1, total):
            if index not in before:
                head = [*before, index]
                rest = itertools.islice(
                    (other for other in range(total) if other not in head),
                    len(chosen) - len(head),
                )
                return [*head, *rest]
    return None
