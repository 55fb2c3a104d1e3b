# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import server_files
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import (
    NO_IMAGE,
    Flavor,
    Image,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.joining import Guests
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import (
    Allocation,
    CellPlace,
    Server,
)

if t.TYPE_CHECKING:
    import pathlib

SPECS = {"hw:cpu_policy": "dedicated", "hw:numa_nodes": "1"}
FLAVORS = (Flavor("pinned", 2, 4096, SPECS),)
IMAGES = (Image("rhel", {"hw_cpu_policy": "dedicated"}),)
PLACES = (CellPlace(0, {0: 4, 1: 5}, 1 << 6, 4),)


def stored(**fields: object) -> dict[str, object]:
    """Write an object as Nova's database has it."""
    return {"nova_object.name": "X", "nova_object.version": "1.0", "nova_object.data": fields}


OWN: dict[str, t.Any] = {
    "id": "u-1",
    "name": "db-1",
    "host": "h1",
    "flavor": {"name": "pinned", "vcpus": 2, "ram": 4096, "extra_specs": SPECS},
    "image": "rhel",
    "cells": [{"host_cell": 0, "pins": {"0": 4, "1": 5}, "reserved": "6", "page_size_kb": 4}],
}
LISTED: dict[str, t.Any] = {
    "ID": "u-1",
    "Name": "db-1",
    "Status": "ACTIVE",
    "Networks": {"net": ["10.0.0.1"]},
    "Image Name": "rhel",
    "Image ID": "i-1",
    "Flavor": "pinned",
    "Host": "h1",
    "Properties": {},
}
SHOWN: dict[str, t.Any] = {
    "id": "u-1",
    "name": "db-1",
    "status": "ACTIVE",
    "addresses": {},
    "OS-EXT-SRV-ATTR:host": "h1",
    "image": "rhel (5a4e9a5e-0000-4000-8000-000000000000)",
    "flavor": {
        "original_name": "pinned",
        "vcpus": 2,
        "ram": 4096,
        "disk": 20,
        "ephemeral": 0,
        "swap": 0,
        "extra_specs": SPECS,
    },
}
CELL: dict[str, t.Any] = {
    "id": 0,
    "cpuset": [],
    "pcpuset": [0, 1],
    "cpu_pinning_raw": {"0": 4, "1": 5},
    "cpuset_reserved": [6],
    "pagesize": 4,
    "cpu_policy": "dedicated",
}
ROW: dict[str, t.Any] = {
    "uuid": "u-1",
    "display_name": "db-1",
    "host": "h1",
    "vm_state": "active",
    "deleted": 0,
    "flavor": {
        "cur": stored(
            name="pinned",
            flavorid="7",
            vcpus=2,
            memory_mb=4096,
            root_gb=20,
            ephemeral_gb=0,
            swap=0,
            extra_specs=SPECS,
        ),
        "old": None,
    },
    "numa_topology": stored(cells=[stored(**CELL)]),
    "system_metadata": {"image_base_image_ref": "i-1", "image_hw_cpu_policy": "dedicated"},
}
TEXT_ROW = ROW | {
    key: json.dumps(ROW[key]) for key in ("flavor", "numa_topology", "system_metadata")
}
DOMAIN = """<domain><name>instance-1</name><uuid>u-1</uuid>
<metadata><n:instance xmlns:n="http://openstack.org/xmlns/libvirt/nova/1.1"><n:name>db-1</n:name>
<n:flavor name="pinned"><n:memory>4096</n:memory><n:vcpus>2</n:vcpus></n:flavor></n:instance>
</metadata><vcpu>2</vcpu>
<cputune><vcpupin vcpu="0" cpuset="4"/><vcpupin vcpu="1" cpuset="5"/>
<emulatorpin cpuset="6"/></cputune>
<numatune><memnode cellid="0" nodeset="0"/></numatune>
<cpu><numa><cell id="0" cpus="0-1" memory="4194304"/></numa></cpu></domain>"""


def guests(document: object) -> Guests:
    return server_files.guests(document, FLAVORS, IMAGES, "f")


@pytest.mark.parametrize(
    ("document", "places"),
    [
        ({"format": 1, "servers": [OWN]}, PLACES),
        ([OWN], PLACES),
        ([LISTED], None),
        ([SHOWN], None),
        (SHOWN, None),
        ({"servers": [SHOWN]}, None),
        ({"server": SHOWN}, None),
        ([SHOWN | {"flavor": "pinned (7)"}], None),
        ([SHOWN | {"flavor": {"original_name": "pinned", "vcpus": 2, "ram": 4096}}], None),
        ([{k: v for k, v in SHOWN.items() if ":" not in k} | {"compute_host": "h1"}], None),
        ([ROW], PLACES),
        ([TEXT_ROW], PLACES),
        ([ROW, ROW | {"uuid": "u-2", "deleted": 5}], PLACES),
        ([ROW | {"numa_topology": None}], ()),
        ([{k: v for k, v in ROW.items() if k != "numa_topology"}], None),
    ],
)
def test_every_shape_gives_the_same_server(document: object, places: object) -> None:
    (found,) = guests(document).servers
    assert (found.id, found.name, found.host, found.status) == ("u-1", "db-1", "h1", "ACTIVE")
    assert (found.flavor.name, found.flavor.vcpus, found.flavor.memory_mb) == ("pinned", 2, 4096)
    assert found.flavor.extra_specs == SPECS
    assert found.image.properties == {"hw_cpu_policy": "dedicated"}
    assert found.places == places
    assert found.allocation is None
    assert found.where.startswith("f: ") or document == SHOWN


def test_a_server_on_no_host_has_no_places() -> None:
    (found,) = guests([ROW | {"host": None, "vm_state": "shelved_offloaded"}]).servers
    assert (found.host, found.status, found.places) == ("", "SHELVED_OFFLOADED", None)


@pytest.mark.parametrize("image", ["", "N/A (booted from volume)", None])
def test_a_server_from_a_volume_has_no_image(image: str | None) -> None:
    (shown, listed) = guests(
        [SHOWN | {"image": image}, LISTED | {"Image Name": image, "Image ID": image}]
    ).servers
    assert shown.image == listed.image == NO_IMAGE


def test_an_image_that_nobody_knows_any_more_has_no_properties() -> None:
    shown, stored_at = guests(
        [SHOWN | {"image": {"id": "i-9"}}, SHOWN | {"image": {"id": "i", "properties": {"a": "b"}}}]
    ).servers
    assert (shown.image.name, shown.image.properties) == ("i-9", {})
    assert stored_at.image.properties == {"a": "b"}


def test_equal_flavors_are_one_value() -> None:
    first, second = guests([ROW, ROW | {"uuid": "u-2"}]).servers
    assert first.flavor is second.flavor


HELD = {"c-1": {"resources": {"PCPU": 2, "MEMORY_MB": 4096}}}


@pytest.mark.parametrize(
    "document",
    [
        {"h1": {"allocations": HELD, "resource_provider_generation": 7}},
        {"uuid": "p", "name": "h1", "generation": 7, "allocations": HELD},
        [{"name": "h1", "allocations": HELD}],
    ],
)
def test_allocations_of_placement(document: object) -> None:
    found = guests(document)
    assert found.allocations == (Allocation("c-1", "h1", {"PCPU": 2, "MEMORY_MB": 4096}),)
    assert not found.servers
    assert found.told == {"h1"}


@pytest.mark.parametrize("key", ["a; reboot", "a b", "-a", "a\n", "a" * 256, ""])
def test_ids_that_a_shell_would_obey_are_refused(key: str) -> None:
    held = {"host": "h", "resources": {}}
    for document, at in (
        ({"format": 1, "servers": [{"id": key, "host": "h", "flavor": "pinned"}]}, "servers.0..id"),
        ([SHOWN | {"id": key}], ".0..id"),
        ([ROW | {"uuid": key}], ".0..id"),
        ({"servers": [], "allocations": [{"consumer": key, **held}]}, "allocations.0..consumer"),
        ({"h": {"allocations": {key: {"resources": {}}}}}, "h.allocations"),
    ):
        with pytest.raises(InputError, match=f"^f: {at}.* accepted: "):
            server_files.guests(document, FLAVORS, IMAGES, "f")


@pytest.mark.parametrize("amount", [-1, 2**31, 10**400])
def test_amounts_that_placement_cannot_hold_are_refused(amount: int) -> None:
    entry = {"id": "a", "host": "h", "flavor": "pinned", "allocation": {"PCPU": amount}}
    with pytest.raises(InputError, match=r"servers\[0\].allocation.PCPU: .* is (less|more) than"):
        server_files.guests({"format": 1, "servers": [entry]}, FLAVORS, IMAGES)


def test_a_host_without_allocations_is_told_of() -> None:
    assert guests({"h1": {"allocations": {}}, "h2": {"allocations": HELD}}).told == {"h1", "h2"}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (1, "f: 1 has no known shape; accepted: {format: 1, servers"),
        ({}, "f: {} has no known shape"),
        ([{"a": 1}], r"f: \[0\]: {'a': 1} has no known shape"),
        ({"servers": 1}, "f: servers: 1 is no list"),
        ({"servers": [SHOWN], "servers_links": [{"rel": "next"}]}, "further pages are missing"),
        ([OWN | {"hots": "h"}], r"f: \[0\].hots: unknown key .nearest: host"),
        ([OWN | {"flavor": "pined"}], "no flavor 'pined' .nearest: pinned"),
        ([OWN | {"flavor": {"name": "a", "ram": 1}}], r"\[0\].flavor: the key 'vcpus' is missing"),
        ([OWN | {"image": "suse"}], "there is no image 'suse'"),
        ([{k: v for k, v in LISTED.items() if k != "Host"}], "there is no Host; .*--long"),
        ([SHOWN | {"OS-EXT-SRV-ATTR:host": 7}], r"\[0\].host: 7 is not of type string"),
        ([{"addresses": {}}], "there is no OS-EXT-SRV-ATTR:host"),
        ([SHOWN | {"flavor": {"id": "7"}}], "there is no original_name; .*2.47"),
        ([ROW | {"flavor": None}], r"f: \[0\].flavor.cur: None is no mapping"),
        ([ROW | {"flavor": "{"}], r"f: \[0\].flavor:2: broken YAML"),
        ([ROW | {"numa_topology": stored(cells=[1])}], r"cells\[0\]: 1 is no mapping"),
        (
            [ROW | {"numa_topology": stored(cells=[stored(**CELL | {"cpuset_reserved": ["x"]})])}],
            "cpuset_reserved: 'x' is no CPU",
        ),
        ([{"name": "h", "allocations": 1}], r"f: \[0\].allocations: 1 is no mapping"),
        ({"h": {"allocations": {"c": {}}}}, "h.allocations.c.resources: None is no mapping"),
        ({"h": {"allocations": {"c": {"resources": {"PCPU": -1}}}}}, "resources.PCPU: -1 is less"),
    ],
)
def test_a_bad_document_is_refused_by_file_and_key(document: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        guests(document)


def test_domains_are_on_the_host_of_their_folder(tmp_path: pathlib.Path) -> None:
    for host in ("h1", "h2"):
        (tmp_path / host).mkdir()
        text = DOMAIN.replace("u-1", f"u-{host}")
        (tmp_path / host / "db.xml").write_text(text, encoding="utf-8")
    (tmp_path / "h1" / "notes.txt").write_text("no domain", encoding="utf-8")
    found = server_files.read(str(tmp_path), (), ())
    assert [(one.id, one.host) for one in found.servers] == [("u-h1", "h1"), ("u-h2", "h2")]
    for path in ("h1", "h1/db.xml"):
        assert server_files.read(str(tmp_path / path), (), ()).servers == found.servers[:1]
    one = found.servers[0]
    assert (one.name, one.places) == ("db-1", (CellPlace(0, {0: 4, 1: 5}, 1 << 6),))
    assert one.flavor.extra_specs == SPECS | {"hw:emulator_threads_policy": "isolate"}
    assert found.guessed


def of_domain(text: str, tmp_path: pathlib.Path) -> Server:
    file = tmp_path / "domain.xml"
    file.write_text(text, encoding="utf-8")
    (found,) = server_files.read(str(file), FLAVORS, IMAGES).servers
    return found


PAGES = '<memoryBacking><hugepages><page size="1" unit="G"/></hugepages></memoryBacking>'
SECOND_CELL = '<cell id="1" cpus="1" memory="{}"/>'


@pytest.mark.parametrize(
    ("before", "after", "specs"),
    [
        ('cpuset="6"', 'cpuset="6-7"', SPECS | {"hw:emulator_threads_policy": "share"}),
        ('cpuset="6"', 'cpuset="4-5"', SPECS),
        (
            '"1" cpuset="5"',
            '"1" cpuset="6-7"',
            {
                "hw:cpu_policy": "mixed",
                "hw:cpu_dedicated_mask": "0",
                "hw:emulator_threads_policy": "isolate",
                "hw:numa_nodes": "1",
            },
        ),
        ('cpuset="5"', 'cpuset="4"', {"hw:numa_nodes": "1"}),
        (
            'cpus="0-1" memory="4194304"/>',
            'cpus="0" memory="2097152"/>' + SECOND_CELL.format(1048576),
            SPECS
            | {
                "hw:emulator_threads_policy": "isolate",
                "hw:numa_nodes": "2",
                "hw:numa_cpus.0": "0",
                "hw:numa_mem.0": "2048",
                "hw:numa_cpus.1": "1",
                "hw:numa_mem.1": "1024",
            },
        ),
        (
            "<numatune>",
            f"{PAGES}<numatune>",
            SPECS | {"hw:emulator_threads_policy": "isolate", "hw:mem_page_size": "1048576"},
        ),
    ],
)
def test_extra_specs_are_inferred(
    before: str, after: str, specs: dict[str, str], tmp_path: pathlib.Path
) -> None:
    assert before in DOMAIN
    assert of_domain(DOMAIN.replace(before, after), tmp_path).flavor.extra_specs == specs


def test_extra_specs_that_are_there_are_not_inferred(tmp_path: pathlib.Path) -> None:
    given = '<n:extraSpecs><n:extraSpec name="a">b</n:extraSpec></n:extraSpecs></n:flavor>'
    found = of_domain(DOMAIN.replace("</n:flavor>", given), tmp_path)
    assert found.flavor.extra_specs == {"a": "b"}
    assert found.places == (CellPlace(0, {0: 4, 1: 5}),)


def test_cells_that_are_tied_to_no_single_host_cell_are_unknown(tmp_path: pathlib.Path) -> None:
    assert of_domain(DOMAIN.replace('nodeset="0"', 'nodeset="0-1"'), tmp_path).places is None
    floating = DOMAIN.partition("<cputune>")[0] + "</domain>"
    assert of_domain(floating, tmp_path).places == ()


def test_bad_files_are_refused(tmp_path: pathlib.Path) -> None:
    foreign = tmp_path / "foreign.xml"
    foreign.write_text("<domain><name>n</name><uuid>u</uuid><vcpu>1</vcpu></domain>")
    with pytest.raises(InputError, match=r"foreign\.xml: there is no flavor in the metadata"):
        server_files.read(str(foreign), (), ())
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match=r"empty: the folder holds no \*\.xml"):
        server_files.read(str(empty), (), ())
    nothing = tmp_path / "nothing.yml"
    nothing.touch()
    with pytest.raises(InputError, match="the file is empty"):
        server_files.read(str(nothing), (), ())
    with pytest.raises(InputError, match=r"none\.json: no such file"):
        server_files.read(str(tmp_path / "none.json"), (), ())


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@st.composite
def spoilt(draw: st.DrawFn) -> object:
    """Put any value in the place of a part of a good document."""
    document = json.loads(
        json.dumps(draw(st.sampled_from([OWN, LISTED, SHOWN, ROW, {"h1": {"allocations": HELD}}])))
    )
    node: t.Any = document
    while True:
        key = draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        if not isinstance(node[key], dict | list) or not node[key] or draw(st.booleans()):
            node[key] = draw(ANY)
            return draw(st.sampled_from([document, [document], {"servers": [document]}]))
        node = node[key]


@given(ANY | spoilt())
def test_any_document_gives_servers_or_is_refused_on_one_line(document: object) -> None:
    try:
        text = repr(guests(document))
    except InputError as problem:
        text = str(problem)
    assert text
    assert "\n" not in text


def test_deep_documents_are_refused() -> None:
    deep: t.Any = []
    for _level in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match="nested too deeply"):
        guests({"servers": deep})
    with pytest.raises(InputError, match="nested too deeply"):
        guests([ROW | {"flavor": "[" * 100_000}])
