# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers in the shapes in which clients, Nova's database, Placement and libvirt give them.

The shape is told by the contents, as it is for flavors. Whatever the shape, each server becomes an
entry of our own and is held against its schema. What a shape does not tell stays unknown: the API
knows no pins, a domain's XML no extra specs before release 32.
"""

from __future__ import annotations

import os
import re
import typing as t

from ...module_utils._read import cpu_list
from ...module_utils._read.errors import InputError, quoted
from . import documents, domain_files, inference, loading
from .joining import Guests
from .schema import Path, as_list, as_mapping, check, path_text, plain, within
from .server import Allocation, Server

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .flavor import Flavor, Image
    from .guest_xml import GuestXml

SHAPES = (
    "{format: 1, servers: [...]} of this collection",
    "openstack server list --all-projects --long -f json or server show -f json",
    "servers of the compute API or of openstack.cloud.server_info",
    "rows of Nova's tables instances and instance_extra as JSON",
    "openstack resource provider show --allocations -f json, or {host: {allocations: ...}}",
    "a folder of the domain XML of libvirt, HOST/*.xml",
)
"""The shapes of files of servers, in the words of error messages."""

_Entry = dict[str, t.Any]
"""A server by the keys of our own shape."""

_ADMIN = "the server as administrators see it"
_HOST = ("OS-EXT-SRV-ATTR:host", "compute_host", "host")
_FROM_VOLUME = ("", "N/A (booted from volume)")
_WITH_ID = re.compile(r"(.+) \([^()]+\)", re.DOTALL)
"""A name as older clients print it: ``NAME (ID)``."""

_API_FLAVOR = {
    "name": "original_name",
    "vcpus": "vcpus",
    "ram": "ram",
    "disk": "disk",
    "ephemeral": "ephemeral",
    "swap": "swap",
    "extra_specs": "extra_specs",
}
"""Our key to that of a flavor embedded in a server of the compute API."""
_STORED_FLAVOR = {
    "name": "name",
    "id": "flavorid",
    "vcpus": "vcpus",
    "ram": "memory_mb",
    "disk": "root_gb",
    "ephemeral": "ephemeral_gb",
    "swap": "swap",
    "extra_specs": "extra_specs",
}
"""Our key to that of Nova's object. Source: ``nova/objects/flavor.py``."""
_STATUS = {
    "active": "ACTIVE",
    "building": "BUILD",
    "stopped": "SHUTOFF",
    "paused": "PAUSED",
    "suspended": "SUSPENDED",
    "rescued": "RESCUE",
    "resized": "VERIFY_RESIZE",
    "soft-delete": "SOFT_DELETED",
    "error": "ERROR",
    "shelved": "SHELVED",
    "shelved_offloaded": "SHELVED_OFFLOADED",
}
"""State in the database to status. Source: ``nova/api/openstack/common.py``, ``_STATE_MAP``."""


def read(path: str, flavors: Iterable[Flavor], images: Iterable[Image]) -> Guests:
    """Read the servers, or the allocations, of a file, or the domains of a folder.

    The servers may name ``flavors`` and ``images``. A domain is on the host that its folder is
    named after, whether that is ``path`` or a folder in it.

    Raises ``InputError`` where a file cannot be read, its shape is unknown, or a server is
    incomplete or cannot be.
    """
    folder = os.path.isdir(path)
    if folder or path.endswith(".xml"):
        found = _domain_files(path) if folder else [path]
        builder = documents.ServerBuilder(flavors, images)
        return Guests(tuple(_domain(file, builder) for file in found), guessed=True)
    flavors, images = tuple(flavors), tuple(images)
    parts = [guests(part, flavors, images, path) for part in loading.load_all(path)]
    if not parts:
        raise InputError("the file is empty", "at least one document", path)
    return Guests(
        tuple(server for part in parts for server in part.servers),
        tuple(held for part in parts for held in part.allocations),
        frozenset[str]().union(*(part.told for part in parts)),
    )


def guests(
    document: object, flavors: Iterable[Flavor], images: Iterable[Image], where: str = ""
) -> Guests:
    """Take servers or allocations from one document; ``where`` says what it was read from.

    Raises ``InputError`` as :func:`read` does.
    """
    with within(where):
        given = plain(document)
        ours = isinstance(given, dict) and (
            "format" in given or {"servers", "allocations"} <= given.keys()
        )
        providers = [] if ours else _providers(given)
        held = tuple(found for provider in providers for found in _held(*provider))
        entries = [] if ours or providers else list(_entries(given, ()))
    if ours:
        return Guests(*documents.servers(given, flavors, images, where))
    builder = documents.ServerBuilder(flavors, images)
    servers = tuple(builder.server(entry, path, where) for entry, path in entries)
    return Guests(servers, held, frozenset(host for host, *_rest in providers))


def _entries(given: t.Any, path: Path) -> Iterator[tuple[_Entry, Path]]:
    """Find the servers of a document, whatever its shape, and the paths that lead to them."""
    if isinstance(given, list):
        for index, item in enumerate(given):
            yield from _entries(item, (*path, index))
    elif not isinstance(given, dict):
        raise InputError(
            f"{quoted(given)} has no known shape", "; or ".join(SHAPES), path_text(path)
        )
    elif "servers" in given:
        if given.get("servers_links"):
            raise InputError("further pages are missing", "all pages in one", path_text(path))
        yield from _entries(as_list(given["servers"], (*path, "servers")), (*path, "servers"))
    elif isinstance(given.get("server"), dict):
        yield from _entries(given["server"], (*path, "server"))
    elif not ("uuid" in given and given.get("deleted")):
        entry = _entry(given, path)
        check(entry, "servers:1#/$defs/server", path)
        yield entry, path


def _entry(item: dict[str, t.Any], path: Path) -> _Entry:
    if "uuid" in item and {"flavor", "numa_topology", "vm_state"} & item.keys():
        return _row(item, path)
    if "ID" in item:
        return _listed(item, path)
    if "addresses" in item or any(":" in key for key in item):
        return _shown(item, path)
    if "flavor" in item or "host" in item:
        return item
    raise InputError(f"{quoted(item)} has no known shape", "; or ".join(SHAPES), path_text(path))


def _told(entry: Mapping[str, t.Any]) -> _Entry:
    """Leave out what is not told."""
    return {key: value for key, value in entry.items() if value is not None}


def _listed(item: dict[str, t.Any], path: Path) -> _Entry:
    """Read a row of ``openstack server list --long``."""
    if "Host" not in item:
        accepted = "openstack server list --all-projects --long -f json, as administrator"
        raise InputError("there is no Host", accepted, path_text(path))
    image = item.get("Image Name") or item.get("Image ID")
    return _told(
        {
            "id": item["ID"],
            "name": item.get("Name"),
            "host": item["Host"] or "",
            "status": item.get("Status"),
            "flavor": item.get("Flavor Name", item.get("Flavor")),
            "image": None if image is None or image in _FROM_VOLUME else {"name": image},
        }
    )


def _shown(item: dict[str, t.Any], path: Path) -> _Entry:
    """Read a server of the compute API, or as ``openstack server show`` prints it.

    Source: Nova ``api-ref/source/servers.inc``; microversions 2.47 (flavor) and 2.98 (image).
    """
    key = next((key for key in _HOST if key in item), None)
    if key is None:
        raise InputError(f"there is no {_HOST[0]}", _ADMIN, path_text(path))
    return _told(
        {
            "id": item.get("id"),
            "name": item.get("name"),
            "host": item[key] or "",
            "status": item.get("status"),
            "flavor": _shown_flavor(item.get("flavor"), (*path, "flavor")),
            "image": _shown_image(item.get("image")),
        }
    )


def _without_id(name: str) -> str:
    found = _WITH_ID.fullmatch(name)
    return found[1] if found else name


def _shown_flavor(given: t.Any, path: Path) -> t.Any:
    if isinstance(given, str):
        return _without_id(given)
    if not isinstance(given, dict):
        return given
    if "original_name" not in given:
        accepted = "compute API of microversion 2.47 or newer"
        raise InputError("there is no original_name", accepted, path_text(path))
    if "extra_specs" not in given:
        # Policy keeps them from this user: the flavor of that name has to tell.
        return given["original_name"]
    return _told({ours: given.get(theirs) for ours, theirs in _API_FLAVOR.items()})


def _shown_image(given: t.Any) -> t.Any:
    if given is None or given in _FROM_VOLUME:
        return None
    if isinstance(given, dict):
        name = given.get("name") or given.get("id")
        return _told({"name": name, "properties": given.get("properties")})
    return {"name": _without_id(given)} if isinstance(given, str) else given


def _row(item: dict[str, t.Any], path: Path) -> _Entry:
    """Read a row of Nova's database: columns of ``instances`` and ``instance_extra``.

    Source: ``nova/db/main/models.py``; ``nova/objects/instance.py``.
    """
    host = item.get("host") or ""
    state = item.get("vm_state")
    return _told(
        {
            "id": item["uuid"],
            "name": item.get("display_name"),
            "host": host,
            "status": _STATUS.get(state, "UNKNOWN") if isinstance(state, str) else state,
            "flavor": _stored_flavor(item.get("flavor"), (*path, "flavor")),
            "image": _stored_image(item, (*path, "system_metadata")),
            # Without a host, the cells are those of the guest.
            "cells": _stored_cells(item["numa_topology"], (*path, "numa_topology"))
            if host and "numa_topology" in item
            else None,
        }
    )


def _column(value: t.Any, path: Path) -> dict[str, t.Any] | None:
    """Read a column that holds an object, as JSON text or as itself; None where it holds none."""
    if isinstance(value, str):
        value = next(iter(loading.parse(value, path_text(path))), None)
    return None if value is None else as_mapping(value, path)


def _data(value: t.Any, path: Path) -> dict[str, t.Any]:
    """Take the fields of an object as oslo.versionedobjects writes it."""
    return as_mapping(as_mapping(value, path).get("nova_object.data"), (*path, "nova_object.data"))


def _stored_flavor(given: t.Any, path: Path) -> _Entry:
    column = _column(given, path) or {}
    flavor = _data(column.get("cur"), (*path, "cur"))
    return _told({ours: flavor.get(theirs) for ours, theirs in _STORED_FLAVOR.items()})


def _stored_image(item: dict[str, t.Any], path: Path) -> _Entry | None:
    column = _column(item.get("system_metadata"), path) or {}
    properties = {
        key.removeprefix("image_"): value
        for key, value in column.items()
        if key.startswith("image_")
    }
    name = properties.pop("base_image_ref", None) or "unknown"
    return {"name": name, "properties": properties} if properties else None


def _stored_cells(given: t.Any, path: Path) -> list[_Entry]:
    column = _column(given, path)
    if column is None:
        return []
    at = (*path, "nova_object.data", "cells")
    cells = as_list(_data(column, path).get("cells"), at)
    return [_stored_cell(_data(cell, (*at, i)), (*at, i)) for i, cell in enumerate(cells)]


def _stored_cell(cell: dict[str, t.Any], path: Path) -> _Entry:
    """Read a cell of a guest; its id is that of the host cell that it was fitted to."""
    at = (*path, "cpuset_reserved")
    reserved = as_list(cell.get("cpuset_reserved") or [], at)
    for cpu in reserved:
        if isinstance(cpu, bool) or not isinstance(cpu, int) or not 0 <= cpu < cpu_list.LIMIT:
            raise InputError(f"{quoted(cpu)} is no CPU", "ids of CPUs", path_text(at))
    return _told(
        {
            "host_cell": cell.get("id"),
            "pins": cell.get("cpu_pinning_raw"),
            "reserved": cpu_list.to_text(cpu_list.mask(reserved)),
            "page_size_kb": cell.get("pagesize"),
        }
    )


def _providers(given: t.Any) -> list[tuple[str, dict[str, t.Any], Path]]:
    """Find the resource providers of a document by name; none where its shape is another."""
    if isinstance(given, list) and all(map(_is_provider, given)):
        return [(item["name"], item, (index,)) for index, item in enumerate(given)]
    if not isinstance(given, dict):
        return []
    if _is_provider(given):
        return [(given["name"], given, ())]
    if all(isinstance(item, dict) and "allocations" in item for item in given.values()):
        return [(name, item, (name,)) for name, item in given.items()]
    return []


def _is_provider(given: t.Any) -> bool:
    return isinstance(given, dict) and "allocations" in given and isinstance(given.get("name"), str)


def _held(host: str, given: dict[str, t.Any], path: Path) -> Iterator[Allocation]:
    """Read what consumers hold of a resource provider.

    Source: Placement ``api-ref/source/resource_provider_allocations.inc``.
    """
    at = (*path, "allocations")
    for consumer, answer in as_mapping(given["allocations"], at).items():
        check(consumer, "servers:1#/$defs/id", (*at, consumer))
        here = (*at, consumer, "resources")
        resources = as_mapping(as_mapping(answer, (*at, consumer)).get("resources"), here)
        check(resources, "servers:1#/$defs/resources", here)
        yield Allocation(consumer, host, resources)


def _domain_files(folder: str) -> list[str]:
    """List the XML files of a folder and of the folders in it."""
    found = domain_files.xml_files(folder)
    if not found:
        raise InputError("the folder holds no *.xml", SHAPES[-1], folder)
    return found


def _domain(path: str, builder: documents.ServerBuilder) -> Server:
    """Read the server of one domain."""
    facts = domain_files.described(path)
    with within(path):
        entry = _domain_entry(facts, domain_files.host_of(path))
        check(entry, "servers:1#/$defs/server")
    return builder.server(entry, (), path)


def _domain_entry(facts: dict[str, t.Any], host: str) -> _Entry:
    nova, xml = facts.get("nova", {}), domain_files.guest_xml(facts["xml"])
    if "flavor" not in nova:
        raise InputError("there is no flavor in the metadata", "domains that Nova has made")
    specs = nova.get("extra_specs")
    if specs is None:
        specs = inference.extra_specs(xml)
    properties = nova.get("image_properties")
    isolated = specs.get("hw:emulator_threads_policy") == "isolate"
    image = {"name": nova["image"] or "unknown", "properties": properties}
    return _told(
        {
            "id": facts["id"],
            "name": nova["name"] or facts["name"],
            "host": host,
            "flavor": nova["flavor"] | {"extra_specs": specs},
            "image": _told(image) if nova["image"] or properties else None,
            "cells": _domain_cells(xml, isolated=isolated),
        }
    )


def _domain_cells(xml: GuestXml, *, isolated: bool) -> list[_Entry] | None:
    """List where the cells sit; None where one of them is tied to no single host cell."""
    cells: list[_Entry] = []
    pins = inference.pins(xml)
    for cell in xml.cells:
        host_cells = xml.memnodes.get(cell.id, 0)
        if cpu_list.size(host_cells) != 1:
            return None
        entry = {
            "host_cell": host_cells.bit_length() - 1,
            "pins": {str(v): cpu for v, cpu in pins.items() if cell.vcpus >> v & 1},
            "page_size_kb": xml.backing.pages.get(cell.id),
        }
        cells.append(_told(entry))
    if cells and isolated:
        # Nova keeps the CPU in the first cell of the guest.
        cells[0]["reserved"] = cpu_list.to_text(xml.emulator or 0)
    return cells
