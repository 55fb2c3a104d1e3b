# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guests one after the other on a host, read back from the XML that libvirt prints of them."""

from __future__ import annotations

import dataclasses
import typing as t
import xml.etree.ElementTree as ET

from hypothesis import assume, given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read import libvirt_xml
from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import ids, parse_nova
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import domain_files
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor, Image
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest_xml import GuestXml
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    CellUsage,
    Fleet,
    HostClass,
    Scheduler,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import Server
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import (
    constraints,
    guest_xml,
    image_properties,
    inventory,
    xml_form,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.fit import fit
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import guests
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import (
    a_host,
    legacy,
    new_style,
    no_smt,
    topology,
)

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host
    from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import Release
    from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import HostCase

SPACE = "http://openstack.org/xmlns/libvirt/nova/"
HOSTS: list[t.Callable[..., HostCase]] = [
    new_style,
    no_smt,
    legacy,
    lambda **other: legacy(cpu_shared_set="1", **other),
    lambda **other: no_smt(cpu_shared_set="0", cpu_dedicated_set="2-15", **other),
    lambda **other: new_style(machine=topology(huge_pages=1024), **other),
    a_host,
]
RELEASES = ["20.6.1", "22.4.0", "25.2.1", "27.5.1", "30.3.0", "32.2.1", "33.0.2", "34.0.0"]
SPECS: dict[str, list[str]] = {
    "hw:cpu_policy": ["dedicated", "dedicated", "mixed"],
    "hw:cpu_dedicated_mask": ["^0", "1"],
    "hw:cpu_realtime": ["yes"],
    "hw:cpu_realtime_mask": ["^0", "^0-1", "^1"],
    "hw:emulator_threads_policy": ["share", "isolate"],
    "hw:cpu_thread_policy": ["prefer", "require"],
    "hw:numa_nodes": ["1", "2"],
    "hw:mem_page_size": ["small", "large", "2048"],
    "quota:cpu_quota": ["50000"],
}
PROPERTIES: dict[str, list[str]] = {
    "hw_cpu_policy": ["dedicated"],
    "hw_cpu_realtime_mask": ["^0"],
    "hw_mem_page_size": ["small"],
}
LISTED = {
    "hw_numa_nodes": "2",
    "hw_numa_cpus.0": "0",
    "hw_numa_cpus.1": "1-2",
    "hw_numa_mem.0": "256",
    "hw_numa_mem.1": "768",
}
AS_NOVA_KEEPS_THEM = {
    "hw_numa_nodes": "2",
    "hw_numa_cpus": "[CoercedSet({0}), CoercedSet({1, 2})]",
    "hw_numa_mem": "[256, 768]",
}


def some(table: dict[str, list[str]], most: int) -> st.SearchStrategy[dict[str, str]]:
    """Draw up to ``most`` keys, each with one of its values."""
    return st.lists(st.sampled_from(sorted(table)), unique=True, max_size=most).flatmap(
        lambda keys: st.fixed_dictionaries({key: st.sampled_from(table[key]) for key in keys})
    )


FLAVORS = st.builds(Flavor, st.just("f"), st.integers(1, 4), st.just(1024), some(SPECS, 6))
IMAGES = st.one_of(
    st.just(Image("i", {})),
    st.builds(Image, st.just("i"), some(PROPERTIES, 2)),
    st.just(Image("i", LISTED)),
)


def started(
    number: int, flavor: Flavor, image: Image, host: Host, release: Release
) -> tuple[Server, GuestXml] | None:
    """Place a guest on a host; None where Nova or libvirt does not take it."""
    try:
        guest = constraints.guest(flavor, image, release)
        cells = inventory.host_cells(host, release)
        fitted = fit(cells or (), guest, release) if guest else None
        if guest and not fitted:
            return None
        places = guest_xml.places_of(fitted)
        xml = guest_xml.predict(flavor, image, guest, places, host, release, fitted)
        properties = image_properties.read(image, release)
    except NovaError:
        return None
    if guest_xml.refused_by_libvirt(flavor, properties, guest, host, release):
        return None
    if 0 in (xml.emulator, *xml.vcpu_pins.values()):
        return None
    return Server(f"u-{number}", f"vm-{number}", host.name, flavor, image, places=places), xml


def with_usage(host: Host, server: Server) -> Host:
    """Take the CPUs of a guest from those that are free."""
    held = {each.cell: each.pinned_cpus for each in host.usage}
    for place in server.places or ():
        taken = place.reserved | sum(1 << cpu for cpu in set(place.pins.values()))
        held[place.cell] = held.get(place.cell, 0) | taken
    return dataclasses.replace(host, usage=tuple(CellUsage(c, p) for c, p in held.items()))


def named(tag: str, texts: t.Mapping[str, str]) -> str:
    return "".join(f'<n:{tag} name="{name}">{text}</n:{tag}>' for name, text in texts.items())


def metadata(server: Server, release: Release, *, told: bool) -> str:
    """Write Nova's metadata, with extra specs and image properties where they are told."""
    flavor, properties = server.flavor, dict(server.image.properties)
    if properties == LISTED:
        properties = AS_NOVA_KEEPS_THEM
    specs = named("extraSpec", flavor.extra_specs)
    kept = named("property", properties)
    return (
        f'<metadata><n:instance xmlns:n="{SPACE}{"1.1" if told else "1.0"}">'
        f'<n:package version="{release.name}-1.el9"/><n:name>{server.name}</n:name>'
        f'<n:flavor name="{flavor.name}"><n:memory>{flavor.memory_mb}</n:memory>'
        f"<n:vcpus>{flavor.vcpus}</n:vcpus>"
        + (f"<n:extraSpecs>{specs}</n:extraSpecs>" if told else "")
        + "</n:flavor>"
        + (f'<n:image uuid="i"><n:properties>{kept}</n:properties></n:image>' if told else "")
        + "</n:instance></metadata>"
    )


def dumped(server: Server, xml: GuestXml, meta: str, *, running: bool) -> str:
    """Write a domain as libvirt prints it: scheduling vCPU by vCPU, a CPU model of its own."""
    parts = xml_form.elements(xml)
    tuned = parts.get("cputune", ET.Element("cputune"))
    for old in tuned.findall("vcpusched"):
        tuned.remove(old)
        for vcpu in ids(parse_nova(old.get("vcpus", ""))):
            ET.SubElement(tuned, "vcpusched", {**old.attrib, "vcpus": str(vcpu)})
    parts["vcpu"].set("placement", "static")
    if running:
        parts["cpu"].set("mode", "custom")
        ET.SubElement(parts["cpu"], "model", fallback="forbid").text = "Skylake-Server-IBRS"
    inner = "".join(ET.tostring(part, encoding="unicode") for part in parts.values())
    own = ' id="7"' if running else ""
    return f"<domain{own}><name>{server.name}</name><uuid>{server.id}</uuid>{meta}{inner}</domain>"


@given(
    st.sampled_from(HOSTS),
    st.sampled_from(RELEASES),
    st.lists(st.tuples(FLAVORS, IMAGES), min_size=1, max_size=4),
    st.sampled_from(["own", "places", "servers", "nothing"]),
)
def test_what_libvirt_prints_of_guests_that_nova_made_has_no_drift(
    make: t.Callable[..., HostCase],
    name: str,
    asked: list[tuple[Flavor, Image]],
    told: str,
) -> None:
    case = make(release=name)
    host, release = case.host, case.release
    servers, entries = [], []
    for number, (flavor, image) in enumerate(asked):
        made = started(number, flavor, image, host, release)
        if made is None:
            continue
        server, xml = made
        host = with_usage(host, server)
        meta = metadata(server, release, told=told == "own")
        forms = {
            form: libvirt_xml.described(dumped(server, xml, meta, running=form == "live"))
            for form in ("live", "persistent")
        }
        entries.append(libvirt_xml.joined(forms) | {"running": True})
        servers.append(server if told == "places" else dataclasses.replace(server, places=None))
    assume(entries)
    domains = domain_files.host_domains({"format": 1, "domains": entries}, host.name).domains
    fleet = Fleet(
        Scheduler(name),
        (HostClass(case.host, case.names),),
        servers=tuple(servers) if told in ("places", "servers") else (),
    )
    for each in guests.guest_cases(fleet, domains):
        assert each.predicted is not None, each.unpredicted
        for form in (each.domain.live, each.domain.persistent):
            assert form is not None
            assert guests.drift(each.predicted, form) == ()
        assert each.inferred == (told == "nothing")
