# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents to values: hosts, fleets, and flavors, images and servers in our own shape.

A document is what JSON or YAML gives. It is first copied as plain JSON values, then held against
its schema, then against what a schema cannot say; whatever is wrong becomes an ``InputError`` that
names the key. ``where`` is put in front of that: a file, or whatever the document came from.
"""

from __future__ import annotations

import functools
import hashlib
import json
import typing as t

from ...module_utils._read import cpu_list
from ...module_utils._read.errors import InputError, quoted
from .config_options import config
from .cpu_texts import cpu_set
from .flavor import NO_IMAGE, Flavor, Image
from .host import CellUsage, Fleet, Host, HostClass, PagesInUse, Scheduler
from .host_kernel import cgroups, isolation, kernel, libvirt, without_noise
from .joining import Guests, joined, refuse_strangers
from .schema import Path, check, nearest, path_text, plain, within
from .server import Allocation, CellPlace, Server
from .topology import Cpu, NumaCell, PagePool, Topology

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_Document = dict[str, t.Any]
_Read = t.TypeVar("_Read")


def host(document: object, name: str, default_release: str, where: str = "") -> Host:
    """Build a host from its facts; ``default_release`` is taken where they name none."""
    with within(where):
        facts = plain(document)
        check(facts, "host:1")
        return _host(without_noise(facts), name, default_release, ())


def topology(document: object, where: str = "") -> Topology:
    """Build the topology of a host from its part of the facts."""
    with within(where):
        facts = plain(document)
        check(facts, "host:1#/$defs/topology")
        return _topology(facts, ())


def classes(
    named: Iterable[tuple[str, object]], default_release: str, where: str = ""
) -> tuple[HostClass, ...]:
    """Group hosts, given as pairs of name and facts, by all but the name.

    The facts are consumed one by one, and only one host of a class is kept.

    Raises ``InputError`` where there is no host, or two of one name.
    """
    grouping = _Grouping(default_release)
    for name, document in named:
        with within(f"{where}: host {name}" if where else f"host {name}"):
            facts = plain(document)
            grouping.add((name,), facts, "host:1", ())
    with within(where):
        return grouping.classes()


def fleet(
    document: object,
    default_release: str = "",
    where: str = "",
    flavors: Iterable[Flavor] = (),
    images: Iterable[Image] = (),
) -> Fleet:
    """Build a fleet from its document.

    ``default_release`` is the scheduler's release where the document names none. It is also that
    of hosts that name none, unless the document gives the scheduler's. Its servers may name
    ``flavors`` and ``images`` besides those of the document.
    """
    with within(where):
        # Hosts are copied one by one and equal ones checked once, below; one stands for all here.
        hosts: list[t.Any] | None = None
        if isinstance(document, dict) and isinstance(document.get("hosts"), list):
            hosts = document["hosts"]
            document = {**document, "hosts": hosts[:1]}
        given = plain(document)
        check(given, "fleet:1")
        control = given.get("scheduler", {})
        release = str(control.get("release", default_release))
        if not release:
            raise InputError("the key 'release' is missing", "a Nova release", "scheduler")
        grouping = _Grouping(release)
        for index, entry in enumerate(hosts or given["hosts"]):
            path: Path = ("hosts", index)
            names, facts = _names(plain(entry), path)
            grouping.add(names, facts, "fleet:1#/$defs/host", path)
        scheduler = Scheduler(
            release,
            control.get("disable_fallback_pcpu_query", False),
            control.get("numa_topology_filter", True),
        )
        found = grouping.classes()
    own_flavors = _flavors(given.get("flavors", []), where)
    own_images = _images(given.get("images", []), where)
    builder = ServerBuilder((*own_flavors, *flavors), (*own_images, *images))
    guests = joined([_guests(given, builder, where)])
    refuse_strangers(guests, found)
    return Fleet(
        scheduler,
        found,
        own_flavors,
        own_images,
        guests.servers,
        guests.allocations,
        given.get("servers_left_out", 0) if "servers" in given else None,
    )


def flavors(document: object, where: str = "") -> tuple[Flavor, ...]:
    """Build flavors from a document in our own shape."""
    with within(where):
        given = plain(document)
        check(given, "flavors:1")
    return _flavors(given["flavors"], where)


def images(document: object, where: str = "") -> tuple[Image, ...]:
    """Build images from a document in our own shape."""
    with within(where):
        given = plain(document)
        check(given, "images:1")
    return _images(given["images"], where)


def servers(
    document: object, flavors: Iterable[Flavor], images: Iterable[Image], where: str = ""
) -> tuple[tuple[Server, ...], tuple[Allocation, ...]]:
    """Build servers, and allocations of other consumers, from a document in our own shape.

    The servers may name ``flavors`` and ``images``.
    """
    with within(where):
        given = plain(document)
        check(given, "servers:1")
    guests = joined([_guests(given, ServerBuilder(flavors, images), where)])
    return guests.servers, guests.allocations


def _guests(given: _Document, builder: ServerBuilder, where: str) -> Guests:
    return Guests(
        tuple(
            builder.server(entry, ("servers", index), where)
            for index, entry in enumerate(given.get("servers", []))
        ),
        tuple(
            Allocation(entry["consumer"], entry["host"], entry["resources"])
            for entry in given.get("allocations", [])
        ),
    )


class ServerBuilder:
    """Makes servers of entries that fit the schema; equal flavors become one value."""

    def __init__(self, flavors: Iterable[Flavor], images: Iterable[Image]) -> None:
        self._flavors = {flavor.name: flavor for flavor in flavors}
        self._images = {image.name: image for image in images}
        self._embedded: dict[str, Flavor] = {}

    def server(self, entry: _Document, path: Path, where: str) -> Server:
        """Make a server of its entry, to which ``path`` leads within ``where``.

        Raises ``InputError`` for flavors and images that are unknown or unfit, and for pins that
        cannot be.
        """
        with within(where):
            flavor = self._flavor(entry["flavor"], (*path, "flavor"), where)
            cells = entry.get("cells")
            return Server(
                entry["id"],
                entry.get("name", ""),
                entry["host"],
                flavor,
                self._image(entry["image"], (*path, "image"), where)
                if "image" in entry
                else NO_IMAGE,
                entry.get("status", "ACTIVE"),
                None if cells is None else _places(cells, flavor, (*path, "cells")),
                entry.get("allocation"),
                origin(where, path),
            )

    def _flavor(self, given: t.Any, path: Path, where: str) -> Flavor:
        if isinstance(given, str):
            return _named(given, self._flavors, "flavor", path)
        key = json.dumps(given)
        if key not in self._embedded:
            check(given, "flavors:1#/$defs/flavor", path)
            self._embedded[key] = flavor_of(given, origin(where, path))
        return self._embedded[key]

    def _image(self, given: t.Any, path: Path, where: str) -> Image:
        if isinstance(given, str):
            return _named(given, self._images, "image", path)
        check(given, "images:1#/$defs/image", path)
        if "properties" not in given and given["name"] in self._images:
            return self._images[given["name"]]
        return _image(given, origin(where, path))


def _named(name: str, known: Mapping[str, _Read], kind: str, path: Path) -> _Read:
    if name in known:
        return known[name]
    near = nearest(name, known)
    what = f"there is no {kind} {quoted(name)}" + (f" (nearest: {near})" if near else "")
    raise InputError(what, f"the name of a known {kind}, or the {kind} itself", path_text(path))


def _places(cells: list[_Document], flavor: Flavor, path: Path) -> tuple[CellPlace, ...]:
    vcpus: set[int] = set()
    cpus: set[int] = set()
    places = []
    for index, cell in enumerate(cells):
        at = (*path, index)
        pins = {int(vcpu): cpu for vcpu, cpu in cell.get("pins", {}).items()}
        for vcpu, cpu in pins.items():
            fault = (
                f"the flavor {quoted(flavor.name)} has no vCPU {vcpu}"
                if vcpu >= flavor.vcpus
                else f"vCPU {vcpu} is pinned twice"
                if vcpu in vcpus
                else f"CPU {cpu} is taken by two vCPUs"
                if cpu in cpus
                else ""
            )
            if fault:
                accepted = f"vCPUs 0 to {flavor.vcpus - 1}, each once and on a CPU of its own"
                raise InputError(fault, accepted, path_text((*at, "pins", str(vcpu))))
            vcpus.add(vcpu)
            cpus.add(cpu)
        reserved = cpu_set(cell.get("reserved"), (*at, "reserved"))
        places.append(CellPlace(cell["host_cell"], pins, reserved, cell.get("page_size_kb")))
    return tuple(places)


def extra_spec(value: object) -> str:
    """Write the value of an extra spec as the text that reaches Nova.

    YAML gives numbers and booleans for unquoted values; the clients send what ``str`` makes of
    them, and Nova reads ``True`` as it reads ``true``.

    Source: ``openstack.cloud`` ``plugins/modules/compute_flavor.py``.
    """
    return str(value)


class _Grouping:
    """Hosts by what they are, whatever they are called."""

    def __init__(self, default_release: str) -> None:
        self._default_release = default_release
        self._found: dict[bytes, tuple[Host, list[str]]] = {}
        self._names: set[str] = set()

    def add(self, names: tuple[str, ...], facts: t.Any, reference: str, path: Path) -> None:
        """Take in hosts of the given names and plain facts; check facts not seen before."""
        for name in names:
            if name in self._names:
                raise InputError(f"there are two hosts {quoted(name)}", "", path_text(path))
            self._names.add(name)
        facts = without_noise(facts)
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
        key = hashlib.sha256(text.encode()).digest()
        if key not in self._found:
            named = {**facts, "name": names[0]} if path else facts
            check(named, reference, path)
            self._found[key] = (_host(facts, names[0], self._default_release, path), [])
        self._found[key][1].extend(names)

    def classes(self) -> tuple[HostClass, ...]:
        """List the classes in the order in which they were first seen."""
        if not self._found:
            raise InputError("there is no host", "at least one compute host")
        return tuple(HostClass(host, tuple(names)) for host, names in self._found.values())


def _names(entry: t.Any, path: Path) -> tuple[tuple[str, ...], t.Any]:
    """Split an entry of the list of hosts in its names and what is left."""
    if not isinstance(entry, dict) or ("name" in entry) == ("names" in entry):
        check(entry, "fleet:1#/$defs/host", path)
    key = "name" if "name" in entry else "names"
    given = entry[key]
    names = given if isinstance(given, list) else [given]
    if isinstance(given, list) != (key == "names") or not all(
        isinstance(name, str) and 0 < len(name) < 256 for name in names
    ):
        check(entry, "fleet:1#/$defs/host", path)
    if not names:
        raise InputError("the list is empty", "at least one name", path_text((*path, key)))
    return tuple(names), {k: value for k, value in entry.items() if k != key}


def _within(cpus: int, allowed: int, what: str, path: Path) -> int:
    if cpus & ~allowed:
        raise InputError(
            f"CPU {cpu_list.to_text(cpus & ~allowed)} is not {what}",
            cpu_list.to_text(allowed) or "none",
            path_text(path),
        )
    return cpus


def _disjoint(groups: Iterable[tuple[Path, int]], what: str) -> None:
    """Refuse a CPU that is in two of ``groups``."""
    seen = 0
    for path, cpus in groups:
        if cpus & seen:
            raise InputError(
                f"CPU {cpu_list.to_text(cpus & seen)} is in another {what} too",
                f"each CPU in one {what}",
                path_text(path),
            )
        seen |= cpus


def _topology(facts: _Document, path: Path) -> Topology:
    online = cpu_set(facts["online"], (*path, "online"))
    present = cpu_set(facts.get("present", facts["online"]), (*path, "present"))
    isolated = facts.get("isolated")
    _within(online, present, "present", (*path, "online"))

    def listed(keyed: Iterable[tuple[Path, t.Any]]) -> list[tuple[Path, int]]:
        return [(at, _within(cpu_set(value, at), online, "online", at)) for at, value in keyed]

    cores = listed(
        ((*path, "siblings", i), value) for i, value in enumerate(facts.get("siblings", []))
    )
    sockets = [
        ((*path, "sockets", key), cpu_set(value, (*path, "sockets", key)))
        for key, value in facts.get("sockets", {}).items()
    ]
    cells = listed(
        ((*path, "cells", i, "cpus"), cell["cpus"]) for i, cell in enumerate(facts["cells"])
    )
    _disjoint(cores, "core")
    _disjoint(sockets, "socket")
    _disjoint(cells, "cell")
    _distinct((((*path, "cells", i, "id"), cell["id"]) for i, cell in enumerate(facts["cells"])))
    threads = tuple(core for _rest, core in cores)
    places = tuple((int(at[-1]), members) for at, members in sockets)
    return Topology(
        tuple(
            NumaCell(
                cell["id"],
                _cell_cpus(cpus, threads, places),
                cell["memory_mb"],
                tuple(PagePool(size, total) for size, total in _pages(cell)),
            )
            for cell, (_rest, cpus) in zip(facts["cells"], cells, strict=True)
        ),
        online,
        present,
        None if isolated is None else cpu_set(isolated, (*path, "isolated")),
    )


@functools.lru_cache(maxsize=256)
def _cell_cpus(
    cpus: int, cores: tuple[int, ...], sockets: tuple[tuple[int, int], ...]
) -> tuple[Cpu, ...]:
    """List the CPUs of a cell; hosts whose CPUs are the same share them."""
    siblings = {}
    for core in cores:
        if core & cpus:
            threads = tuple(cpu_list.ids(core))
            siblings.update(dict.fromkeys(threads, threads))
    places = {cpu: place for place, members in sockets for cpu in cpu_list.ids(members & cpus)}
    return tuple(Cpu(cpu, siblings.get(cpu, (cpu,)), places.get(cpu)) for cpu in cpu_list.ids(cpus))


def _distinct(ids: Iterable[tuple[Path, int]]) -> None:
    seen: set[int] = set()
    for path, number in ids:
        if number in seen:
            raise InputError(f"cell {number} is given twice", "each cell once", path_text(path))
        seen.add(number)


def _pages(cell: Mapping[str, t.Any]) -> list[tuple[int, int]]:
    """List page sizes, KiB, and numbers of pages, by size as libvirt does."""
    return sorted((int(size), count) for size, count in cell.get("pages", {}).items())


def _host(facts: _Document, name: str, default_release: str, path: Path) -> Host:
    hardware = _topology(facts["topology"], (*path, "topology"))
    nova = facts.get("nova", {})
    last = hardware.present.bit_length() - 1
    tuned = facts.get("tuned")
    return Host(
        name,
        str(facts.get("release", default_release)),
        hardware,
        config(nova.get("options", {}), nova.get("strays", ())),
        tuple(_usage(facts.get("usage", []), hardware, (*path, "usage"))),
        facts.get("allocated", {}),
        isolation(facts.get("kernel"), tuned, last),
        cpu_set(facts.get("data_path_cpus"), (*path, "data_path_cpus")),
        frozenset(facts.get("traits", ())),
        frozenset(facts.get("aggregates", ())),
        kernel(facts.get("kernel"), last, (*path, "kernel")),
        cgroups(facts.get("cgroups"), (*path, "cgroups")),
        libvirt(facts.get("libvirt")),
        (tuned or {}).get("profile"),
        facts.get("architecture", "x86_64"),
        facts.get("intent"),
    )


def _usage(entries: list[_Document], hardware: Topology, path: Path) -> Iterator[CellUsage]:
    cells = {cell.id: cell for cell in hardware.cells}
    _distinct((((*path, i, "cell"), entry["cell"]) for i, entry in enumerate(entries)))
    for index, entry in enumerate(entries):
        cell = cells.get(entry["cell"])
        if cell is None:
            known = ", ".join(map(str, cells)) or "none, the host has no cells"
            raise InputError(
                f"the host has no cell {entry['cell']}", known, path_text((*path, index, "cell"))
            )
        # An offline CPU may be pinned too: Nova powers it up and down.
        elsewhere = hardware.online & ~cell.cpuset
        pinned_at: Path = (*path, index, "pinned_cpus")
        pinned = _within(
            cpu_set(entry.get("pinned_cpus"), pinned_at),
            hardware.present & ~elsewhere,
            f"in cell {cell.id}",
            pinned_at,
        )
        sizes = {pool.size_kb for pool in cell.pages}
        for size, _rest in _pages(entry):
            if size not in sizes:
                raise InputError(
                    f"cell {cell.id} has no pages of this size",
                    ", ".join(map(str, sorted(sizes))) or "none",
                    path_text((*path, index, "pages", str(size))),
                )
        yield CellUsage(
            cell.id,
            pinned,
            entry.get("cpu_usage", 0),
            entry.get("memory_usage_mb", 0),
            tuple(PagesInUse(size, used) for size, used in _pages(entry)),
        )


def _flavors(entries: list[_Document], where: str) -> tuple[Flavor, ...]:
    found = tuple(
        flavor_of(entry, origin(where, ("flavors", index))) for index, entry in enumerate(entries)
    )
    refuse_twins(found, where)
    return found


def flavor_of(entry: _Document, where: str) -> Flavor:
    """Build a flavor from its entry, which fits the schema; ``where`` is what it was read from."""
    return Flavor(
        entry["name"],
        entry["vcpus"],
        entry["ram"],
        {
            key: extra_spec(value)
            for key, value in (entry.get("extra_specs") or {}).items()
            if value is not None
        },
        entry.get("disk", 0),
        entry.get("ephemeral", 0),
        entry.get("swap", 0),
        str(entry.get("id", "")),
        where,
    )


def _images(entries: list[_Document], where: str) -> tuple[Image, ...]:
    found = tuple(
        _image(entry, origin(where, ("images", index))) for index, entry in enumerate(entries)
    )
    refuse_twins(found, where)
    return found


def _image(entry: _Document, where: str) -> Image:
    properties = (entry.get("properties") or {}).items()
    return Image(entry["name"], {k: v for k, v in properties if v is not None}, where)


def refuse_twins(found: Iterable[Flavor | Image], where: str) -> None:
    """Refuse two flavors, or two images, of one name."""
    seen: dict[str, str] = {}
    for value in found:
        if value.name and value.name in seen:
            what = f"{quoted(value.name)} is given twice, first at {seen[value.name]}"
            raise InputError(what, "each name once", value.where or where)
        seen[value.name] = value.where


def origin(where: str, path: Path) -> str:
    """Write file and key that a value was read from."""
    return ": ".join(filter(None, (where, path_text(path))))
