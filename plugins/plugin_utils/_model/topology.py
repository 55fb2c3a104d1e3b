# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hardware of a host is, as libvirt's capabilities tell it to Nova."""

from __future__ import annotations

import dataclasses

from ...module_utils._read.cpu_list import mask


@dataclasses.dataclass(frozen=True, slots=True)
class Cpu:
    """One online host CPU of a NUMA cell."""

    id: int
    siblings: tuple[int, ...]
    """Threads of its core with itself, in the order in which libvirt lists them."""
    socket: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class PagePool:
    """The pages of one size that a NUMA cell has, or that are in use there."""

    size_kb: int
    total: int


@dataclasses.dataclass(frozen=True, slots=True)
class NumaCell:
    """One NUMA cell of the hardware; a cell with memory alone has no CPUs."""

    id: int
    cpus: tuple[Cpu, ...]
    memory_mb: int
    pages: tuple[PagePool, ...] = ()
    cpuset: int = dataclasses.field(init=False, repr=False, compare=False)
    """The cell's online CPUs (bitmask), which is asked for again and again."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cpuset", mask(cpu.id for cpu in self.cpus))


@dataclasses.dataclass(frozen=True, slots=True)
class Topology:
    """The NUMA cells of a host in the order in which libvirt reports them, and its CPU ids."""

    cells: tuple[NumaCell, ...]
    online: int
    """CPUs that are online (bitmask)."""
    present: int
    """CPUs that exist, online or not (bitmask)."""
    isolated: int | None = None
    """CPUs that the kernel keeps its scheduler off, as sysfs tells; None where unknown."""
    cores: tuple[int, ...] = dataclasses.field(init=False, repr=False, compare=False)
    """The thread siblings of each core (bitmasks), each core once, by its lowest id."""

    def __post_init__(self) -> None:
        siblings = {cpu.siblings for cell in self.cells for cpu in cell.cpus}
        cores = sorted(set(map(mask, siblings)), key=lambda core: core & -core)
        object.__setattr__(self, "cores", tuple(cores))

    @property
    def hyperthreading(self) -> bool:
        """True where any CPU has a thread sibling, whatever Nova may use of the host.

        Source: ``nova/virt/libvirt/host.py``, ``Host.has_hyperthreading``.
        """
        return any(len(cpu.siblings) > 1 for cell in self.cells for cpu in cell.cpus)

    def cpus_of(self, cells: int) -> int:
        """List the online CPUs of some cells, given as a bitmask of their ids (bitmask)."""
        found = 0
        for cell in self.cells:
            found |= cell.cpuset if cells >> cell.id & 1 else 0
        return found
