# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A NUMA cell of a host as Nova's books have it: what may be used and what is in use."""

from __future__ import annotations

import dataclasses

from ...module_utils._read.cpu_list import size
from . import set_order


@dataclasses.dataclass(frozen=True, slots=True)
class Pages:
    """A pool of equal memory pages of a cell."""

    size_kb: int
    total: int
    used: int = 0
    reserved: int = 0

    @property
    def free_kb(self) -> int:
        """Memory in free pages, KiB; negative where more is used or reserved than there is."""
        return (self.total - self.used - self.reserved) * self.size_kb


@dataclasses.dataclass(frozen=True, slots=True)
class HostCell:
    """One host cell with its usage; the fields below the gap follow from those above it.

    Sets of host CPUs are bitmasks. ``siblings`` lists each core's usable threads in the order in
    which Nova's own set iterates, ``pcpus`` the members of ``pcpuset`` in the order in which they
    were inserted into Nova's: only the choice of a thread within a core hangs on it.

    Source: ``nova/objects/numa.py``, ``NUMACell``.
    """

    id: int
    cpuset: int
    pcpuset: int
    memory_mb: int
    siblings: tuple[tuple[int, ...], ...]
    pages: tuple[Pages, ...]
    pcpus: tuple[int, ...]
    pinned_cpus: int = 0
    cpu_usage: int = 0
    memory_usage_mb: int = 0
    socket: int | None = None

    free_pcpus: int = dataclasses.field(init=False)
    """CPUs of ``pcpuset`` that nobody is pinned to."""
    free_memory_mb: int = dataclasses.field(init=False)
    shared_count: int = dataclasses.field(init=False)
    dedicated_count: int = dataclasses.field(init=False)
    free_count: int = dataclasses.field(init=False)
    """Sizes of ``cpuset``, ``pcpuset`` and ``free_pcpus``."""
    threads: int = dataclasses.field(init=False)
    """Usable threads of the widest core, in use or not; at least 1."""
    free_cores: tuple[tuple[tuple[int, ...], ...], ...] = dataclasses.field(init=False)
    """At index k: the free threads of each core that has at least k of them (k from 1)."""
    free_threads: int = dataclasses.field(init=False)
    """Free threads over all cores."""
    most_in_pairs: int = dataclasses.field(init=False)
    """Most threads that cores taken alike, two threads or more each, can give."""
    small_page_kb: int = dataclasses.field(init=False)
    small_total_kb: int = dataclasses.field(init=False)
    small_free_kb: int = dataclasses.field(init=False)
    """Page size, memory and free memory of the pool of smallest pages; 0 where there is none."""
    falling_pages: tuple[Pages, ...] = dataclasses.field(init=False)
    """The pools, largest pages first."""

    def __post_init__(self) -> None:
        free = self.pcpuset & ~self.pinned_cpus
        free_order = set_order.difference(self.pcpus, self.pinned_cpus)
        cores = [set_order.narrowed(core, free_order, free) for core in self.siblings]
        threads = max(map(len, self.siblings), default=0) or 1
        ladder = tuple(
            tuple(core for core in cores if len(core) >= k) for k in range(1, threads + 1)
        )
        falling = tuple(sorted(self.pages, key=lambda pool: pool.size_kb, reverse=True))
        small = falling[-1] if falling else None
        derived = {
            "free_pcpus": free,
            "free_memory_mb": self.memory_mb - self.memory_usage_mb,
            "shared_count": size(self.cpuset),
            "dedicated_count": size(self.pcpuset),
            "free_count": size(free),
            "threads": threads,
            "free_cores": ((), *ladder),
            "free_threads": sum(map(len, cores)),
            "most_in_pairs": max(
                (k * len(ladder[k - 1]) for k in range(2, threads + 1)), default=0
            ),
            "small_page_kb": small.size_kb if small else 0,
            "small_total_kb": small.size_kb * small.total if small else 0,
            "small_free_kb": small.free_kb if small else 0,
            "falling_pages": falling,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)
