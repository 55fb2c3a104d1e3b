# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cloud's APIs tell, reduced to what audits need.

Everything is read, nothing changed. Of each answer the keys named here are kept and no others:
user data, metadata, addresses, keys and projects never get further than this file. An answer that
is refused or malformed becomes an ``InputError`` of one line.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t
import urllib.parse

from ...module_utils._read.errors import InputError, quoted
from . import loading
from .schema import as_list, as_mapping, check, path_text, within

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .schema import Path

_Item = dict[str, t.Any]
Version = tuple[int, int]
"""A microversion."""
Say = t.Callable[[int, int], None]
"""Is told how many things are read, and of how many; 0 where that is not known."""


class Api(t.Protocol):
    """The services of a cloud, by their types in its catalog."""

    def newest(self, service: str) -> Version:
        """Give the newest microversion of a service; raises ``InputError`` without the service."""

    def get(self, service: str, path: str, version: str) -> tuple[int, str]:
        """Ask for a path below the endpoint; give status and body."""


@dataclasses.dataclass(frozen=True, slots=True)
class Need:
    """What one part of the reading needs."""

    service: str
    title: str
    """The service, for people."""
    oldest: Version
    """The oldest microversion that tells what is needed; (0, 0) where there are none."""
    why: str
    """What it brings."""
    best: Version
    """The newest one whose answers are known here."""
    policy: str
    """The policy that it takes in the end."""


NEEDS = {
    "hypervisors": Need(
        # Newer ones ask every nova-compute for its uptime.
        "compute",
        "Nova",
        (2, 53),
        "UUIDs of hypervisors",
        (2, 53),
        "os_compute_api:os-hypervisors:list-detail (admin)",
    ),
    "services": Need(
        "compute",
        "Nova",
        (2, 53),
        "UUIDs of services",
        (2, 53),
        "os_compute_api:os-services:list (admin)",
    ),
    "aggregates": Need(
        "compute",
        "Nova",
        (2, 41),
        "UUIDs of aggregates",
        (2, 41),
        "os_compute_api:os-aggregates:index (admin)",
    ),
    "flavors": Need(
        "compute",
        "Nova",
        (2, 61),
        "extra specs in flavors",
        (2, 98),
        "os_compute_api:os-flavor-extra-specs:index (reader)",
    ),
    "servers": Need(
        "compute",
        "Nova",
        (2, 47),
        "flavors in servers",
        (2, 98),
        "os_compute_api:servers:detail:get_all_tenants (admin)",
    ),
    "images": Need("image", "Glance", (0, 0), "", (0, 0), "get_images (reader)"),
    "providers": Need(
        "placement",
        "Placement",
        (1, 17),
        "roots of providers",
        (1, 36),
        "placement:resource_providers:list and those of inventories, traits, usages, aggregates"
        " and allocations (admin or service)",
    ),
}
"""The parts, by name. Sources: Nova ``rest_api_version_history.rst``, ``nova/policies``; Placement
``rest_api_version_history.rst``, ``placement/policies``."""

PAGE = 1000
"""Items asked for at once; the service may give fewer."""
MOST = 2_000_000
"""Items that one list may have."""
_REFUSALS = {
    401: "the token is not accepted",
    403: "the user may not read this",
    404: "there is no such API",
    406: "the microversion is refused",
    413: "too many requests",
    429: "too many requests",
}
_SIZES = ("vcpus", "ram", "disk", "ephemeral", "swap")
_PROPERTY = re.compile(r"(?:hw_|trait:).+")
_PROPERTIES = frozenset(
    {"architecture", "hypervisor_type", "img_hv_type", "os_secure_boot", "os_type", "vm_mode"}
)
_HOST = "OS-EXT-SRV-ATTR:host"
_STATUS = re.compile(r"[A-Z_]{1,64}")


@dataclasses.dataclass(frozen=True, slots=True)
class Compute:
    """A nova-compute with its hypervisor."""

    host: str
    """Name of the service's host, as servers and aggregates have it."""
    hypervisor: str
    """Name of the hypervisor, as Placement has it."""
    provider: str = ""
    """UUID of both; "" where unknown."""
    state: str = ""
    status: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class CloudImage:
    """An image by its id."""

    id: str
    name: str
    properties: dict[str, t.Any]


@dataclasses.dataclass(frozen=True, slots=True)
class CloudServer:
    """A server of any project."""

    id: str
    name: str
    host: str
    """Name of the service's host; "" where it is on none."""
    status: str
    flavor: _Item
    """The embedded one by the keys of our own shape, without ``extra_specs`` where untold."""
    image: str
    """Id of the image; "" for a server that was booted from a volume."""
    properties: dict[str, t.Any] | None
    """Those that the image had at boot; None where untold."""


def computes(api: Api) -> list[Compute]:
    """List the hypervisors, without those of bare metal."""
    found = []
    for item, path in _pages(api, "hypervisors", "/os-hypervisors/detail", "hypervisors", "id"):
        if item.get("hypervisor_type") == "ironic":
            continue
        service = as_mapping(item.get("service"), (*path, "service"))
        found.append(
            Compute(
                _text(service, "host", path),
                _text(item, "hypervisor_hostname", path),
                _key(item, "id", path),
                str(item.get("state", "")),
                str(item.get("status", "")),
            )
        )
    return found


def services(api: Api) -> dict[str, str]:
    """Give the state of each nova-compute by its host: up or down, and whether it is disabled."""
    answer = _document(api, "services", "/os-services?binary=nova-compute")
    found = {}
    for item, path in _items(answer, "services"):
        state, status = (str(item.get(key, "")) for key in ("state", "status"))
        found[_text(item, "host", path)] = f"{state}, {status}" if status == "disabled" else state
    return found


def aggregates(api: Api) -> dict[str, tuple[str, frozenset[str]]]:
    """Give name and hosts of each aggregate by its UUID."""
    found = {}
    for item, path in _items(_document(api, "aggregates", "/os-aggregates"), "aggregates"):
        hosts = as_list(item.get("hosts"), (*path, "hosts"))
        found[_key(item, "uuid", path)] = (
            _text(item, "name", path),
            frozenset(str(host) for host in hosts),
        )
    return found


def flavors(api: Api, say: Say) -> list[_Item]:
    """List the flavors, those of single projects too, by the keys of our own shape.

    Raises ``InputError`` where extra specs are withheld: flavors would be misjudged without.
    """
    path = "/flavors/detail?is_public=None"
    found = [_flavor(item, at) for item, at in _pages(api, "flavors", path, "flavors", "id", say)]
    if any("extra_specs" not in flavor for flavor in found):
        what = "the user may not read extra specs"
        raise InputError(what, NEEDS["flavors"].policy, NEEDS["flavors"].title)
    return sorted(found, key=lambda flavor: str(flavor["name"]))


def images(api: Api, say: Say) -> list[CloudImage]:
    """List the images that servers can be booted from, hidden ones too, with what concerns CPUs."""
    found = []
    for hidden in ("false", "true"):
        path = f"/images?visibility=all&os_hidden={hidden}"
        for item, at in _pages(api, "images", path, "images", "id", say):
            if item.get("status") in ("active", "deactivated"):
                name = item.get("name")
                key = _key(item, "id", at)
                name = name if isinstance(name, str) and name else key
                found.append(CloudImage(key, name[:255], properties(item, at)))
    return found


def properties(given: _Item, path: Path) -> dict[str, t.Any]:
    """Take those properties of an image that are about CPUs, memory and placement."""
    found = {
        key: value
        for key, value in given.items()
        if (key in _PROPERTIES or _PROPERTY.fullmatch(key)) and value is not None
    }
    check({"name": "image", "properties": found}, "images:1#/$defs/image", path)
    return dict(sorted(found.items()))


def servers(api: Api, say: Say) -> tuple[list[CloudServer], int]:
    """List the servers of all projects, and count those in cells that do not answer.

    Raises ``InputError`` where the hosts of servers are withheld.
    """
    path = "/servers/detail?all_tenants=True&sort_key=uuid&sort_dir=asc"
    found, dark = [], 0
    for item, at in _pages(api, "servers", path, "servers", "id", say):
        if "flavor" not in item or item.get("status") == "UNKNOWN":
            dark += 1
            continue
        if _HOST not in item:
            what = "the user may not read the hosts of servers"
            accepted = "os_compute_api:os-extended-server-attributes (admin)"
            raise InputError(what, accepted, NEEDS["servers"].title)
        image = item.get("image") or {}
        image = as_mapping(image, (*at, "image"))
        told = image.get("properties")
        status = item.get("status")
        if not isinstance(status, str) or not _STATUS.fullmatch(status):
            raise InputError(f"{quoted(status)} is no status", "", path_text((*at, "status")))
        name = item.get("name")
        found.append(
            CloudServer(
                _key(item, "id", at),
                name[:255] if isinstance(name, str) else "",
                str(item[_HOST] or ""),
                status,
                _flavor(as_mapping(item["flavor"], (*at, "flavor")), (*at, "flavor")),
                _key(image, "id", (*at, "image")) if image else "",
                None
                if told is None
                else properties(
                    as_mapping(told, (*at, "image", "properties")), (*at, "image", "properties")
                ),
            )
        )
    return found, dark


def roots(api: Api) -> dict[str, str]:
    """Give the UUIDs of the root providers by their names."""
    answer = _document(api, "providers", "/resource_providers")
    return {
        _text(item, "name", path): key
        for item, path in _items(answer, "resource_providers")
        if (key := _key(item, "uuid", path)) == item.get("root_provider_uuid")
    }


def provider(api: Api, key: str) -> _Item:
    """Read a provider: inventories, usages, traits, aggregates, and allocations by consumer."""
    found: _Item = {"uuid": key}
    for part in ("inventories", "usages", "traits", "aggregates", "allocations"):
        path = f"/resource_providers/{key}/{part}"
        answer = _document(api, "providers", path)
        with within(f"Placement, GET {path}: the answer is not Placement's"):
            check(answer, f"placement:1#/$defs/{part}")
        found[part] = answer[part]
    found["inventories"] = {
        name: {key: value for key, value in sorted(inventory.items()) if key in _INVENTORY}
        for name, inventory in sorted(found["inventories"].items())
    }
    found["usages"] = {name: used for name, used in sorted(found["usages"].items()) if used}
    found["traits"] = sorted(found["traits"])
    found["aggregates"] = sorted(found["aggregates"])
    found["allocations"] = {
        consumer: dict(sorted(held["resources"].items()))
        for consumer, held in sorted(found["allocations"].items())
    }
    return found


_INVENTORY = frozenset(
    {"total", "reserved", "allocation_ratio", "min_unit", "max_unit", "step_size"}
)


def _flavor(item: _Item, path: Path) -> _Item:
    """Take a flavor, listed or embedded; an API without swap writes an empty text."""
    given = {
        "name": item.get("original_name", item.get("name")),
        "id": item.get("id"),
        **{key: item.get(key) for key in _SIZES},
        "ephemeral": item.get("ephemeral", item.get("OS-FLV-EXT-DATA:ephemeral")),
        "swap": item.get("swap") or 0,
        "extra_specs": item.get("extra_specs"),
    }
    found = {key: value for key, value in given.items() if value is not None}
    check(found, "flavors:1#/$defs/flavor", path)
    return found


def _pages(
    api: Api, part: str, path: str, name: str, key: str, say: Say | None = None
) -> Iterator[tuple[_Item, Path]]:
    """List the items of every page; the last one of a page is where the next one starts."""
    link, marker = f"{name}_links", ""
    seen: set[str] = set()
    while True:
        query = {"limit": PAGE} | ({"marker": marker} if marker else {})
        joint = "&" if "?" in path else "?"
        answer = _document(api, part, f"{path}{joint}{urllib.parse.urlencode(query)}")
        count = len(seen)
        for item, at in _items(answer, name):
            marker = _text(item, key, at)
            if marker not in seen:
                seen.add(marker)
                yield item, at
        if say:
            say(len(seen), 0)
        if not (answer.get(link) if NEEDS[part].service == "compute" else answer.get("next")):
            return
        if len(seen) == count or len(seen) > MOST:
            what = "the pages do not end" if len(seen) > count else "a page comes again and again"
            raise InputError(what, f"lists of up to {MOST}", _where(part, path))


def _document(api: Api, part: str, path: str) -> _Item:
    need = NEEDS[part]
    version = ""
    if need.oldest > (0, 0):
        newest = api.newest(need.service)
        if newest < need.oldest:
            what = f"{need.title} knows microversions up to {_dotted(newest)}"
            raise InputError(what, f"{_dotted(need.oldest)}, {need.why}", "")
        version = _dotted(min(newest, need.best))
    status, body = api.get(need.service, path, version)
    where = _where(part, path)
    if status != 200:
        accepted = need.policy if status == 403 else ""
        raise InputError(f"{_REFUSALS.get(status, 'it failed')} (status {status})", accepted, where)
    with within(f"{where}: the answer is not {need.title}'s"):
        return as_mapping(loading.parse_json(body), ())


def _where(part: str, path: str) -> str:
    return f"{NEEDS[part].title}, GET {path.partition('?')[0]}"


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _items(answer: _Item, name: str) -> Iterator[tuple[_Item, Path]]:
    for index, item in enumerate(as_list(answer.get(name), (name,))):
        yield as_mapping(item, (name, index)), (name, index)


def _text(item: _Item, key: str, path: Path) -> str:
    value = item.get(key)
    if not isinstance(value, str) or not 0 < len(value) < 256:
        raise InputError(
            f"{quoted(value)} is out of place",
            "a text of 1 to 255 characters",
            path_text((*path, key)),
        )
    return value


def _key(item: _Item, key: str, path: Path) -> str:
    value = item.get(key)
    check(value, "servers:1#/$defs/id", (*path, key))
    return str(value)
