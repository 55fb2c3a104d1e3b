# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of hosts and what a cloud tells of them, joined to the document of a fleet."""

from __future__ import annotations

import collections
import dataclasses
import json
import typing as t

from ...module_utils._read.errors import InputError, quoted
from .schema import schema

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .cloud_api import CloudImage, CloudServer, Compute

_Document = dict[str, t.Any]


@dataclasses.dataclass(slots=True)
class Told:
    """What a cloud tells; None where it could not be read."""

    computes: list[Compute] | None = None
    services: dict[str, str] | None = None
    aggregates: dict[str, tuple[str, frozenset[str]]] | None = None
    flavors: list[_Document] | None = None
    images: list[CloudImage] | None = None
    servers: list[CloudServer] | None = None
    dark: int = 0
    """Servers in cells that do not answer."""
    providers: dict[str, _Document] = dataclasses.field(default_factory=dict)
    """By the name of the host in the facts."""


@dataclasses.dataclass(frozen=True, slots=True)
class Match:
    """Which nova-compute the facts of a host belong to."""

    computes: dict[str, Compute]
    """By the name of the host in the facts."""
    strangers: tuple[str, ...] = ()
    """Hosts with facts that the cloud has no nova-compute of."""
    factless: tuple[str, ...] = ()
    """Hosts of the cloud without facts."""


def match(names: Iterable[str], given: Mapping[str, str], computes: Iterable[Compute]) -> Match:
    """Find the nova-compute of each host with facts.

    A host is found by the name that ``given`` has for it, or its own: that of the service or of the
    hypervisor, or else the part of either before the first dot.

    Raises ``InputError`` where a name stands for several, or a nova-compute is found twice.
    """
    computes = list(computes)
    full, short = (_indexed(computes, form) for form in (str.casefold, _short))
    found: dict[str, Compute] = {}
    owners: dict[str, str] = {}
    strangers = []
    for name in names:
        wanted = given.get(name, name)
        hits = full.get(wanted.casefold()) or short.get(_short(wanted), [])
        if not hits:
            strangers.append(name)
            continue
        if len(hits) > 1:
            told = ", ".join(sorted(hit.hypervisor for hit in hits)[:5])
            what = f"{quoted(wanted)} stands for several hypervisors ({told})"
            raise InputError(what, "the full name of one, in names", f"host {name}")
        if hits[0].host in owners:
            what = f"{quoted(hits[0].host)} is the nova-compute of {owners[hits[0].host]} too"
            raise InputError(what, "facts of each host once", f"host {name}")
        owners[hits[0].host] = name
        found[name] = hits[0]
    factless = sorted(compute.host for compute in computes if compute.host not in owners)
    return Match(found, tuple(sorted(strangers)), tuple(factless))


def _short(name: str) -> str:
    return name.casefold().partition(".")[0]


def _indexed(computes: Iterable[Compute], form: t.Callable[[str], str]) -> dict[str, list[Compute]]:
    found: dict[str, list[Compute]] = collections.defaultdict(list)
    for compute in computes:
        for name in dict.fromkeys((form(compute.host), form(compute.hypervisor))):
            found[name].append(compute)
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Joined:
    """The document of a fleet, and what did not get into it."""

    fleet: _Document
    elsewhere: dict[str, int]
    """Servers left out by their host, of which there are no facts."""
    unclear: tuple[str, ...] = ()
    """Ids of servers left out because nothing tells their extra specs."""
    away: tuple[str, ...] = ()
    """Ids of servers left out by their host that hold something on a host with facts."""


def joined(
    facts: Mapping[str, _Document],
    found: Match,
    told: Told,
    scheduler: _Document,
    *,
    allocated: bool = False,
) -> Joined:
    """Make the document of a fleet. Equal hosts are one entry with their names.

    ``allocated`` notes what Placement has allocated on each host; the hosts differ by it then.
    Everything stands in an order of its own, but for extra specs: what Nova makes of them can hang
    on theirs.
    """
    hosts = {
        name: _host(facts[name], name, compute, told, allocated)
        for name, compute in sorted(found.computes.items())
    }
    document: _Document = {"format": 1, "scheduler": scheduler, "hosts": _grouped(hosts)}
    if told.flavors is not None:
        document["flavors"] = told.flavors
    labels = _labels(told.images or ())
    if told.images is not None:
        document["images"] = sorted(
            (
                {"name": labels[image.id], "properties": image.properties}
                for image in told.images
                if image.properties
            ),
            key=lambda image: str(image["name"]),
        )
    elsewhere: collections.Counter[str] = collections.Counter()
    unclear: list[str] = []
    away: set[str] = set()
    if told.servers is not None:
        names = {compute.host: name for name, compute in found.computes.items()}
        entries = _Entries(told, labels, names)
        document["servers"] = []
        for server in sorted(told.servers, key=lambda server: server.id):
            if server.host and server.host not in names:
                elsewhere[server.host] += 1
                away.add(server.id)
            elif entry := entries.entry(server):
                document["servers"].append(entry)
            else:
                unclear.append(server.id)
        left_out = elsewhere.total() + len(unclear) + told.dark
        if left_out:
            document["servers_left_out"] = left_out
        if not told.dark:
            own = document["servers"]
            document["allocations"] = _strangers(told, own, away.union(unclear))
    guests = {key for provider in told.providers.values() for key in provider["allocations"]}
    return Joined(
        document, dict(sorted(elsewhere.items())), tuple(unclear), tuple(sorted(away & guests))
    )


_HOST_KEYS = frozenset(schema("fleet")["$defs"]["host"]["properties"]) - {"format", "name", "names"}


def _host(facts: _Document, name: str, compute: Compute, told: Told, allocated: bool) -> _Document:
    entry = {key: value for key, value in facts.items() if key in _HOST_KEYS}
    provider = told.providers.get(name)
    if provider:
        entry["traits"] = provider["traits"]
        if allocated:
            entry["allocated"] = provider["usages"]
    if told.aggregates is not None:
        entry["aggregates"] = sorted(
            {label for label, hosts in told.aggregates.values() if compute.host in hosts}
        )
    return entry


def _grouped(hosts: Mapping[str, _Document]) -> list[_Document]:
    """Put hosts that are equal in all but name into one entry."""
    groups: dict[str, list[str]] = {}
    for name, entry in hosts.items():
        groups.setdefault(json.dumps(entry, sort_keys=True), []).append(name)
    return [
        ({"names": names} if len(names) > 1 else {"name": names[0]}) | hosts[names[0]]
        for names in groups.values()
    ]


def _labels(images: Iterable[CloudImage]) -> dict[str, str]:
    """Give each image a name of its own by its id: the id joins a name that several have."""
    images = list(images)
    counts = collections.Counter(image.name for image in images)
    return {
        image.id: image.name if counts[image.name] == 1 else f"{image.name[:200]} ({image.id})"
        for image in images
    }


class _Entries:
    """Makes entries of servers; what a list tells already is named alone."""

    def __init__(self, told: Told, labels: Mapping[str, str], names: Mapping[str, str]) -> None:
        self._flavors = {flavor["name"]: _sized(flavor) for flavor in told.flavors or ()}
        self._images = {image.id: image for image in told.images or ()}
        self._providers = told.providers
        self._labels = labels
        self._names = names

    def entry(self, server: CloudServer) -> _Document | None:
        """Make the entry of a server; None where nothing tells its flavor's extra specs."""
        flavor = self._flavor(server.flavor)
        if flavor is None:
            return None
        host = self._names.get(server.host, "")
        entry: _Document = {
            "id": server.id,
            "name": server.name,
            "host": host,
            "status": server.status,
            "flavor": flavor,
        }
        if server.image:
            entry["image"] = self._image(server)
        if host in self._providers:
            entry["allocation"] = self._providers[host]["allocations"].get(server.id, {})
        return entry

    def _flavor(self, embedded: _Document) -> t.Any:
        name, listed = embedded["name"], self._flavors.get(embedded["name"])
        if "extra_specs" not in embedded:
            return name if listed else None
        return name if _sized(embedded) == listed else _sized(embedded)

    def _image(self, server: CloudServer) -> t.Any:
        listed = self._images.get(server.image)
        name = self._labels.get(server.image, server.image)
        # The API tells of no required traits here.
        traits = {k: v for k, v in listed.properties.items() if ":" in k} if listed else {}
        if server.properties is None or (
            listed and server.properties | traits == listed.properties
        ):
            return name if listed and listed.properties else {"name": name}
        return {"name": name, "properties": server.properties | traits}


def _sized(flavor: _Document) -> _Document:
    return {key: value for key, value in flavor.items() if key != "id"}


def _strangers(told: Told, entries: Iterable[_Document], left_out: set[str]) -> list[_Document]:
    """List what consumers hold on a host that they are no server of, but for servers left out."""
    at_home = {(entry["id"], entry["host"]) for entry in entries}
    return [
        {"consumer": consumer, "host": name, "resources": resources}
        for name, provider in sorted(told.providers.items())
        for consumer, resources in provider["allocations"].items()
        if (consumer, name) not in at_home and consumer not in left_out
    ]
