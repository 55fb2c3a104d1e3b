# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers made into what rules look at, and what several rules ask of a server."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.cpu_list import mask
from .._nova.schedule import ask
from . import restarts
from .cases import likeness
from .rule import AllocationCase, ServerCase

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .._model.flavor import Flavor, Image
    from .._model.host import Fleet, Scheduler
    from .._model.server import Allocation, Server
    from .._nova.cloud import Cloud
    from .._nova.resident import Resident
    from .._nova.schedule import Asked, HostView

CPU_CLASSES = ("PCPU", "VCPU")
MIGRATED = ("ACTIVE", "SHUTOFF")
"""Statuses in which Nova migrates a server.

Source: ``nova/compute/api.py``, ``resize``."""
ON_THE_WAY = ("RESIZE", "MIGRATING", "REVERT_RESIZE")
"""Statuses in which the server's own allocation may be on the host that it is to come to."""
MOVING = (*ON_THE_WAY, "VERIFY_RESIZE")
"""Statuses in which a migration holds an allocation beside the server's own."""


class Requests:
    """Boot requests to one scheduler; equal ones are made once."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._made: dict[t.Any, Asked] = {}

    def ask(self, flavor: Flavor, image: Image) -> Asked:
        """Put a request as a move does, which waits for no compute's release."""
        key = alike(flavor, image)
        if key not in self._made:
            self._made[key] = ask(flavor, image, self._scheduler)
        return self._made[key]


def alike(flavor: Flavor, image: Image) -> tuple[t.Any, ...]:
    """Give what servers have in common that ask alike; images of one name may differ."""
    return (*likeness(flavor, image), str(image.properties))


def server_cases(cloud: Cloud, fleet: Fleet) -> Iterator[ServerCase]:
    """Look at every server of a fleet on its host in a cloud; those on no host are left out."""
    requests = Requests(fleet.scheduler)
    occupied: dict[str, dict[str, int]] = {}
    for server in fleet.servers:
        if server.host not in cloud.hosts:
            continue
        here, seen = cloud.residents[server.host][server.id], cloud.hosts[server.host]
        cpus = occupying(here, seen)
        earlier = occupied.setdefault(server.host, {})
        doubled = {other: both for other, theirs in earlier.items() if (both := cpus & theirs)}
        earlier[server.id] = cpus
        asked = requests.ask(server.flavor, server.image)
        yield ServerCase(server, here, seen, fleet.scheduler, asked, cpus, doubled)


def allocation_cases(cloud: Cloud, fleet: Fleet) -> Iterator[AllocationCase]:
    """Look at everything that consumers hold on hosts that they are not on."""
    servers = {server.id: server for server in fleet.servers}
    moving = [server for server in fleet.servers if server.status in MOVING]
    for held in fleet.allocations:
        owner = servers.get(held.consumer)
        if owner is None:
            mover = next((each for each in moving if _as_much(held, each)), None)
            if mover:
                moving.remove(mover)
        else:
            mover = owner if owner.status in MOVING else None
        yield AllocationCase(held, cloud.hosts[held.host], fleet.scheduler, owner, mover)


def _as_much(held: Allocation, server: Server) -> bool:
    """Say whether a consumer holds as much as a server asks for, whatever the class of its CPUs."""
    flavor = server.flavor
    cpus = sum(cpu_amounts(held.resources).values())
    memory_mb = held.resources.get("MEMORY_MB", flavor.memory_mb)
    return cpus - flavor.vcpus in (0, 1) and memory_mb == flavor.memory_mb


def occupying(resident: Resident, seen: HostView) -> int:
    """List the host CPUs that a server takes from other pinned ones (bitmask): those it is pinned
    to, that for its emulator threads and, under thread policy isolate, the siblings of all these.

    None are listed for a server of which nobody told where it sits.

    Source: ``nova/objects/numa.py``, ``NUMACell.pin_cpus_with_siblings``.
    """
    own = restarts.own_cpus(resident)
    if not isolates(resident):
        return own
    cores = (mask(core) for cell in seen.cells or () for core in cell.siblings)
    return own | sum(core for core in cores if core & own)


def isolates(resident: Resident) -> bool:
    """Say whether a server has thread policy isolate."""
    cells = resident.guest.cells if resident.guest else ()
    return any(cell.cpu_thread_policy == "isolate" for cell in cells)


def cpu_amounts(amounts: Mapping[str, int] | None) -> dict[str, int]:
    """Keep of an allocation what it has of CPUs."""
    return {name: amount for name in CPU_CLASSES if (amount := (amounts or {}).get(name, 0))}


def held(case: ServerCase) -> dict[str, int]:
    """Give the CPUs that a server is allocated, of classes that its host has; none where that is
    not known."""
    return {
        name: amount
        for name, amount in cpu_amounts(case.server.allocation).items()
        if case.seen.provider and name in case.seen.provider.inventories
    }


def dedicates(seen: HostView) -> bool:
    """Say whether a host has dedicated CPUs, and so PCPU."""
    return seen.sets is not None and bool(seen.sets.dedicated)


def due(case: ServerCase) -> dict[str, int]:
    """Work out the CPUs that a server should be allocated on its host."""
    guest = case.resident.guest
    if guest is None or not case.resident.pinned:
        primary = case.asked.primary
        asked = primary.resources.get("VCPU", 0) if primary else 0
        return {"VCPU": asked or case.server.flavor.vcpus}
    if not dedicates(case.seen):
        return {"VCPU": case.server.flavor.vcpus}
    pinned = sum(cell.pinned_count for cell in guest.cells)
    return cpu_amounts(
        {
            "PCPU": pinned + (guest.emulator_threads_policy == "isolate"),
            "VCPU": sum(cell.floating_count for cell in guest.cells),
        }
    )


def by_flavor(case: ServerCase) -> bool:
    """Say whether a floating server holds PCPU because its flavor asks for it."""
    asked = case.asked.primary
    return not case.resident.pinned and asked is not None and "PCPU" in asked.resources


def leads_to_vcpu(case: AllocationCase) -> bool:
    """Say whether pinned guests land on VCPU for want of the PCPU that the consumer holds."""
    return bool(
        case.allocation.resources.get("PCPU")
        and case.seen.provider
        and {"PCPU", "VCPU"} <= case.seen.provider.inventories.keys()
        and not case.scheduler.disable_fallback_pcpu_query
    )


def told(amounts: Mapping[str, int]) -> str:
    """Put amounts in words.

    >>> told({"PCPU": 4, "VCPU": 1}), told({})
    ('PCPU 4 and VCPU 1', 'no CPU')
    """
    return " and ".join(f"{name} {amount}" for name, amount in amounts.items()) or "no CPU"


def after_move(case: ServerCase, seen: HostView, resident: Resident) -> ServerCase:
    """Look at a server as it would be on a host that takes it."""
    return dataclasses.replace(
        case,
        server=dataclasses.replace(
            case.server, host=seen.host.name, allocation=resident.allocation
        ),
        resident=resident,
        seen=seen,
        occupied=occupying(resident, seen),
        doubled={},
    )
