# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host reports: its CPU sets, its inventory and traits, its NUMA cells."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.cpu_list import ids, to_text
from .._model import set_order
from .._model.host_cell import HostCell, Pages
from . import startup
from .constraints import page_size
from .errors import NovaError, crash
from .image_properties import HYPERTHREADING
from .releases import release as release_of

if t.TYPE_CHECKING:
    from .._model.config import HostConfig
    from .._model.host import CellUsage, Host
    from .._model.topology import NumaCell, Topology
    from .releases import Release


NUMA_ARCHITECTURES = ("i686", "x86_64", "aarch64", "ppc64", "ppc64le")
"""Where Nova knows NUMA. Source: ``nova/virt/libvirt/driver.py``, ``_has_numa_support``."""

OWNER = "OWNER_NOVA"
"""The trait of a provider that a nova-compute reports."""


@dataclasses.dataclass(frozen=True, slots=True)
class CpuSets:
    """The host CPUs by use (bitmasks)."""

    shared: int
    """For floating vCPUs: VCPU inventory."""
    dedicated: int
    """For pinned vCPUs: PCPU inventory; none on a legacy host."""
    legacy: bool
    """Pins vCPUs to shared CPUs: neither set is configured, or ``vcpu_pin_set`` is."""

    @property
    def pinnable(self) -> int:
        """CPUs that vCPUs may be pinned to."""
        return self.shared if self.legacy else self.dedicated


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """What a provider has of one resource class."""

    total: int
    reserved: int = 0
    ratio: float = 1.0
    min_unit: int = 1
    max_unit: int = 2**31 - 1
    step_size: int = 1

    def takes(self, amount: int, used: int) -> bool:
        """Say whether ``amount`` more can be allocated.

        Source: openstack-placement, ``objects/research_context.py``.
        """
        return (
            used + amount <= (self.total - self.reserved) * self.ratio
            and self.min_unit <= amount <= self.max_unit
            and amount % self.step_size == 0
        )


def shared_cpus(config: HostConfig, topology: Topology, release: Release) -> int:
    """List the CPUs for floating vCPUs.

    Raises ``Invalid`` for a list that cannot be read or CPUs that are not online.

    Source: ``nova/virt/libvirt/driver.py``, ``_get_vcpu_available``.
    """
    name, cpus = "vcpu_pin_set", startup.cpu_option(config.vcpu_pin_set, "vcpu_pin_set")
    if cpus is None and release.dedicated_set:
        name = "[compute] cpu_shared_set"
        cpus = startup.cpu_option(config.cpu_shared_set, name)
        if cpus is None and startup.cpu_option(config.cpu_dedicated_set, "cpu_dedicated_set"):
            return 0
    if cpus is None:
        return topology.online
    return _existing(cpus, topology.online, name, "online")


def dedicated_cpus(config: HostConfig, topology: Topology, release: Release) -> int:
    """List the CPUs of the dedicated set; none on a legacy host.

    Raises ``Invalid`` for a list that cannot be read or CPUs that are not online (or, under power
    management, that do not exist).

    Source: ``nova/virt/libvirt/driver.py``, ``_get_pcpu_available``.
    """
    if not release.dedicated_set:
        return 0
    name = "[compute] cpu_dedicated_set"
    cpus = startup.cpu_option(config.cpu_dedicated_set, name)
    if cpus is None:
        return 0
    if release.power_management and config.cpu_power_management:
        return _existing(cpus, topology.present, name, "there")
    return _existing(cpus, topology.online, name, "online")


def _existing(cpus: int, known: int, name: str, state: str) -> int:
    if cpus & ~known:
        raise NovaError("Invalid", f"{name}: CPU {to_text(cpus & ~known)} is not {state}")
    return cpus


def cpu_sets(config: HostConfig, topology: Topology, release: Release) -> CpuSets:
    """Sort the host's CPUs by use; raises ``Invalid`` as the two lists do."""
    shared = shared_cpus(config, topology, release)
    dedicated = dedicated_cpus(config, topology, release)
    shared_only = release.dedicated_set and config.cpu_shared_set and not config.vcpu_pin_set
    return CpuSets(shared, dedicated, not dedicated and not shared_only)


def inventories(host: Host, release: Release) -> dict[str, Inventory]:
    """List what the host reports of VCPU, PCPU and MEMORY_MB; a class of total 0 is left out.

    Raises ``Invalid`` as :func:`cpu_sets` does.

    Source: ``nova/virt/libvirt/driver.py``, ``update_provider_tree``.
    """
    config = host.config
    sets = cpu_sets(config, host.topology, release)
    vcpu, pcpu = sets.shared.bit_count(), sets.dedicated.bit_count()
    memory = sum(cell.memory_mb for cell in host.topology.cells)
    cpu_ratio, memory_ratio = ratios(config, release)
    found = {
        "VCPU": Inventory(vcpu, config.reserved_host_cpus, cpu_ratio, max_unit=vcpu),
        "PCPU": Inventory(pcpu, max_unit=pcpu),
        "MEMORY_MB": Inventory(
            memory, config.reserved_host_memory_mb, memory_ratio, max_unit=memory
        ),
    }
    return {name: inventory for name, inventory in found.items() if inventory.total}


def ratios(config: HostConfig, release: Release) -> tuple[float, float]:
    """Give the allocation ratios of CPUs and memory for a host that had none before."""
    lean = release.lean_initial_ratios
    return (
        config.cpu_allocation_ratio
        or config.initial_cpu_allocation_ratio
        or (4.0 if lean else 16.0),
        config.ram_allocation_ratio
        or config.initial_ram_allocation_ratio
        or (1.0 if lean else 1.5),
    )


def traits(host: Host, release: Release) -> frozenset[str]:
    """List the host's traits: those that it was given, and those that Nova derives."""
    own = host.traits - {HYPERTHREADING}
    if release.owner_trait:
        own |= {OWNER}
    if release.dedicated_set and host.topology.hyperthreading:
        own |= {HYPERTHREADING}
    return own


def reserved_pages(config: HostConfig) -> dict[int, dict[float, int]]:
    """Count the reserved pages by cell and page size (KiB).

    Raises ``InvalidReservedMemoryPagesOption``.

    Source: ``nova/virt/hardware.py``, ``numa_get_reserved_huge_pages``.
    """
    found: dict[int, dict[float, int]] = {}
    for entry in config.reserved_huge_pages:
        try:
            size_text, node, count = entry.size or "", int(entry.node or ""), int(entry.count or "")
            try:
                size_kb: float = int(size_text)
            except ValueError:
                size_kb = page_size(size_text, _UNITS_ONLY)
        except (ValueError, NovaError):
            raise NovaError(
                "InvalidReservedMemoryPagesOption",
                f"reserved_huge_pages: node {entry.node}, size {entry.size}, count {entry.count}",
            ) from None
        found.setdefault(node, {})[size_kb] = count
    return found


_UNITS_ONLY = release_of("34.0.0")


def host_cells(host: Host, release: Release) -> tuple[HostCell, ...] | None:
    """Build Nova's NUMA cells of a host with its usage; None where libvirt reports no cells, or on
    an architecture where Nova knows no NUMA.

    Raises ``Invalid`` as :func:`cpu_sets` does, or ``InvalidReservedMemoryPagesOption``; crashes
    with ``TypeError`` on a CPU that libvirt lists without siblings.

    Source: ``nova/virt/libvirt/driver.py``, ``_get_host_numa_topology``.
    """
    reserved = reserved_pages(host.config)
    if host.architecture not in NUMA_ARCHITECTURES:
        return None
    sets = cpu_sets(host.config, host.topology, release)
    used = {usage.cell: usage for usage in host.usage}
    cells = tuple(
        _host_cell(cell, sets, reserved.get(cell.id, {}), used.get(cell.id), release)
        for cell in host.topology.cells
    )
    return cells or None


def _host_cell(
    cell: NumaCell,
    sets: CpuSets,
    reserved: dict[float, int],
    usage: CellUsage | None,
    release: Release,
) -> HostCell:
    cpuset = cell.cpuset
    used = {pages.size_kb: pages.used for pages in usage.pages} if usage else {}
    pinnable = cpuset & sets.pinnable
    return HostCell(
        id=cell.id,
        cpuset=cpuset & sets.shared,
        pcpuset=pinnable,
        memory_mb=cell.memory_mb,
        siblings=_siblings(cell, sets.shared | sets.dedicated, release),
        pages=tuple(
            Pages(
                pool.size_kb,
                pool.total,
                used.get(pool.size_kb, 0),
                reserved.get(pool.size_kb, 0),
            )
            for pool in cell.pages
        ),
        pcpus=set_order.intersection(
            set_order.rebuilt(cpu.id for cpu in cell.cpus), tuple(ids(sets.pinnable))
        ),
        pinned_cpus=usage.pinned_cpus if usage else 0,
        cpu_usage=usage.cpu_usage if usage else 0,
        memory_usage_mb=usage.memory_usage_mb if usage else 0,
        socket=next((cpu.socket for cpu in cell.cpus), None),
    )


def _siblings(cell: NumaCell, usable: int, release: Release) -> tuple[tuple[int, ...], ...]:
    """List the usable threads of each core, cores in the order of Nova's set of tuples."""
    if release.needs_siblings and not all(cpu.siblings for cpu in cell.cpus):
        raise crash("TypeError", "libvirt lists a CPU without its siblings")
    cores = set_order.listed(
        (set_order.rebuilt(cpu.siblings) for cpu in cell.cpus),
        old_hash=release.runs_on_old_python,
    )
    order = tuple(ids(usable))
    trimmed = (
        set_order.rebuilt(set_order.narrowed(set_order.rebuilt(core), order, usable))
        for core in cores
    )
    return tuple(core for core in trimmed if core)
