# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Domains as ``virsh dumpxml`` and libvirt's own files have them, read for where guests run.

The text is not trusted: a document type, and with it every entity, is refused, and size, depth,
numbers and the length of texts are bounded.
"""

from __future__ import annotations

import re
import typing as t
import xml.etree.ElementTree as ET
from xml.parsers import expat

from . import cpu_list
from .errors import InputError, quoted

SIZE = 1 << 20
"""Characters that the XML of a domain may have; that of any real one is a few KiB."""
DEPTH = 256
"""Levels of elements that it may have. The most have disks on many images: libvirt nests these, up
to 200 (``VIR_STORAGE_MAX_CHAIN_DEPTH``)."""
VCPUS = 1 << 16
"""vCPUs that a domain may have, many more than any hypervisor gives."""

NAME = 255
"""Characters of a name that is kept."""
VALUE = 1 << 16
"""Characters of an extra spec, an image property or a set of CPUs."""
AMOUNT = (1 << 31) - 1
"""What sizes of a flavor, and most other numbers, may be at most."""
LARGE = (1 << 53) - 1
"""What amounts of memory, KiB, weights and times may be at most."""

_ACCEPTED = "the domain XML of virsh dumpxml"
_NOVA = re.compile(r"(\{http://openstack\.org/xmlns/libvirt/nova/[0-9.]{1,16}\})instance")
"""Nova's element, whichever version its name space has (1.0 before release 23, 1.1 from there)."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,254}")
_MODE = re.compile(r"[a-z-]{1,32}")
_POLICIES = ("fifo", "rr", "batch", "idle")
_LISTS = {
    "hw_numa_cpus": re.compile(r"\(\)|\{([0-9, ]*)\}"),
    "hw_numa_mem": re.compile(r"[0-9]+"),
    "traits_required": re.compile(r"\w+"),
}
"""Image properties that Nova keeps as a list, and what an entry of its text is."""
_UNITS: dict[str, int] = {
    "b": 1,
    "bytes": 1,
    **{f"{prefix}ib": 1 << (10 * power) for power, prefix in enumerate("kmgtpe", 1)},
    **{prefix: 1 << (10 * power) for power, prefix in enumerate("kmgtpe", 1)},
    **{f"{prefix}b": 1000**power for power, prefix in enumerate("kmgtpe", 1)},
}
"""Bytes of a unit of memory, in small letters. Source: libvirt ``src/util/virutil.c``."""


class _Builder(ET.TreeBuilder):
    """Builds a tree of bounded depth that no document type had a part in."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def start(self, tag: t.Any, attrs: t.Any) -> ET.Element:
        self._depth += 1
        if self._depth > DEPTH:
            raise InputError("the elements are nested too deeply", f"{DEPTH} levels")
        return super().start(tag, attrs)

    def end(self, tag: t.Any) -> ET.Element:
        self._depth -= 1
        return super().end(tag)

    def doctype(self, name: str, *ids: t.Any) -> t.NoReturn:
        """Refuse a document type: entities can be of any size, and name files."""
        raise InputError(f"the document type {quoted(name)} is refused", _ACCEPTED)


def described(text: str, where: str = "") -> dict[str, t.Any]:
    """Read a domain from the XML of ``virsh dumpxml``, or from a file that libvirt keeps of it.

    The result is an entry of ``domains`` in the guest facts (``guests:1``), but for ``xml``, which
    is what stands there under ``live`` or ``persistent``: ``{id, name, running, pid, nova, xml}``.
    ``running`` tells whether it is the XML of a running domain: it has the number of one. ``pid``
    is told by the files in ``/run/libvirt/qemu`` alone, and ``nova`` by domains of Nova alone. Sets
    are texts such as 0-3,8.

    Raises ``InputError`` for what is no such XML.

    Source: libvirt ``docs/formatdomain.rst``, ``src/conf/domain_conf.c``
    (``virDomainObjFormat``); ``nova/virt/libvirt/config.py``, ``LibvirtConfigGuest`` and
    ``LibvirtConfigGuestMetaNovaInstance``.
    """
    try:
        return _described(_root(text))
    except InputError as problem:
        raise (problem.at(where) if where else problem) from None


def joined(forms: dict[str, dict[str, t.Any]]) -> dict[str, t.Any]:
    """Join what the ``live`` and the ``persistent`` XML of one domain say; one may be missing.

    ``forms`` maps these two to what :func:`described` has given; the result is an entry of
    ``domains`` in the guest facts.
    """
    first = forms.get("live") or forms["persistent"]
    return {
        **{key: value for key, value in first.items() if key != "xml"},
        **{form: found["xml"] for form, found in forms.items()},
    }


def _root(text: str) -> ET.Element:
    if len(text) > SIZE:
        raise InputError("the XML is too large", f"{SIZE} characters at most")
    parser = ET.XMLParser(target=_Builder())
    try:
        parser.feed(text)
        root: ET.Element = parser.close()
    except ET.ParseError as problem:
        line = problem.position[0]
        what = f"broken XML in line {line} ({expat.ErrorString(problem.code)})"
        raise InputError(what, _ACCEPTED) from None
    except ValueError as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"broken XML ({problem})", _ACCEPTED) from None
    return root


def _described(root: ET.Element) -> dict[str, t.Any]:
    status = root.tag == "domstatus"
    domain = root.find("domain") if status else root
    if domain is None or domain.tag != "domain":
        raise InputError(f"the root is {quoted(root.tag)}", _ACCEPTED)
    pid = root.get("pid") if status else None
    return _told(
        {
            "id": _form(_required(domain, "uuid"), _ID, "uuid", "letters, digits and ._:-"),
            "name": _short(_required(domain, "name"), "name"),
            "running": status or domain.get("id") is not None,
            "pid": None if pid in (None, "0") else _number(pid or "", "pid"),
            "nova": _nova(domain),
            "xml": _xml(domain),
        }
    )


def _told(entry: dict[str, t.Any]) -> dict[str, t.Any]:
    """Leave out what is not told."""
    return {key: value for key, value in entry.items() if value is not None}


def _given(entry: dict[str, t.Any]) -> dict[str, t.Any] | None:
    """Leave out what is not told and what is empty; None where nothing is left."""
    # An empty text is a set without members, which is told, as is the number 0.
    left = {k: v for k, v in entry.items() if v is not None and v is not False and v != {}}
    return left or None


def _required(node: ET.Element, path: str) -> str:
    found = (node.findtext(path) or "").strip()
    if not found:
        raise InputError(f"there is no {path}", _ACCEPTED)
    return found


def _short(text: str, name: str, most: int = NAME) -> str:
    if len(text) > most:
        raise InputError(f"{name} has {len(text)} characters", f"up to {most} characters")
    return text


def _form(text: str, form: re.Pattern[str], name: str, accepted: str) -> str:
    if not form.fullmatch(text):
        raise InputError(f"{name} {quoted(text)} is out of place", accepted)
    return text


def _number(text: str, name: str, most: int = AMOUNT) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 20 and int(text) <= most):
        raise InputError(f"{name} {quoted(text)} is out of place", f"a number up to {most}")
    return int(text)


def _set(text: str, name: str) -> int:
    try:
        return cpu_list.parse_nova(text)
    except InputError as problem:
        raise problem.at(name) from None


def _attribute(node: ET.Element, name: str) -> str:
    value = node.get(name)
    if value is None:
        raise InputError(f"{node.tag} has no {name}", _ACCEPTED)
    return value.strip()


def _cpus(node: ET.Element, name: str) -> str:
    what = f"{node.tag} {name}"
    return _short(cpu_list.to_text(_set(_attribute(node, name), what)), what, VALUE)


def _only(root: ET.Element, path: str) -> ET.Element | None:
    """Find an element that may stand once; None where there is none."""
    found = root.findall(path)
    if len(found) > 1:
        raise InputError(f"there are {len(found)} of {path}", "one of them")
    return found[0] if found else None


def _kb(node: ET.Element, attribute: str) -> int:
    """Read an amount of memory, as KiB."""
    unit = node.get("unit", "KiB")
    if unit.lower() not in _UNITS:
        raise InputError(f"the unit {quoted(unit)} is unknown", "KiB, MiB, GiB")
    text = _attribute(node, attribute)
    kb = _number(text, attribute, LARGE) * _UNITS[unit.lower()] >> 10
    if kb > LARGE:
        raise InputError(f"{attribute} {quoted(text)} is out of place", f"{LARGE} KiB at most")
    return kb


def _xml(root: ET.Element) -> dict[str, t.Any]:
    vcpus = _number(_required(root, "vcpu"), "vcpu", VCPUS)
    if not vcpus:
        raise InputError("vcpu '0' is out of place", f"a number from 1 to {VCPUS}")
    cells = _cells(root)
    placed = root.find("vcpu[@cpuset]")
    iothreads = root.findtext("iothreads")
    return _told(
        {
            "vcpus": vcpus,
            "cpuset": None if placed is None else _cpus(placed, "cpuset"),
            "cputune": _cputune(root, vcpus),
            "iothreads": _number(iothreads or "0", "iothreads", VCPUS) or None,
            "numatune": _numatune(root),
            "backing": _backing(root, [cell["id"] for cell in cells] or [0]),
            "cpu": _cpu(root),
            "cells": cells or None,
        }
    )


def _cputune(root: ET.Element, vcpus: int) -> dict[str, t.Any] | None:
    emulator = _only(root, "cputune/emulatorpin")
    scheduled = _only(root, "cputune/emulatorsched")
    pins = _pins(root, "vcpupin", "vcpu")
    return _given(
        {
            "shares": _amount(root, "shares"),
            "quota": _amount(root, "quota"),
            "period": _amount(root, "period"),
            "emulatorpin": None if emulator is None else _cpus(emulator, "cpuset"),
            # libvirt passes over those of vCPUs that are not there.
            "vcpupin": {key: cpus for key, cpus in pins.items() if int(key) < vcpus},
            "iothreadpin": _pins(root, "iothreadpin", "iothread"),
            "vcpusched": _schedulings(root, "vcpusched", "vcpus"),
            "emulatorsched": None if scheduled is None else _scheduling(scheduled),
            "iothreadsched": _schedulings(root, "iothreadsched", "iothreads"),
        }
    )


def _amount(root: ET.Element, name: str) -> int | None:
    text = (root.findtext(f"cputune/{name}") or "").strip()
    if not text:
        return None
    if name == "quota" and text.startswith("-"):
        return -_number(text[1:], name, LARGE)
    return _number(text, name, LARGE)


def _pins(root: ET.Element, tag: str, key: str) -> dict[str, str]:
    """Read the sets of host CPUs by vCPU or I/O thread."""
    pins: dict[str, str] = {}
    for node in root.iterfind(f"cputune/{tag}"):
        number = str(_number(_attribute(node, key), f"{tag} {key}", cpu_list.LIMIT - 1))
        if number in pins:
            raise InputError(f"{tag} names {key} {number} twice", f"each {key} once")
        pins[number] = _cpus(node, "cpuset")
    return _by_number(pins)


def _by_number(keyed: dict[str, t.Any]) -> dict[str, t.Any]:
    return {key: keyed[key] for key in sorted(keyed, key=int)}


def _schedulings(root: ET.Element, tag: str, key: str) -> dict[str, dict[str, t.Any]]:
    """Read the scheduling of each vCPU or I/O thread; an element can be for several."""
    found: dict[str, dict[str, t.Any]] = {}
    seen = 0
    for node in root.iterfind(f"cputune/{tag}"):
        members = _set(_attribute(node, key), f"{tag} {key}")
        if members & seen:
            twice = cpu_list.to_text(members & seen)
            raise InputError(f"{tag} names {key} {quoted(twice)} twice", "each of them once")
        seen |= members
        scheduling = _scheduling(node)
        found.update((str(member), scheduling) for member in cpu_list.ids(members))
    return _by_number(found)


def _scheduling(node: ET.Element) -> dict[str, t.Any]:
    policy, priority = _attribute(node, "scheduler"), node.get("priority")
    if policy not in _POLICIES:
        raise InputError(f"the scheduler {quoted(policy)} is unknown", ", ".join(_POLICIES))
    if priority is None or policy not in ("fifo", "rr"):
        return {"policy": policy}
    return {"policy": policy, "priority": _number(priority, f"{node.tag} priority")}


def _numatune(root: ET.Element) -> dict[str, t.Any] | None:
    memory = _only(root, "numatune/memory")
    nodes: dict[str, str] = {}
    for node in root.iterfind("numatune/memnode"):
        cell = str(_number(_attribute(node, "cellid"), "memnode cellid", cpu_list.LIMIT - 1))
        if cell in nodes:
            raise InputError(f"memnode names cell {cell} twice", "each cell once")
        nodes[cell] = _cpus(node, "nodeset")
    told: dict[str, t.Any] = {}
    if memory is not None:
        mode = memory.get("mode", "strict")
        told["mode"] = _form(mode, _MODE, "the mode of numatune", "strict, preferred, interleave")
        told["nodeset"] = None if memory.get("nodeset") is None else _cpus(memory, "nodeset")
    return _given({**told, "memnode": _by_number(nodes)})


def _backing(root: ET.Element, cells: list[int]) -> dict[str, t.Any] | None:
    source = root.find("memoryBacking/source")
    found = {
        name: root.find(f"memoryBacking/{name}") is not None
        for name in ("nosharepages", "locked", "discard")
    }
    return _given(
        {
            "pages": _pages(root, cells),
            **found,
            "file": source is not None and source.get("type") == "file",
        }
    )


def _pages(root: ET.Element, cells: list[int]) -> dict[str, int]:
    """Read the size of the pages of each guest cell, KiB.

    A page element without cells is for all that no other names. Which size is meant where no
    element tells one is up to the host, and not told.
    """
    found: dict[str, int] = {}
    left = cpu_list.mask(cells)
    pages = root.iterfind("memoryBacking/hugepages/page")
    for node in sorted(pages, key=lambda node: node.get("nodeset") is None):
        size = _kb(node, "size")
        if not size:
            raise InputError("page has no size", "1 KiB at least")
        meant = left
        if node.get("nodeset") is not None:
            meant &= _set(_attribute(node, "nodeset"), "page nodeset")
        found.update((str(cell), size) for cell in cpu_list.ids(meant))
        left &= ~meant
    return _by_number(found)


def _cpu(root: ET.Element) -> dict[str, t.Any] | None:
    node = root.find("cpu")
    if node is None:
        return None
    mode, shape, address = node.get("mode"), node.find("topology"), node.find("maxphysaddr")
    told: dict[str, t.Any] = {}
    if mode is not None:
        told["mode"] = _form(mode, _MODE, "the mode of cpu", "custom, host-model, host-passthrough")
    model = (node.findtext("model") or "").strip()
    told["model"] = _short(model, "the model of cpu") or None
    if shape is not None:
        parts = ("sockets", "cores", "threads")
        told["topology"] = [_number(_attribute(shape, part), part) for part in parts]
    if address is not None:
        told["address_mode"] = _form(
            _attribute(address, "mode"), _MODE, "the mode of maxphysaddr", "passthrough, emulate"
        )
        bits = address.get("bits")
        told["address_bits"] = None if bits is None else _number(bits, "bits")
    return _given(told)


def _cells(root: ET.Element) -> list[dict[str, t.Any]]:
    found: dict[int, dict[str, t.Any]] = {}
    for index, node in enumerate(root.iterfind("cpu/numa/cell")):
        number = _number(node.get("id", str(index)), "cell id", cpu_list.LIMIT - 1)
        if number in found:
            raise InputError(f"cell {number} is given twice", "each cell once")
        found[number] = {
            "id": number,
            # Cells of memory alone have no CPUs.
            "vcpus": _cpus(node, "cpus") if node.get("cpus") is not None else "",
            "memory_kb": _kb(node, "memory"),
            **({"shared": True} if node.get("memAccess") == "shared" else {}),
        }
    return [found[number] for number in sorted(found)]


def _nova(root: ET.Element) -> dict[str, t.Any] | None:
    for node in root.iterfind("metadata/*"):
        found = _NOVA.fullmatch(node.tag)
        if found:
            return _instance(node, found[1])
    return None


def _instance(node: ET.Element, space: str) -> dict[str, t.Any]:
    flavor, image = node.find(f"{space}flavor"), node.find(f"{space}image")
    package = node.find(f"{space}package")
    name = (node.findtext(f"{space}name") or "").strip()
    version = None if package is None else package.get("version")
    return _told(
        {
            "package": None if version is None else _short(version, "the version of nova:package"),
            "name": _short(name, "nova:name"),
            "flavor": None if flavor is None else _flavor(flavor, space),
            "extra_specs": _named(flavor, f"{space}extraSpecs", f"{space}extraSpec"),
            "image": _short("" if image is None else image.get("uuid", ""), "nova:image uuid"),
            "image_properties": _as_given(_named(image, f"{space}properties", f"{space}property")),
        }
    )


def _as_given(properties: dict[str, str] | None) -> dict[str, str] | None:
    """Write image properties as the image has them, where Nova writes what it has made of them.

    ``[CoercedSet({0}), CoercedSet({1, 2})]`` under ``hw_numa_cpus`` is of ``hw_numa_cpus.0`` and
    ``hw_numa_cpus.1``.

    Source: ``nova/objects/image_meta.py``, ``ImageMetaProps.from_dict`` and ``to_dict``.
    """
    if properties is None:
        return None
    found: dict[str, str] = {}
    for name, text in properties.items():
        if name not in _LISTS or not text.startswith("["):
            found[name] = text
            continue
        for index, entry in enumerate(_LISTS[name].findall(text)):
            if name == "traits_required":
                found[f"trait:{entry}"] = "required"
            else:
                found[f"{name}.{index}"] = entry.replace(" ", "")
    return found


def _flavor(node: ET.Element, space: str) -> dict[str, t.Any]:
    """Read the flavor under the names that the compute API gives its parts."""
    parts = (("vcpus", "vcpus"), ("ram", "memory"), ("disk", "disk"), ("ephemeral", "ephemeral"))
    found: dict[str, t.Any] = {
        key: _short(value, f"flavor {key}") for key, value in node.items() if key in ("name", "id")
    }
    for name, tag in (*parts, ("swap", "swap")):
        text = (node.findtext(f"{space}{tag}") or "").strip()
        if text:
            found[name] = _number(text, f"flavor {tag}", VCPUS if name == "vcpus" else AMOUNT)
    return found


def _named(node: ET.Element | None, container: str, item: str) -> dict[str, str] | None:
    """Read texts by their attribute ``name``; None where their container is not there."""
    held = None if node is None else node.find(container)
    if held is None:
        return None
    found: dict[str, str] = {}
    for part in held.iterfind(item):
        name = _short(_attribute(part, "name"), "a name")
        if not name or name in found:
            raise InputError(f"the name {quoted(name)} is out of place", "each name once")
        found[name] = _short(part.text or "", name, VALUE)
    return found
