# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The XML of the CPU and memory part of a domain, in the order in which Nova writes it.

Source: ``nova/virt/libvirt/config.py``, ``format_dom`` of ``LibvirtConfigGuestCPUTune``,
``LibvirtConfigGuestNUMATune``, ``LibvirtConfigGuestMemoryBacking`` and ``LibvirtConfigGuestCPU``.
"""

from __future__ import annotations

import typing as t
import xml.etree.ElementTree as ET

from ...module_utils._read.cpu_list import mask, to_text

if t.TYPE_CHECKING:
    from .._model.guest_xml import Backing, GuestXml, Scheduling

ORDER = ("memoryBacking", "numatune", "vcpu", "iothreads", "cputune", "cpu")
"""The elements in the order in which they stand in a domain."""


def elements(xml: GuestXml) -> dict[str, ET.Element]:
    """Build the elements by name, in :data:`ORDER`; those that the domain has not are left out."""
    made = {
        "memoryBacking": _backing(xml.backing),
        "numatune": _numatune(xml),
        "vcpu": _vcpu(xml),
        "iothreads": _text("iothreads", xml.iothreads) if xml.iothreads else None,
        "cputune": _cputune(xml),
        "cpu": _cpu(xml),
    }
    return {name: element for name in ORDER if (element := made[name]) is not None}


def texts(xml: GuestXml) -> dict[str, str]:
    """Write each element by itself, indented by two blanks."""
    found = {}
    for name, element in elements(xml).items():
        ET.indent(element)
        found[name] = ET.tostring(element, encoding="unicode")
    return found


def text(xml: GuestXml) -> str:
    """Write all elements, one after the other."""
    return "\n".join(texts(xml).values())


def _text(name: str, content: object, **attributes: str) -> ET.Element:
    element = ET.Element(name, attributes)
    element.text = str(content)
    return element


def _vcpu(xml: GuestXml) -> ET.Element:
    given = {} if xml.cpuset is None else {"cpuset": to_text(xml.cpuset)}
    return _text("vcpu", xml.vcpus, **given)


def _cputune(xml: GuestXml) -> ET.Element | None:
    root = ET.Element("cputune")
    for name in ("shares", "quota", "period"):
        value = getattr(xml, name)
        if value is not None:
            root.append(_text(name, value))
    if xml.emulator is not None:
        ET.SubElement(root, "emulatorpin", cpuset=to_text(xml.emulator))
    for thread, cpus in xml.iothread_pins.items():
        if cpus:  # Nova leaves an empty one out
            ET.SubElement(root, "iothreadpin", cpuset=to_text(cpus), iothread=str(thread))
    for vcpu, cpus in xml.vcpu_pins.items():
        ET.SubElement(root, "vcpupin", vcpu=str(vcpu), cpuset=to_text(cpus))
    alike: dict[Scheduling, list[int]] = {}
    for vcpu, scheduling in xml.vcpu_scheduling.items():
        alike.setdefault(scheduling, []).append(vcpu)
    for scheduling, vcpus in alike.items():
        given = {"vcpus": to_text(mask(vcpus)), **_scheduling(scheduling)}
        ET.SubElement(root, "vcpusched", given)
    if xml.emulator_scheduling:
        ET.SubElement(root, "emulatorsched", _scheduling(xml.emulator_scheduling))
    for thread, scheduling in xml.iothread_scheduling.items():
        given = {"iothreads": str(thread), **_scheduling(scheduling)}
        ET.SubElement(root, "iothreadsched", given)
    return root if len(root) else None


def _scheduling(scheduling: Scheduling) -> dict[str, str]:
    found = {"scheduler": scheduling.policy}
    if scheduling.priority is not None:
        found["priority"] = str(scheduling.priority)
    return found


def _numatune(xml: GuestXml) -> ET.Element | None:
    if xml.memory_mode is None:
        return None
    root = ET.Element("numatune")
    ET.SubElement(root, "memory", mode=xml.memory_mode, nodeset=to_text(xml.host_cells))
    for cell, host_cells in xml.memnodes.items():
        ET.SubElement(
            root, "memnode", cellid=str(cell), mode=xml.memory_mode, nodeset=to_text(host_cells)
        )
    return root


def _backing(backing: Backing) -> ET.Element | None:
    root = ET.Element("memoryBacking")
    if backing.pages:
        pages = ET.SubElement(root, "hugepages")
        for cell, size_kb in backing.pages.items():
            ET.SubElement(pages, "page", size=str(size_kb), nodeset=str(cell), unit="KiB")
    if backing.nosharepages:
        ET.SubElement(root, "nosharepages")
    if backing.locked:
        ET.SubElement(root, "locked")
    if backing.file:
        ET.SubElement(root, "source", type="file")
        ET.SubElement(root, "access", mode="shared")
        ET.SubElement(root, "allocation", mode="immediate")
    if backing.discard:
        ET.SubElement(root, "discard")
    return root if len(root) else None


def _cpu(xml: GuestXml) -> ET.Element:
    root = ET.Element("cpu", {"mode": xml.cpu.mode} if xml.cpu.mode else {})
    root.set("match", "exact")
    if xml.cpu.model:
        root.append(_text("model", xml.cpu.model))
    if xml.cpu.topology:
        sockets, cores, threads = map(str, xml.cpu.topology)
        ET.SubElement(root, "topology", sockets=sockets, cores=cores, threads=threads)
    if xml.cpu.address_mode:
        address = ET.SubElement(root, "maxphysaddr", mode=xml.cpu.address_mode)
        if xml.cpu.address_bits is not None:
            address.set("bits", str(xml.cpu.address_bits))
    if xml.cells:
        numa = ET.SubElement(root, "numa")
        for cell in xml.cells:
            made = ET.SubElement(
                numa,
                "cell",
                id=str(cell.id),
                cpus=to_text(cell.vcpus),
                memory=str(cell.memory_kb),
            )
            if cell.shared:
                made.set("memAccess", "shared")
    return root
