# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers and allocations of several sources, joined to one record of each."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.errors import InputError, quoted
from .flavor import NO_IMAGE
from .schema import nearest
from .server import Allocation, Server

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from .host import HostClass


@dataclasses.dataclass(frozen=True, slots=True)
class Guests:
    """What one source tells."""

    servers: tuple[Server, ...] = ()
    allocations: tuple[Allocation, ...] = ()
    """Of any consumers, servers too."""
    told: frozenset[str] = frozenset()
    """Hosts of which every allocation is told."""
    guessed: bool = False
    """Whether the flavors are inferred; any other source knows better."""


def joined(sources: Iterable[Guests]) -> Guests:
    """Make one record of each server, and give it its allocation.

    What a source leaves open is taken from a later one; inferred flavors come last. What a server
    holds on its own host becomes its allocation: nothing, where the host is told of and the server
    is not among its consumers. All else stays an allocation of its own.

    Raises ``InputError`` where a source has a server twice, where sources put a server on different
    hosts, or where two say what a consumer holds on a host.
    """
    ordered = sorted(sources, key=lambda source: source.guessed)
    servers: dict[str, Server] = {}
    for source in ordered:
        own: set[str] = set()
        for server in source.servers:
            if server.id in own:
                what = f"the server {quoted(server.id)} is given twice"
                raise InputError(what, "each id once", server.where)
            own.add(server.id)
            known = servers.get(server.id)
            servers[server.id] = _completed(known, server) if known else server
    held = _held(allocation for source in ordered for allocation in source.allocations)
    told = frozenset(host for source in ordered for host in source.told)
    return Guests(
        tuple(_with_allocation(server, held, told) for server in servers.values()),
        tuple(held.values()),
        told,
    )


def _completed(server: Server, later: Server) -> Server:
    if server.host != later.host:
        what = f"the server {quoted(server.id)} is on {quoted(later.host)}"
        raise InputError(what, f"{quoted(server.host)} as in {server.where}", later.where)
    return dataclasses.replace(
        server,
        name=server.name or later.name,
        image=later.image if server.image == NO_IMAGE else server.image,
        places=later.places if server.places is None else server.places,
        allocation=later.allocation if server.allocation is None else server.allocation,
    )


def _held(allocations: Iterable[Allocation]) -> dict[tuple[str, str], Allocation]:
    """Key what consumers hold by consumer and host."""
    found: dict[tuple[str, str], Allocation] = {}
    for allocation in allocations:
        key = allocation.consumer, allocation.host
        if key in found:
            what = f"what {quoted(key[0])} holds on {quoted(key[1])} is given twice"
            raise InputError(what, "each consumer once a host", "allocations")
        found[key] = allocation
    return found


def _with_allocation(
    server: Server, held: dict[tuple[str, str], Allocation], told: frozenset[str]
) -> Server:
    """Move what a server holds on its own host from ``held`` to the server."""
    found = held.pop((server.id, server.host), None)
    if server.allocation is not None:
        if found:
            what = f"what the server {quoted(server.id)} holds is given twice"
            raise InputError(what, "its allocation once", server.where)
        return server
    if found is None and server.host not in told:
        return server
    return dataclasses.replace(server, allocation=found.resources if found else {})


def refuse_strangers(guests: Guests, classes: Iterable[HostClass]) -> None:
    """Refuse servers and allocations on hosts that are not there, or in cells that a host lacks.

    Raises ``InputError`` that names the host and the nearest known one.
    """
    hosts = {name: kind.host for kind in classes for name in kind.names}
    for server in guests.servers:
        if not server.host:
            continue
        if server.host not in hosts:
            raise _stranger(server.host, hosts, f"the server {quoted(server.id)}", server.where)
        known = {cell.id for cell in hosts[server.host].topology.cells}
        for place in server.places or ():
            if place.cell not in known:
                what = f"the server {quoted(server.id)} is in cell {place.cell}"
                accepted = f"cells of {server.host}: " + ", ".join(map(str, sorted(known)))
                raise InputError(what, accepted, server.where)
    for held in guests.allocations:
        if held.host not in hosts:
            raise _stranger(
                held.host, hosts, f"the consumer {quoted(held.consumer)}", "allocations"
            )


def _stranger(name: str, hosts: Iterable[str], who: str, where: str) -> InputError:
    near = nearest(name, hosts)
    hint = f" (nearest: {near})" if near else ""
    return InputError(
        f"{who} is on the unknown host {quoted(name)}{hint}", "hosts of the fleet", where
    )
