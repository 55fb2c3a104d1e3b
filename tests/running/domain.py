# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Domains around the elements that the engine writes, and libvirt's own schema of them."""

from __future__ import annotations

import pathlib
import subprocess
import tempfile
import typing as t
import xml.etree.ElementTree as ET

from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.xml_form import elements

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest_xml import GuestXml

SCHEMA = "/usr/share/libvirt/schemas/domain.rng"
SPACE = "http://openstack.org/xmlns/libvirt/nova/1.1"
IMAGE = "3c6d0a9e-5c0b-4f0e-9f5b-0d4c0e8f2f60"


def document(
    parts: t.Iterable[ET.Element],
    memory_kb: int,
    name: str,
    uuid: str,
    metadata: ET.Element | None = None,
) -> str:
    """Write a domain that has no device but its CPUs and memory."""
    root = ET.Element("domain", type="qemu")
    for tag, text in {"name": name, "uuid": uuid, "memory": str(memory_kb)}.items():
        ET.SubElement(root, tag).text = text
    if metadata is not None:
        ET.SubElement(root, "metadata").append(metadata)
    root.extend(parts)
    ET.SubElement(ET.SubElement(root, "os"), "type", machine="pc").text = "hvm"
    devices = ET.SubElement(root, "devices")
    ET.SubElement(devices, "emulator").text = "/usr/bin/qemu-system-x86_64"
    ET.SubElement(devices, "memballoon", model="none")
    return ET.tostring(root, encoding="unicode")


def nova(flavor: Flavor, server: str, package: str) -> ET.Element:
    """Write what Nova, from release 32 on, tells of a server that was made of a flavor.

    Source: ``nova/virt/libvirt/config.py``, ``LibvirtConfigGuestMetaNovaInstance.format_dom``.
    """
    ET.register_namespace("nova", SPACE)

    def child(parent: ET.Element, tag: str, text: object = None, **given: str) -> ET.Element:
        made = ET.SubElement(parent, f"{{{SPACE}}}{tag}", given)
        made.text = None if text is None else str(text)
        return made

    root = ET.Element(f"{{{SPACE}}}instance")
    child(root, "package", version=package)
    child(root, "name", server)
    child(root, "creationTime", "2026-01-01 00:00:00")
    kind = child(root, "flavor", name=flavor.name, id=flavor.id)
    sizes = {
        "memory": flavor.memory_mb,
        "disk": flavor.disk_gb,
        "swap": flavor.swap_mb,
        "ephemeral": flavor.ephemeral_gb,
        "vcpus": flavor.vcpus,
    }
    for tag, value in sizes.items():
        child(kind, tag, value)
    specs = child(kind, "extraSpecs")
    for key, text in flavor.extra_specs.items():
        child(specs, "extraSpec", text, name=key)
    child(child(root, "image", uuid=IMAGE), "properties")
    return root


def redefined(text: str, xml: GuestXml) -> str:
    """Put the elements of ``xml`` in place of those that a domain has."""
    root = ET.fromstring(text)
    parts = elements(xml)
    for tag in parts:
        for old in root.findall(tag):
            root.remove(old)
    root.extend(parts.values())
    return ET.tostring(root, encoding="unicode")


def invalid(documents: t.Mapping[str, str]) -> dict[str, str]:
    """Hold domains by name against libvirt's schema; give the refused ones, and what is said."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {str(pathlib.Path(folder, f"{n}.xml")): name for n, name in enumerate(documents)}
        for path, name in paths.items():
            pathlib.Path(path).write_text(documents[name], encoding="utf-8")
        done = subprocess.run(
            ["xmllint", "--noout", "--relaxng", SCHEMA, *paths],
            capture_output=True,
            check=False,
            text=True,
        )
        told = dict.fromkeys(paths, "")
        for line in done.stderr.splitlines():
            path, _colon, rest = line.partition(":")
            path = path.partition(" ")[0]
            if path in told and not line.endswith(" validates"):
                told[path] = told[path] or rest.strip() or line
        unknown = [path for path in paths if path not in done.stderr]
        if unknown:
            raise RuntimeError(f"xmllint: {done.stderr[-500:]}")
        return {paths[path]: text for path, text in told.items() if text}
