# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Domains as ``virsh dumpxml`` writes them, read for where their guests run.

The text is not trusted: a document type, and with it every entity, is refused, and size and depth
are bounded.
"""

from __future__ import annotations

import typing as t
import xml.etree.ElementTree as ET
from xml.parsers import expat

from . import cpu_list
from .errors import InputError, quoted

SIZE = 1 << 20
"""Characters that the XML of a domain may have; that of any real one is a few KiB."""
DEPTH = 32
"""Levels of elements that it may have."""
VCPUS = 1 << 16
"""vCPUs that a domain may have, many more than any hypervisor gives."""

_ACCEPTED = "the domain XML of virsh dumpxml"
_SPACES = tuple(f"{{http://openstack.org/xmlns/libvirt/nova/1.{minor}}}" for minor in (1, 0))
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


def domain(text: str, where: str = "") -> dict[str, t.Any]:
    """Read a domain.

    The result has ``uuid``, ``name`` (Nova's where known), ``vcpus``, ``pins`` (vCPU to its set of
    host CPUs), ``emulator`` (a set; None where not tied), ``cells`` of the guest (``{id, vcpus,
    memory_mb, host_cells, page_size_kb}``, the last two None where not told), and ``nova``, None
    where Nova has left no metadata: ``{name, flavor: {name, id, vcpus, ram, disk, ephemeral,
    swap}, extra_specs, image, image_properties}``. Extra specs and image properties are None
    before release 32, which is the first to write them. Sets are bitmasks.

    Raises ``InputError`` for what is no such XML.

    Source: libvirt ``docs/formatdomain.rst``; ``nova/virt/libvirt/config.py``,
    ``LibvirtConfigGuest`` and ``LibvirtConfigGuestMetaNovaInstance``.
    """
    try:
        return _domain(_root(text))
    except InputError as problem:
        raise (problem.at(where) if where else problem) from None


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
    if root.tag != "domain":
        raise InputError(f"the root is {quoted(root.tag)}", _ACCEPTED)
    return root


def _domain(root: ET.Element) -> dict[str, t.Any]:
    vcpus = _number(_text(root, "vcpu"), "vcpu", VCPUS)
    nova = _nova(root)
    name = _text(root, "name")
    return {
        "uuid": _text(root, "uuid"),
        "name": name if nova is None else nova["name"] or name,
        "vcpus": vcpus,
        "pins": _pins(root, vcpus),
        "emulator": _emulator(root),
        "cells": _cells(root),
        "nova": nova,
    }


def _text(node: ET.Element, path: str) -> str:
    found = (node.findtext(path) or "").strip()
    if not found:
        raise InputError(f"there is no {path}", _ACCEPTED)
    return found


def _number(text: str, name: str, most: int = 1 << 40) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 13 and int(text) <= most):
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


def _scaled(node: ET.Element, attribute: str) -> int:
    """Read an amount of memory, as bytes."""
    unit = node.get("unit", "KiB")
    if unit.lower() not in _UNITS:
        raise InputError(f"the unit {quoted(unit)} is unknown", "KiB, MiB, GiB")
    return _number(_attribute(node, attribute), attribute) * _UNITS[unit.lower()]


def _pins(root: ET.Element, vcpus: int) -> dict[int, int]:
    pins: dict[int, int] = {}
    for node in root.iterfind("cputune/vcpupin"):
        vcpu = _number(_attribute(node, "vcpu"), "vcpupin vcpu", VCPUS)
        if vcpu in pins:
            raise InputError(f"vcpupin names vCPU {vcpu} twice", "each vCPU once")
        if vcpu < vcpus:
            pins[vcpu] = _set(_attribute(node, "cpuset"), "vcpupin cpuset")
    return pins


def _emulator(root: ET.Element) -> int | None:
    node = root.find("cputune/emulatorpin")
    return None if node is None else _set(_attribute(node, "cpuset"), "emulatorpin cpuset")


def _cells(root: ET.Element) -> list[dict[str, t.Any]]:
    nodes = {
        _number(_attribute(node, "cellid"), "memnode cellid"): _set(
            _attribute(node, "nodeset"), "memnode nodeset"
        )
        for node in root.iterfind("numatune/memnode")
    }
    pages = [
        (_set(node.get("nodeset", ""), "page nodeset"), _scaled(node, "size") >> 10)
        for node in root.iterfind("memoryBacking/hugepages/page")
    ]
    found = []
    for index, node in enumerate(root.iterfind("cpu/numa/cell")):
        number = _number(node.get("id", str(index)), "cell id", cpu_list.LIMIT - 1)
        found.append(
            {
                "id": number,
                "vcpus": _set(node.get("cpus", ""), "cell cpus"),
                "memory_mb": _scaled(node, "memory") >> 20,
                "host_cells": nodes.get(number),
                # A page element without a nodeset is for all cells.
                "page_size_kb": next(
                    (size for cells, size in pages if not cells or cells >> number & 1), None
                ),
            }
        )
    return found


def _nova(root: ET.Element) -> dict[str, t.Any] | None:
    for space in _SPACES:
        found = root.find(f"metadata/{space}instance")
        if found is not None:
            return _instance(found, space)
    return None


def _instance(node: ET.Element, space: str) -> dict[str, t.Any]:
    flavor = node.find(f"{space}flavor")
    image = node.find(f"{space}image")
    return {
        "name": (node.findtext(f"{space}name") or "").strip(),
        "flavor": None if flavor is None else _flavor(flavor, space),
        "extra_specs": _named(flavor, f"{space}extraSpecs", f"{space}extraSpec"),
        "image": "" if image is None else image.get("uuid", ""),
        "image_properties": _named(image, f"{space}properties", f"{space}property"),
    }


def _flavor(node: ET.Element, space: str) -> dict[str, t.Any]:
    """Read the flavor under the names that the compute API gives its parts."""
    parts = (("vcpus", "vcpus"), ("ram", "memory"), ("disk", "disk"), ("ephemeral", "ephemeral"))
    found: dict[str, t.Any] = {k: v for k, v in node.items() if k in ("name", "id")}
    for name, tag in (*parts, ("swap", "swap")):
        text = (node.findtext(f"{space}{tag}") or "").strip()
        if text:
            found[name] = _number(text, f"flavor {tag}")
    return found


def _named(node: ET.Element | None, container: str, item: str) -> dict[str, str] | None:
    """Read texts by their attribute ``name``; None where their container is not there."""
    held = None if node is None else node.find(container)
    if held is None:
        return None
    return {_attribute(part, "name"): part.text or "" for part in held.iterfind(item)}
