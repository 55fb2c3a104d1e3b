# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small hosts and flavors for the examples of rules."""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from ...module_utils._read.cpu_list import ids, mask, parse_nova
from .._model.config import HostConfig
from .._model.domain import Domain, Metadata, Thread
from .._model.flavor import NO_IMAGE, Flavor, Image
from .._model.host import Fleet, Host, HostClass, Scheduler
from .._model.server import Allocation, CellPlace, Server
from .._model.topology import Cpu, NumaCell, PagePool, Topology
from .._model.waivers import Waiver
from .._nova import constraints, guest_xml
from .._nova.cloud import Cloud
from .._nova.releases import release as release_of
from .cases import flavor_case, host_case, restart_case
from .guests import guest_cases, host_guests_cases
from .rule import (
    AllocationCase,
    FlavorCase,
    FleetCase,
    GuestCase,
    HostCase,
    HostGuestsCase,
    RestartCase,
    ServerCase,
    WaiverCase,
)
from .servers import allocation_cases, server_cases

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.guest_xml import GuestXml

NEWEST = "34.0.0"
TODAY = datetime.date(2026, 11, 30)


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
        **{
            "machine": topology(threads=1),
            "cpu_shared_set": "0,8",
            "cpu_dedicated_set": "1-7,9-15",
            **other,
        }
    )


def isolating(**other: t.Any) -> HostCase:
    """Make the same with all CPUs isolated but the first of each cell."""
    machine = dataclasses.replace(topology(threads=1), isolated=parse_nova("1-7,9-15"))
    return no_smt(machine=machine, **other)


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


def a_domain(
    host: HostCase,
    *pins: int,
    number: int = 1,
    vcpus: int = 2,
    release: str = "",
    reserved: str = "",
    cells: tuple[int, ...] = (0,),
    page_size_kb: int | None = None,
    xml: dict[str, t.Any] | None = None,
    persistent: dict[str, t.Any] | None = None,
    moved: dict[str, t.Any] | None = None,
    hw: dict[str, str] | None = None,
    **other: t.Any,
) -> Domain:
    """Make a running domain as Nova defines it, with every thread where it should be.

    ``pins`` are shared out evenly to ``cells`` of the host; a domain without any floats. ``xml``
    changes fields of its XML, ``persistent`` those of the persistent one alone, ``moved`` fields of
    threads by their names, ``other`` fields of the domain; ``hw`` are extra specs without ``hw:``.
    """
    specs = {f"hw:{key}": value for key, value in (hw or {}).items()}
    if pins:
        specs.setdefault("hw:cpu_policy", "dedicated")
    if len(cells) > 1:
        specs.setdefault("hw:numa_nodes", str(len(cells)))
    flavor = Flavor("example", len(pins) or vcpus, 1024, specs)
    name = release or host.release.name
    nova = release_of(name)
    guest = constraints.guest(flavor, NO_IMAGE, nova)
    places = (
        tuple(
            CellPlace(
                cells[index],
                {vcpu: pins[vcpu] for vcpu in ids(each.pcpuset)},
                0 if index else parse_nova(reserved),
                page_size_kb,
            )
            for index, each in enumerate(guest.cells)
        )
        if guest
        else ()
    )
    written = guest_xml.predict(flavor, NO_IMAGE, guest, places, host.host, nova)
    live = dataclasses.replace(written, **(xml or {}))
    threads = tuple(
        dataclasses.replace(thread, **(moved or {}).get(thread.name, {}))
        for thread in _threads(live, host.host.topology.online, 1000 * number)
    )
    return Domain(
        **{
            "id": f"{number:0>8}-0000-4000-8000-000000000000",
            "name": f"instance-{number:08x}",
            "host": host.host.name,
            "running": True,
            "live": live,
            "persistent": dataclasses.replace(live, **(persistent or {})),
            "nova": Metadata(name, name, f"vm-{number}", "example"),
            "flavor": flavor,
            "image": NO_IMAGE,
            "threads": threads,
            **other,
        }
    )


def _threads(xml: GuestXml, online: int, first: int) -> Iterator[Thread]:
    """Give the threads of a domain that libvirt has just started."""
    anywhere = xml.cpuset or online
    emulator = xml.emulator or anywhere
    main = xml.emulator_scheduling
    yield Thread(
        first,
        "qemu-kvm",
        "emulator",
        None,
        emulator,
        main.policy if main else "other",
        (main.priority if main else 0) or 0,
        main=True,
    )
    yield Thread(first + 1, "call_rcu", "emulator", None, emulator, "other")
    for thread in range(1, xml.iothreads + 1):
        cpus = xml.iothread_pins.get(thread, anywhere)
        yield Thread(first + 1 + thread, f"IO iothread{thread}", "iothread", thread, cpus, "other")
    for vcpu in range(xml.vcpus):
        scheduling = xml.vcpu_scheduling.get(vcpu)
        yield Thread(
            first + 100 + vcpu,
            f"CPU {vcpu}/KVM",
            "vcpu",
            vcpu,
            xml.vcpu_pins.get(vcpu, anywhere),
            scheduling.policy if scheduling else "other",
            (scheduling.priority if scheduling else 0) or 0,
        )
    yield Thread(first + 500, f"vhost-{first}", "vhost", None, emulator, "other")


def a_guest_case(host: HostCase, *domains: Domain, servers: tuple[Server, ...] = ()) -> GuestCase:
    """Look at the first of a host's domains."""
    fleet = Fleet(Scheduler(NEWEST), (HostClass(host.host, host.names),), servers=servers)
    return next(guest_cases(fleet, domains))


def a_guests_case(
    host: HostCase, *domains: Domain, servers: tuple[Server, ...] = ()
) -> HostGuestsCase:
    """Look at a host with all its domains."""
    fleet = Fleet(Scheduler(NEWEST), (HostClass(host.host, host.names),), servers=servers)
    (case,) = host_guests_cases(fleet, domains)
    return case


def a_waiver() -> WaiverCase:
    """Look at a waiver that holds for a while and that a finding has."""
    expires = TODAY + datetime.timedelta(days=90)
    waiver = Waiver("HC-11", "replaced next quarter", "compute team", expires, host=("cmp-01",))
    return WaiverCase(waiver, TODAY, used=True)
