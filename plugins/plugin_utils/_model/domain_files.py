# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Domains of hosts, from guest facts and from the XML of libvirt.

A folder holds a file of guest facts for each host, ``HOST.json`` or ``HOST.yml``, or a folder for
each host with the XML of its domains, ``HOST/*.xml``. Whatever an XML file is called, the XML
itself tells what it is: that of a running domain has the number of one (``<domain id=``), that of
the next start has none. Two files of one domain, one of each kind, become one domain.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
import typing as t

from ...module_utils._read import cpu_list, files, libvirt_xml
from ...module_utils._read.errors import InputError, quoted
from . import documents, loading
from .cpu_texts import cpu_set
from .domain import Domain, Metadata, Thread
from .flavor import Flavor, Image
from .guest_xml import Backing, CpuModel, GuestXml, Scheduling, XmlCell
from .schema import Path, check, path_text, plain, within

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FACT = "pinguard_guests"
"""The fact of a host that guest facts are returned as."""
SHAPE = "a folder of guest facts, HOST.json or HOST.yml, or of domain XML, HOST/*.xml"
"""The shape of what :func:`read_hosts` takes, in the words of error messages."""

_VERSION = re.compile(r"(?:[0-9]+:)?([0-9]{1,4}(?:\.[0-9]{1,6}){1,3})(?![0-9])")
"""The number of a release in the version of a package, behind its epoch."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostDomains:
    """The domains of one host."""

    domains: tuple[Domain, ...]
    unread: tuple[str, ...] = ()
    """What could not be read of the host as a whole: one line each."""
    libvirt: str | None = None
    """Version of libvirt there; None where unknown."""


def read_hosts(path: str) -> dict[str, HostDomains]:
    """Read the domains of a folder, or of one file in one, by the name of the host.

    Raises ``InputError`` where a file cannot be read or is neither guest facts nor the XML of a
    domain, and where a host or a domain of it is given twice.
    """
    if not os.path.isdir(path):
        if path.endswith(".xml"):
            return _of_xml([path])
        name = os.path.splitext(os.path.basename(path))[0]
        return {name: _host_domains(loading.bare_facts(loading.load(path), FACT), name, path)}
    found = _of_xml(xml_files(path))
    facts = loading.facts_folder(path, FACT) if loading.facts_files(path) else ()
    for host, document in facts:
        if host in found:
            raise InputError(f"there are two hosts {quoted(host)}", SHAPE, path)
        found[host] = _host_domains(document, host, f"{path}: host {host}")
    if not found:
        raise InputError("the folder holds no domains", SHAPE, path)
    return found


def host_domains(document: object, host: str, where: str = "") -> HostDomains:
    """Build the domains of a host from its guest facts; ``where`` says what these are from.

    Raises ``InputError`` for what is no such document.
    """
    with within(where):
        facts = plain(document)
    return _host_domains(facts, host, where)


def _host_domains(facts: t.Any, host: str, where: str) -> HostDomains:
    """Build them from a plain document, as :mod:`loading` reads it."""
    with within(where):
        check(facts, "guests:1")
        seen: set[str] = set()
        found = []
        for index, entry in enumerate(facts["domains"]):
            path: Path = ("domains", index)
            if entry["id"] in seen:
                raise InputError(
                    f"the domain {quoted(entry['id'])} is given twice",
                    "each domain once",
                    path_text(path),
                )
            seen.add(entry["id"])
            found.append(_domain(entry, host, path, documents.origin(where, path)))
    return HostDomains(
        tuple(found), tuple(facts.get("unread", ())), facts.get("libvirt", {}).get("version")
    )


def xml_files(folder: str) -> list[str]:
    """List the XML files of a folder and of the folders in it."""
    tree, top = files.Tree("/"), os.path.abspath(folder)
    found = []
    for name in tree.names(top) or []:
        path = os.path.join(top, name)
        if name.startswith("."):
            continue
        if tree.is_directory(path):
            inner = [os.path.join(path, file) for file in tree.names(path) or []]
            found += [file for file in inner if file.endswith(".xml")]
        elif name.endswith(".xml"):
            found.append(path)
    return found


def host_of(path: str) -> str:
    """Name the host of an XML file: the folder that the file is in."""
    return os.path.basename(os.path.dirname(os.path.abspath(path)))


def described(path: str) -> dict[str, t.Any]:
    """Read the XML file of a domain, as ``libvirt_xml.described`` gives it."""
    return libvirt_xml.described(files.read_text(path, libvirt_xml.SIZE), path)


def _of_xml(paths: list[str]) -> dict[str, HostDomains]:
    """Read the domains of XML files; those of one host are in one folder."""
    hosts: dict[str, dict[str, _Files]] = {}
    for path in paths:
        found = described(path)
        form = "live" if found["running"] else "persistent"
        forms = hosts.setdefault(host_of(path), {}).setdefault(found["id"], {})
        if form in forms:
            first = os.path.basename(forms[form][1])
            what = f"the {form} XML of domain {quoted(found['id'])} is given twice, first in"
            raise InputError(f"{what} {first}", "each once", path)
        forms[form] = (found, path)
    return {
        host: HostDomains(tuple(map(_of_files, found.values()))) for host, found in hosts.items()
    }


_Files = dict[str, tuple[dict[str, t.Any], str]]
"""What the ``live`` and the ``persistent`` XML of a domain say, and the paths of their files."""


def _of_files(forms: _Files) -> Domain:
    entry = libvirt_xml.joined({form: found for form, (found, _path) in forms.items()})
    _rest, where = forms.get("live") or forms["persistent"]
    with within(where):
        check(entry, "guests:1#/$defs/domain")
        return _domain(entry, host_of(where), (), where)


def _domain(entry: dict[str, t.Any], host: str, path: Path, where: str) -> Domain:
    told = entry.get("nova")
    memory = entry.get("memory", {})
    unread = tuple(entry.get("unread", ()))
    flavor = None if told is None else _flavor(told, where)
    if told is not None and flavor is None:
        unread += ("nova: the flavor in the metadata is incomplete",)
    known = told is not None and "extra_specs" in told
    live = _xml(entry, "live", path)
    return Domain(
        entry["id"],
        entry["name"],
        host,
        entry["running"],
        live,
        # Mostly the same, and then one value is enough.
        live if entry.get("persistent") == entry.get("live") else _xml(entry, "persistent", path),
        None if told is None else _metadata(told, flavor),
        flavor if known else None,
        _image(told, where) if told is not None and known else None,
        tuple(
            _thread(thread, (*path, "threads", index))
            for index, thread in enumerate(entry["threads"])
        )
        if "threads" in entry
        else None,
        memory.get("locked_kb"),
        memory.get("swapped_kb"),
        _numbered(memory["cells"]) if "cells" in memory else None,
        unread,
        where,
    )


def _numbered(keyed: Mapping[str, t.Any]) -> dict[int, t.Any]:
    return {int(key): value for key, value in keyed.items()}


def _metadata(told: Mapping[str, t.Any], flavor: Flavor | None) -> Metadata:
    package = told.get("package", "")
    return Metadata(
        release(package),
        package,
        told.get("name", ""),
        told.get("flavor", {}).get("name", ""),
        None if flavor is None else dataclasses.replace(flavor, extra_specs={}),
    )


def release(package: str) -> str | None:
    """Take the release out of the version of Nova's package; None where there is none in it.

    >>> release("1:27.5.1-0ubuntu1~cloud0")
    '27.5.1'
    """
    found = _VERSION.match(package.strip())
    return found[1] if found else None


def _flavor(told: Mapping[str, t.Any], where: str) -> Flavor | None:
    given = told.get("flavor", {})
    if not (given.get("name") and given.get("vcpus") and given.get("ram")):
        return None
    return documents.flavor_of({**given, "extra_specs": told.get("extra_specs")}, where)


def _image(told: Mapping[str, t.Any], where: str) -> Image:
    return Image(told.get("image", ""), told.get("image_properties", {}), where)


def _thread(entry: Mapping[str, t.Any], path: Path) -> Thread:
    return Thread(
        entry["id"],
        sys.intern(entry["name"]),
        entry["kind"],
        entry.get("index"),
        cpu_set(entry["cpus"], (*path, "cpus")),
        entry["policy"],
        entry.get("priority", 0),
        entry.get("last_cpu"),
        entry.get("main", False),
    )


def _xml(entry: Mapping[str, t.Any], kind: str, path: Path) -> GuestXml | None:
    return guest_xml(entry[kind], (*path, kind)) if kind in entry else None


def guest_xml(given: Mapping[str, t.Any], path: Path = ()) -> GuestXml:
    """Build what XML says from its part of the guest facts, which fits the schema.

    Raises ``InputError``, which names ``path``, for sets that are none.
    """
    tune, numa = given.get("cputune", {}), given.get("numatune", {})
    backing, cpu = given.get("backing", {}), given.get("cpu", {})

    def cpus(within: Mapping[str, t.Any], *steps: str) -> int:
        return cpu_set(within[steps[-1]], (*path, *steps))

    def sets(within: Mapping[str, t.Any], *steps: str) -> dict[int, int]:
        named = within.get(steps[-1], {})
        return {int(key): cpus(named, *steps, key) for key in named}

    def schedulings(key: str) -> dict[int, Scheduling]:
        return {int(number): _scheduling(one) for number, one in tune.get(key, {}).items()}

    return GuestXml(
        given["vcpus"],
        cpus(given, "cpuset") if "cpuset" in given else None,
        tune.get("shares"),
        tune.get("quota"),
        tune.get("period"),
        cpus(tune, "cputune", "emulatorpin") if "emulatorpin" in tune else None,
        given.get("iothreads", 0),
        sets(tune, "cputune", "iothreadpin"),
        sets(tune, "cputune", "vcpupin"),
        schedulings("vcpusched"),
        _scheduling(tune["emulatorsched"]) if "emulatorsched" in tune else None,
        schedulings("iothreadsched"),
        numa.get("mode"),
        cpus(numa, "numatune", "nodeset") if "nodeset" in numa else 0,
        sets(numa, "numatune", "memnode"),
        Backing(
            _numbered(backing.get("pages", {})),
            **{key: backing.get(key, False) for key in _FLAGS},
        ),
        CpuModel(
            cpu.get("mode"),
            cpu.get("model"),
            tuple(cpu["topology"]) if "topology" in cpu else None,
            cpu.get("address_mode"),
            cpu.get("address_bits"),
        ),
        tuple(
            XmlCell(
                cell["id"],
                cpu_set(cell["vcpus"], (*path, "cells", index, "vcpus")),
                cell["memory_kb"],
                cell.get("shared", False),
            )
            for index, cell in enumerate(given.get("cells", []))
        ),
    )


_FLAGS = ("nosharepages", "locked", "file", "discard")


def _scheduling(given: Mapping[str, t.Any]) -> Scheduling:
    return Scheduling(given["policy"], given.get("priority"))


def as_document(xml: GuestXml) -> dict[str, t.Any]:
    """Write what XML says as it stands in the guest facts: the inverse of :func:`guest_xml`."""
    return _told(
        {
            "vcpus": xml.vcpus,
            "cpuset": _text(xml.cpuset),
            "cputune": _told(
                {
                    "shares": xml.shares,
                    "quota": xml.quota,
                    "period": xml.period,
                    "emulatorpin": _text(xml.emulator),
                    "vcpupin": _keyed(xml.vcpu_pins, cpu_list.to_text),
                    "iothreadpin": _keyed(xml.iothread_pins, cpu_list.to_text),
                    "vcpusched": _keyed(xml.vcpu_scheduling, _scheduling_document),
                    "emulatorsched": None
                    if xml.emulator_scheduling is None
                    else _scheduling_document(xml.emulator_scheduling),
                    "iothreadsched": _keyed(xml.iothread_scheduling, _scheduling_document),
                }
            ),
            "iothreads": xml.iothreads or None,
            "numatune": _told(
                {
                    "mode": xml.memory_mode,
                    "nodeset": _text(xml.host_cells or None),
                    "memnode": _keyed(xml.memnodes, cpu_list.to_text),
                }
            ),
            "backing": _told(
                {
                    "pages": _keyed(xml.backing.pages, int),
                    **{key: getattr(xml.backing, key) or None for key in _FLAGS},
                }
            ),
            "cpu": _told(
                {
                    "mode": xml.cpu.mode,
                    "model": xml.cpu.model,
                    "topology": list(xml.cpu.topology or ()),
                    "address_mode": xml.cpu.address_mode,
                    "address_bits": xml.cpu.address_bits,
                }
            ),
            "cells": [
                {
                    "id": cell.id,
                    "vcpus": cpu_list.to_text(cell.vcpus),
                    "memory_kb": cell.memory_kb,
                    **({"shared": True} if cell.shared else {}),
                }
                for cell in xml.cells
            ],
        }
    )


def _told(entry: dict[str, t.Any]) -> dict[str, t.Any]:
    """Leave out what is not told, and what would be empty."""
    return {
        key: value for key, value in entry.items() if value is not None and value not in ({}, [])
    }


def _text(cpus: int | None) -> str | None:
    return None if cpus is None else cpu_list.to_text(cpus)


_Value = t.TypeVar("_Value")


def _keyed(values: Mapping[int, _Value], write: Callable[[_Value], t.Any]) -> dict[str, t.Any]:
    return {str(key): write(values[key]) for key in sorted(values)}


def _scheduling_document(scheduling: Scheduling) -> dict[str, t.Any]:
    return _told({"policy": scheduling.policy, "priority": scheduling.priority})
