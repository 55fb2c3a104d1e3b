# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the XML of a domain says of its CPUs and memory."""

from __future__ import annotations

import dataclasses
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping


class Scheduling(t.NamedTuple):
    """A scheduling policy of the kernel and its priority."""

    policy: str
    """fifo, rr, batch or idle."""
    priority: int | None = None
    """1 to 99 for fifo and rr; None for the others."""


@dataclasses.dataclass(frozen=True, slots=True)
class XmlCell:
    """One ``<cell>`` of ``<cpu><numa>``."""

    id: int
    vcpus: int
    """vCPUs of the cell (bitmask)."""
    memory_kb: int
    shared: bool = False
    """``memAccess="shared"``."""


@dataclasses.dataclass(frozen=True, slots=True)
class CpuModel:
    """What ``<cpu>`` says beside the cells."""

    mode: str | None = None
    model: str | None = None
    topology: tuple[int, int, int] | None = None
    """Sockets, cores, threads."""
    address_mode: str | None = None
    """Mode of ``<maxphysaddr>``: passthrough or emulate."""
    address_bits: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Backing:
    """What ``<memoryBacking>`` says."""

    pages: Mapping[int, int] = dataclasses.field(default_factory=dict)
    """Guest cell to page size in KiB, for the cells on large pages."""
    nosharepages: bool = False
    locked: bool = False
    file: bool = False
    """Backed by a file: source file, access shared, allocation immediate."""
    discard: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class GuestXml:
    """The CPU and memory part of a domain. Sets of CPUs are bitmasks of host CPUs.

    Source: libvirt ``docs/formatdomain.rst``, CPU Allocation, CPU Tuning, NUMA Node Tuning, Memory
    Backing, CPU model and topology.
    """

    vcpus: int
    """Number of vCPUs."""
    cpuset: int | None = None
    """``<vcpu cpuset>``: what threads without a mask of their own run on; None without."""
    shares: int | None = None
    quota: int | None = None
    period: int | None = None
    emulator: int | None = None
    """``<emulatorpin>``; None without the element, 0 for an empty set, which libvirt refuses."""
    iothreads: int = 0
    """Number of I/O threads."""
    iothread_pins: Mapping[int, int] = dataclasses.field(default_factory=dict)
    """I/O thread (from 1) to its set of host CPUs."""
    vcpu_pins: Mapping[int, int] = dataclasses.field(default_factory=dict)
    """vCPU to its set of host CPUs: a single one where it is pinned, a range where it floats."""
    vcpu_scheduling: Mapping[int, Scheduling] = dataclasses.field(default_factory=dict)
    emulator_scheduling: Scheduling | None = None
    """``<emulatorsched>``; Nova never writes it."""
    iothread_scheduling: Mapping[int, Scheduling] = dataclasses.field(default_factory=dict)
    """``<iothreadsched>``; Nova never writes it."""
    memory_mode: str | None = None
    """Mode of ``<numatune><memory>``; None without."""
    host_cells: int = 0
    """Its nodeset: host cells (bitmask)."""
    memnodes: Mapping[int, int] = dataclasses.field(default_factory=dict)
    """Guest cell to host cells (bitmask)."""
    backing: Backing = Backing()
    cpu: CpuModel = CpuModel()
    cells: tuple[XmlCell, ...] = ()

    @property
    def pins(self) -> dict[int, int]:
        """vCPU to host CPU, for the vCPUs that are tied to one."""
        return {
            vcpu: cpus.bit_length() - 1
            for vcpu, cpus in self.vcpu_pins.items()
            if cpus and not cpus & (cpus - 1)
        }

    @property
    def realtime(self) -> int:
        """vCPUs under fifo or rr (bitmask)."""
        return sum(
            1 << vcpu
            for vcpu, scheduling in self.vcpu_scheduling.items()
            if scheduling.policy in ("fifo", "rr")
        )

    @property
    def realtime_cpus(self) -> int:
        """Host CPUs of realtime vCPUs (bitmask)."""
        return self._cpus_of(self.realtime)

    @property
    def ordinary_cpus(self) -> int:
        """Host CPUs that vCPUs without realtime are pinned to or float over (bitmask)."""
        return self._cpus_of(~self.realtime)

    def _cpus_of(self, vcpus: int) -> int:
        found = 0
        for vcpu, cpus in self.vcpu_pins.items():
            found |= cpus if vcpus >> vcpu & 1 else 0
        return found
