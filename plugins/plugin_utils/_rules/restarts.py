# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What several rules ask of a restart: the CPUs that servers hold, and the sets that keep them."""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import mask, parse_nova, to_text
from .._nova import inventory
from .._nova.errors import NovaError
from .._nova.releases import release as release_of
from .._nova.schedule import unbuildable
from . import host_sets, hosts

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from .._nova.inventory import CpuSets
    from .._nova.resident import Resident
    from .._nova.schedule import HostView
    from .rule import RestartCase

PIN_ERRORS = ("CPUPinningUnknown", "CPUPinningInvalid")
"""What an update fails with over a server's pins."""

INVENTORY_ERRORS = ("PlacementPciException", "ResourceProviderSyncFailed", "ReshapeFailed")
"""What comes of an inventory that Placement does not take."""

STALE = (
    "nova-compute runs, but each of its updates fails: {}; scheduler and Placement keep what they "
    "knew of the host before, and boots that they send fail there"
)

AT_REST = ("SHUTOFF", "SHELVED", "SHELVED_OFFLOADED", "DELETED", "SOFT_DELETED")
"""Statuses of servers that run nothing on their host."""

SHOWN = 5
"""Servers that a list names; it counts the rest."""


def sets(case: RestartCase) -> CpuSets | None:
    """Sort the CPUs as the restarted nova-compute does; None where it cannot."""
    try:
        release = release_of(case.host.release, host=True)
        return inventory.cpu_sets(case.host.config, case.host.topology, release)
    except NovaError:
        return None


def own_cpus(resident: Resident) -> int:
    """List the host CPUs of a server's pins and emulator threads (bitmask)."""
    if resident.holder is None:
        return 0
    found = 0
    for pinning in resident.holder.pinnings():
        if pinning is not None:
            found |= mask(pinning.pins.values())
            found |= 0 if pinning.reserved is None else 1 << pinning.reserved
    return found


def kept_siblings(case: RestartCase, resident: Resident) -> int:
    """List the thread siblings that a server with policy isolate keeps free (bitmask).

    Those that nobody could be pinned to before are none of them.
    """
    if resident.guest is None or not any(
        cell.cpu_thread_policy == "isolate" for cell in resident.guest.cells
    ):
        return 0
    own = own_cpus(resident)
    known = case.before.sets.pinnable if case.before.sets else case.host.topology.online
    return host_sets.whole_cores(case.host.topology, own) & known & ~own


def held(case: RestartCase) -> int:
    """List all CPUs that servers hold for themselves (bitmask)."""
    found = 0
    for resident in case.residents:
        found |= own_cpus(resident) | kept_siblings(case, resident)
    return found


def held_twice(case: RestartCase) -> tuple[Resident, ...]:
    """List the servers that hold a CPU which another of them holds too."""
    each_holds = [(each, own_cpus(each) | kept_siblings(case, each)) for each in case.residents]
    once = twice = 0
    for _resident, cpus in each_holds:
        twice |= once & cpus
        once |= cpus
    return tuple(resident for resident, cpus in each_holds if cpus & twice)


def where_pinned(case: RestartCase) -> str:
    """Say where the option stands that lists the CPUs for pinned vCPUs."""
    config = case.host.config
    return config.where("vcpu_pin_set" if config.vcpu_pin_set else "cpu_dedicated_set")


def floats(resident: Resident) -> int:
    """Count the floating vCPUs of a server with NUMA topology; 0 for one without."""
    cells = resident.guest.cells if resident.guest else ()
    return sum(cell.floating_count for cell in cells)


def not_again(resident: Resident, seen: HostView) -> str:
    """Say why a server could not be started again on a host with the options of ``seen``, though
    it runs on; "" where it could.

    Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``: a floating vCPU is bound to
    the shared CPUs of its cell, and libvirt takes no empty list.
    """
    holder = resident.holder if resident.guest else None
    seats = [seat.cell for seat in holder.seats] if holder else []
    error = unbuildable(resident.guest, resident.flavor, resident.image, seen, seats)
    return error.text if error else ""


def floats_anew(resident: Resident, before: HostView, after: HostView) -> int:
    """List the CPUs that vCPUs or emulator threads of a running server float over, and that become
    dedicated (bitmask). Those of a host that served nothing before are not known: all that do."""
    if after.sets is None or resident.status in AT_REST:
        return 0
    floating = not resident.pinned or floats(resident)
    shares = resident.guest is not None and resident.guest.emulator_threads_policy == "share"
    if before.sets is None:
        return after.sets.dedicated if floating or shares else 0
    found = before.sets.shared & after.sets.dedicated if floating else 0
    if shares and before.host.config.cpu_shared_set:
        found |= parse_nova(before.host.config.cpu_shared_set) & after.sets.dedicated
    return found


def with_shared(case: RestartCase, found: CpuSets) -> str:
    """Give floating servers CPUs that they run on already, or else a free core of each cell: an
    isolated one only where there is no other."""
    topology, own = case.host.topology, held(case)
    dedicated = found.dedicated | own
    before = case.before.sets.shared if case.before.sets else 0
    shared = before & topology.online & ~dedicated
    if not shared:
        balanced = ~hosts.isolated_on(case.host)
        free, outside = dedicated & ~own, topology.online & ~dedicated
        outside &= ~host_sets.whole_cores(topology, 1)
        shared = host_sets.best_cores(topology, free & balanced, outside & balanced, free)
    if not shared:
        return "[compute]\ncpu_shared_set = (CPUs that no server is pinned to)"
    options = {"cpu_shared_set": shared}
    if dedicated & ~shared != found.dedicated:
        options["cpu_dedicated_set"] = dedicated & ~shared
    return host_sets.snippet(**options)


def keeping(case: RestartCase, found: CpuSets) -> str:
    """Write the least change of the options that leaves every server the CPUs that it holds."""
    kept = held(case) & case.host.topology.online
    if case.host.config.vcpu_pin_set:
        return f"[DEFAULT]\nvcpu_pin_set = {to_text(found.pinnable | kept)}"
    floating = any(not each.pinned or floats(each) for each in case.residents)
    if floating and not found.shared & ~kept:
        return with_shared(case, found)
    options = {"cpu_dedicated_set": found.dedicated | kept}
    if found.shared & kept and case.host.config.cpu_shared_set:
        options["cpu_shared_set"] = found.shared & ~kept
    return host_sets.snippet(**options)


def servers(found: Iterable[Resident], verb: str = "", one: str = "") -> str:
    """Name servers, the first few and how many more, with a verb that agrees with their number.

    ``one`` is the verb for one server, where that is not ``verb`` with an s.
    """
    ids = [each.consumer for each in found]
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    told = f"server{'s' if len(ids) > 1 else ''} {', '.join(ids[:SHOWN])}{more}"
    agreed = verb if len(ids) > 1 or not verb else one or f"{verb}s"
    return f"{told} {agreed}".rstrip()


def moves(found: Iterable[Resident]) -> str:
    """Write the commands that migrate servers."""
    return f"{commands('migrate', found)}\n(then for each: openstack server migration confirm ID)"


def commands(command: str, found: Iterable[Resident]) -> str:
    """Write a command for each server: for the first few, and for how many more."""
    ids = [each.consumer for each in found]
    lines = [f"openstack server {command} {consumer}" for consumer in ids[:SHOWN]]
    if len(ids) > SHOWN:
        lines.append(f"(and so on, {len(ids)} servers in all)")
    return "\n".join(lines)
