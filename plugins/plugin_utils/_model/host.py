# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute hosts, the scheduler in front of them, and the fleet that they make."""

from __future__ import annotations

import dataclasses
import typing as t

from .config import HostConfig

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .flavor import Flavor, Image
    from .kernel import Cgroups, Kernel, Libvirt
    from .server import Allocation, Server
    from .topology import Topology


Intent = t.Literal["realtime", "pinned", "shared"]
"""What a host is for: realtime guests, pinned guests, or floating ones alone."""


@dataclasses.dataclass(frozen=True, slots=True)
class PagesInUse:
    """Pages of one size that guests hold in a cell."""

    size_kb: int
    used: int


@dataclasses.dataclass(frozen=True, slots=True)
class CellUsage:
    """What guests hold of one host cell, as Nova's record of the host has it."""

    cell: int
    pinned_cpus: int = 0
    cpu_usage: int = 0
    memory_usage_mb: int = 0
    pages: tuple[PagesInUse, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Isolation:
    """How the kernel was told to keep off CPUs (bitmasks; None where it was told nothing)."""

    domain: int | None = None
    """``isolcpus`` with its domain flag: the scheduler keeps off and does not balance."""
    managed_irq: int | None = None
    nohz: int | None = None
    """``isolcpus`` with its nohz flag."""
    nohz_full: int | None = None
    flags_without_cpus: bool = False
    """``isolcpus`` names flags but no CPUs, and isolates nothing."""
    tuned_isolated: int | None = None
    """``isolated_cores`` of tuned's active profile."""
    tuned_unbalanced: int | None = None
    """``no_balance_cores`` of tuned's active profile: the scheduler does not balance there."""
    arguments_known: bool = True
    """Whether the kernel's arguments are known; else only tuned's word is."""


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """One compute host: hardware, configuration, Nova release and what guests hold."""

    name: str
    release: str
    """Nova release of its nova-compute, by point release (``27.1.0``)."""
    topology: Topology
    config: HostConfig = dataclasses.field(default_factory=HostConfig)
    usage: tuple[CellUsage, ...] = ()
    allocated: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Amounts that Placement has allocated on the host, by resource class."""
    isolation: Isolation | None = None
    data_path_cpus: int = 0
    """CPUs that a poll-mode data path (OVS-DPDK) keeps busy (bitmask)."""
    traits: frozenset[str] = frozenset()
    """Traits beyond those that Nova derives from the CPUs."""
    aggregates: frozenset[str] = frozenset()
    kernel: Kernel | None = None
    cgroups: Cgroups | None = None
    libvirt: Libvirt | None = None
    tuned_profile: str | None = None
    """Active profile of tuned; None where it is absent or unknown."""
    architecture: str = "x86_64"
    intent: Intent | None = None
    """What the operator says the host is for; None where nobody said."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostClass:
    """Equal hosts: the same in all but name. ``host`` stands for all of them."""

    host: Host
    names: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Scheduler:
    """The control plane: API and scheduler release, and the scheduler's own options."""

    release: str
    disable_fallback_pcpu_query: bool = False
    numa_topology_filter: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Fleet:
    """Everything that an audit looks at."""

    scheduler: Scheduler
    classes: tuple[HostClass, ...] = ()
    flavors: tuple[Flavor, ...] = ()
    images: tuple[Image, ...] = ()
    servers: tuple[Server, ...] = ()
    allocations: tuple[Allocation, ...] = ()
    """Of consumers that are no servers."""
    servers_left_out: int | None = None
    """Servers of the cloud besides; None where nobody told of servers."""
