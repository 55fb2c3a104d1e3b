# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet of an audit, gathered from facts and files of every kind that an audit takes."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ...module_utils._read.errors import InputError, quoted
from . import documents, domain_files, flavor_files, loading, server_files
from .flavor import Flavor, Image
from .host import Fleet, Scheduler
from .joining import Guests, joined, refuse_strangers
from .schema import as_mapping, within

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .domain_files import HostDomains
    from .host import HostClass

_Part = t.TypeVar("_Part")


@dataclasses.dataclass(frozen=True, slots=True)
class Sources:
    """Where an audit takes its input from. Exactly one of ``named``, ``fleet`` and ``facts``."""

    release: str
    """Of the scheduler where the fleet file names none, and of hosts whose facts name none."""
    named: Mapping[str, t.Any] | None = None
    """Facts by the name of the host."""
    fleet: str | None = None
    """Path of a fleet file."""
    facts: str | None = None
    """Path of a folder of facts."""
    flavors: t.Any = None
    """A path, or a document of flavors of any shape, or a list of such."""
    images: t.Any = None
    servers: t.Any = None
    """Paths of files and folders, or documents, of servers and allocations of any shape."""
    named_guests: Mapping[str, t.Any] | None = None
    """Guest facts by the name of the host."""
    guests: t.Any = None
    """Paths of folders and files, or documents, of guest facts or domains, in place of these."""
    disable_fallback_pcpu_query: bool | None = None
    """Overrides the fleet file; so does the next one."""
    numa_topology_filter: bool | None = None
    folders: tuple[str, ...] = ("",)
    """Where relative paths start: the first in which there is such a file."""


def fleet(sources: Sources, *, flavors_needed: bool = True) -> Fleet:
    """Gather hosts, flavors, images, servers and the scheduler's options.

    Raises ``InputError`` for input that cannot be used, or where there is no host or no flavor.
    """
    given_flavors, given_images = _named(sources)
    if sources.fleet is not None:
        path = located(sources.fleet, sources.folders)
        document = loading.load(path)
        found = documents.fleet(document, sources.release, path, given_flavors, given_images)
    else:
        found = Fleet(Scheduler(sources.release), _classes(sources))
    control = {
        name: value
        for name in ("disable_fallback_pcpu_query", "numa_topology_filter")
        if (value := getattr(sources, name)) is not None
    }
    flavors = (*found.flavors, *given_flavors)
    images = (*found.images, *given_images)
    documents.refuse_twins(flavors, "flavors")
    documents.refuse_twins(images, "images")
    if flavors_needed and not flavors:
        raise InputError(
            "there is no flavor", "a list of flavors, or the path of a file of them", "flavors"
        )
    left_out = found.servers_left_out
    told = Guests(found.servers, found.allocations)
    guests = joined([told, *_guests(sources, flavors, images)])
    refuse_strangers(guests, found.classes)
    return Fleet(
        dataclasses.replace(found.scheduler, **control),
        found.classes,
        flavors,
        images,
        guests.servers,
        guests.allocations,
        # Servers given beside a fleet file that lists some tell of their pins.
        0 if left_out is None and sources.servers is not None else left_out,
    )


def guests_alone(sources: Sources) -> Guests:
    """Gather servers and allocations with the flavors and images that they name, of any hosts.

    Raises ``InputError`` for input that cannot be used.
    """
    flavors, images = _named(sources)
    documents.refuse_twins(flavors, "flavors")
    documents.refuse_twins(images, "images")
    return joined(_guests(sources, flavors, images))


def domains(sources: Sources) -> dict[str, HostDomains]:
    """Gather the domains of hosts, by the names of these.

    Raises ``InputError`` for input that cannot be used, or where nobody told of any host.
    """
    parts = _read(sources.guests, sources, domain_files.read_hosts, _domains, "guests")
    if sources.guests is None and sources.named_guests:
        parts = [_domains(settled(sources.named_guests), "")]
    found: dict[str, HostDomains] = {}
    for part in parts:
        for name, each in part.items():
            if name in found:
                raise InputError(
                    f"the guests of host {quoted(name)} are given twice", "each host once", "guests"
                )
            found[name] = each
    if not found:
        raise InputError(
            "no host has guest facts",
            "hosts that pinguard.nova.guest_facts ran on, or guests",
            "guests",
        )
    return found


def _domains(document: object, where: str) -> dict[str, HostDomains]:
    with within(where):
        facts = as_mapping(document, ())
        return {
            name: domain_files.host_domains(each, name, f"host {name}")
            for name, each in facts.items()
        }


def _named(sources: Sources) -> tuple[tuple[Flavor, ...], tuple[Image, ...]]:
    flavors = _read(
        sources.flavors, sources, flavor_files.read_flavors, flavor_files.flavors, "flavors"
    )
    images = _read(sources.images, sources, flavor_files.read_images, flavor_files.images, "images")
    return _together(flavors), _together(images)


def _guests(
    sources: Sources, flavors: tuple[Flavor, ...], images: tuple[Image, ...]
) -> list[Guests]:
    return _read(
        sources.servers,
        sources,
        lambda path: server_files.read(path, flavors, images),
        lambda document, where: server_files.guests(document, flavors, images, where),
        "servers",
    )


def located(path: str, folders: Sequence[str]) -> str:
    """Find a file or folder: a relative path in the first of ``folders`` that has it."""
    path = os.path.expanduser(path)
    for folder in folders:
        candidate = os.path.join(folder, path)
        if os.path.lexists(candidate):
            return candidate
    return path


def _classes(sources: Sources) -> tuple[HostClass, ...]:
    if sources.facts is not None:
        path = located(sources.facts, sources.folders)
        return documents.classes(loading.facts_folder(path), sources.release, path)
    named = ((name, settled(facts)) for name, facts in (sources.named or {}).items())
    return documents.classes(named, sources.release)


def _read(
    given: t.Any,
    sources: Sources,
    from_path: Callable[[str], _Part],
    from_document: Callable[[object, str], _Part],
    option: str,
) -> list[_Part]:
    """Read an option that holds paths, documents, or a list with any of both."""
    if given is None or given == []:
        return []
    items = settled(given)
    items = items if isinstance(items, list) else [items]
    paths = [item for item in items if isinstance(item, str)]
    inline = [item for item in items if not isinstance(item, str)]
    for item in inline:
        if not isinstance(item, dict | list):
            raise InputError(f"{quoted(item)} is out of place", "a path or a mapping", option)
    found = [from_path(located(path, sources.folders)) for path in paths]
    if inline:
        found.append(from_document(inline[0] if len(inline) == 1 else inline, option))
    return found


def _together(parts: Iterable[tuple[_Part, ...]]) -> tuple[_Part, ...]:
    return tuple(value for part in parts for value in part)


def settled(value: t.Any) -> t.Any:
    """Copy lists and mappings by their own iterators: templates fill them in on access only."""
    if isinstance(value, dict):
        return {key: settled(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [settled(item) for item in value]
    return value


def sources(
    args: Mapping[str, t.Any], variables: Mapping[str, t.Any], folders: tuple[str, ...]
) -> tuple[Sources, tuple[str, ...]]:
    """Take the sources from an action's arguments, and list the hosts without facts.

    Facts come from the variables of the hosts unless ``fleet`` or ``facts`` names a file or folder.

    Raises ``InputError`` as :func:`facts_of` does.
    """
    named: dict[str, t.Any] | None = None
    named_guests: dict[str, t.Any] | None = None
    missing: tuple[str, ...] = ()
    if args["fleet"] is None and args["facts"] is None:
        named, missing = facts_of(args["hosts"], variables)
        named_guests = _told(named, variables, "pinguard_guests")
    given = {
        field.name: args[field.name] for field in dataclasses.fields(Sources) if field.name in args
    }
    found = Sources(**given, named=named, named_guests=named_guests, folders=folders)
    return found, missing


def facts_named(
    args: Mapping[str, t.Any], variables: Mapping[str, t.Any], folders: tuple[str, ...]
) -> tuple[dict[str, t.Any], tuple[str, ...]]:
    """Take facts as they are by the name of the host, and list the hosts without.

    They come from the folder ``facts`` or from the variables of the hosts.

    Raises ``InputError`` as :func:`facts_of` and :func:`loading.facts_folder` do.
    """
    if args["facts"] is None:
        named, missing = facts_of(args["hosts"], variables)
        return {name: settled(facts) for name, facts in named.items()}, missing
    return dict(loading.facts_folder(located(args["facts"], folders))), ()


def facts_of(
    wanted: Sequence[str] | None, variables: Mapping[str, t.Any]
) -> tuple[dict[str, t.Any], tuple[str, ...]]:
    """Take the facts of inventory hosts from a task's variables, and list the hosts without any.

    ``wanted`` names hosts and groups; without it those of the play are meant.

    Raises ``InputError`` for a name that is unknown, or where no host has facts.
    """
    hostvars, groups = variables["hostvars"], variables.get("groups", {})
    names: list[str] = []
    for name in variables.get("ansible_play_hosts_all", []) if wanted is None else wanted:
        if name in groups:
            names += groups[name]
        elif name in hostvars:
            names.append(name)
        else:
            raise InputError(f"{quoted(name)} is not in the inventory", "hosts, groups", "hosts")
    found = _told(dict.fromkeys(names), variables, "pinguard")
    if not found:
        raise InputError(
            "no host has facts",
            "hosts that pinguard.nova.host_facts ran on, or fleet, or facts",
            "hosts",
        )
    return found, tuple(name for name in dict.fromkeys(names) if name not in found)


def _told(names: Iterable[str], variables: Mapping[str, t.Any], fact: str) -> dict[str, t.Any]:
    """Take one fact of each host that has it."""
    facts = {name: variables["hostvars"].raw_get(name).get("ansible_facts", {}) for name in names}
    return {name: each[fact] for name, each in facts.items() if fact in each}
