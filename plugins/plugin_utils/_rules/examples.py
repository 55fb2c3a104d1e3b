# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small hosts and flavors for the examples of rules."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.cpu_list import mask, parse_nova
from .._model.config import HostConfig
from .._model.flavor import NO_IMAGE, Flavor, Image
from .._model.host import Fleet, Host, Scheduler
from .._model.server import Allocation, CellPlace, Server
from .._model.topology import Cpu, NumaCell, PagePool, Topology
from .._nova.cloud import Cloud
from .._nova.releases import release as release_of
from .cases import flavor_case, host_case, restart_case
from .rule import AllocationCase, FlavorCase, FleetCase, HostCase, RestartCase, ServerCase
from .servers import allocation_cases, server_cases

NEWEST = "34.0.0"


def topology(
    cells: int = 2, cores: int = 8, threads: int = 2, huge_pages: int = 0, offline: str = ""
) -> Topology:
    """Make a machine: thread k of core c is CPU c + k times the number of all cores.

    Each cell has 64 GiB, of which ``huge_pages`` pages of 2 MiB.
    """
    total = cells * cores
    gone = parse_nova(offline)
    every = mask(range(total * threads)) & ~gone
    made = []
    for cell in range(cells):
        first = cell * cores
        members = [
            tuple(cpu for k in range(threads) if every >> (cpu := core + k * total) & 1)
            for core in range(first, first + cores)
        ]
        cpus = sorted(cpu for core in members for cpu in core)
        core_of = {cpu: core for core in members for cpu in core}
        small = (65536 - 2 * huge_pages) * 256
        pools = (PagePool(4, small), *((PagePool(2048, huge_pages),) if huge_pages else ()))
        made.append(
            NumaCell(cell, tuple(Cpu(cpu, core_of[cpu], cell) for cpu in cpus), 65536, pools)
        )
    return Topology(tuple(made), every, every | gone)


def a_host(
    machine: Topology | None = None,
    *,
    name: str = "compute-1",
    release: str = NEWEST,
    **other: t.Any,
) -> HostCase:
    """Make a host; ``other`` are fields of the host and options of its ``nova.conf``."""
    fields = {field.name for field in dataclasses.fields(Host)}
    options = {key: other.pop(key) for key in list(other) if key not in fields}
    config = HostConfig(
        **options,
        origins={key: f"/etc/nova/nova.conf:{line}" for line, key in enumerate(options, 2)},
    )
    return host_case(Host(name, release, machine or topology(), config, **other))


def new_style(**other: t.Any) -> HostCase:
    """Make a host with SMT and both sets: a core of each cell shared, the rest dedicated."""
    return a_host(
        **{"cpu_shared_set": "0,8,16,24", "cpu_dedicated_set": "1-7,9-15,17-23,25-31", **other}
    )


def no_smt(**other: t.Any) -> HostCase:
    """Make a host without SMT and with both sets."""
    return a_host(
        topology(threads=1), **{"cpu_shared_set": "0,8", "cpu_dedicated_set": "1-7,9-15", **other}
    )


def legacy(**other: t.Any) -> HostCase:
    """Make a host with SMT and ``vcpu_pin_set``."""
    return a_host(**{"vcpu_pin_set": "1-7,9-15,17-23,25-31", **other})


def a_flavor(
    *hosts: HostCase,
    vcpus: int = 4,
    memory_mb: int = 4096,
    image: dict[str, t.Any] | None = None,
    release: str = NEWEST,
    fallback: bool = True,
    specs: dict[str, str] | None = None,
    **hw: str,
) -> FlavorCase:
    """Make a flavor before ``hosts``; ``hw`` are extra specs without their ``hw:``."""
    specs = {**(specs or {}), **{f"hw:{key}": value for key, value in hw.items()}}
    return flavor_case(
        Flavor("example", vcpus, memory_mb, specs),
        NO_IMAGE if image is None else Image("picture", image),
        Scheduler(release, disable_fallback_pcpu_query=not fallback),
        hosts,
    )


def a_fleet(
    *flavors: FlavorCase, hosts: tuple[HostCase, ...] = (), release: str = NEWEST
) -> FleetCase:
    """Make a fleet of hosts and flavors."""
    return FleetCase(Scheduler(release), release_of(release), hosts, flavors)


def a_guest(
    *pins: int,
    name: str = "1",
    vcpus: int = 2,
    reserved: str = "",
    host_cell: int = 0,
    allocation: dict[str, int] | None = None,
    **hw: str,
) -> Server:
    """Make a server, pinned to ``pins`` vCPU by vCPU; ``hw`` are as for :func:`a_flavor`."""
    specs = {f"hw:{key}": value for key, value in hw.items()}
    if pins:
        specs.setdefault("hw:cpu_policy", "dedicated")
    flavor = Flavor("example", len(pins) or vcpus, 1024, specs)
    places = (CellPlace(host_cell, dict(enumerate(pins)), parse_nova(reserved)),) if pins else None
    consumer = f"{name:0>8}-0000-4000-8000-000000000000"
    return Server(consumer, name, "compute-1", flavor, places=places, allocation=allocation)


def a_restart(
    now: HostCase, then: HostCase, *servers: Server, strangers: dict[str, int] | None = None
) -> RestartCase:
    """Restart a host as another; ``strangers`` is what a consumer that is no server holds."""
    cloud = Cloud(Scheduler(NEWEST))
    others = [Allocation("leak", now.host.name, strangers)] if strangers else []
    cloud.settle_in(now.host, servers, others)
    return restart_case(cloud, then.host)


def a_server(host: HostCase, *servers: Server) -> ServerCase:
    """Look at the last of a host's servers."""
    scheduler = Scheduler(NEWEST)
    cloud = Cloud(scheduler)
    cloud.settle_in(host.host, servers)
    return [*server_cases(cloud, Fleet(scheduler, servers=servers))][-1]


def a_stray(host: HostCase, resources: dict[str, int], *elsewhere: Server) -> AllocationCase:
    """Let a consumer that is none of the servers hold something on a host."""
    stray = Allocation("9a1d2b00-0000-4000-8000-000000000000", host.host.name, resources)
    scheduler = Scheduler(NEWEST)
    cloud = Cloud(scheduler)
    cloud.settle_in(host.host, (), (stray,))
    (case,) = allocation_cases(cloud, Fleet(scheduler, servers=elsewhere, allocations=(stray,)))
    return case
