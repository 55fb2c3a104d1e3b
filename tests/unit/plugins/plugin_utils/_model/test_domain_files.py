# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read import libvirt_xml
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import domain_files
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.domain import (
    Domain,
    Metadata,
    Thread,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor, Image
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest_xml import (
    Backing,
    CpuModel,
    GuestXml,
    Scheduling,
    XmlCell,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.schema import check
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import xml_form

FIXTURES = pathlib.Path(__file__).parents[3] / "fixtures"
LIVE = (FIXTURES / "domains/realtime.xml").read_text(encoding="utf-8")
PERSISTENT = LIVE.replace(" id='7'", "").replace("emulatorpin cpuset='6'", "emulatorpin cpuset=''")
ID = "6f3c2a9e-1b7d-4f6e-9c55-0d2a8b1e4c70"
FIFO = Scheduling("fifo", 1)
XML = GuestXml(
    4,
    emulator=1 << 6,
    iothreads=1,
    iothread_pins={1: 1 << 6},
    vcpu_pins={0: 1 << 6, 1: 1 << 2, 2: 1 << 5, 3: 1 << 4},
    vcpu_scheduling={1: FIFO, 2: FIFO, 3: FIFO},
    memory_mode="strict",
    host_cells=1,
    memnodes={0: 1},
    backing=Backing({0: 1 << 20}, nosharepages=True, locked=True),
    cpu=CpuModel("custom", "Icelake-Server", (4, 1, 1)),
    cells=(XmlCell(0, 0b1111, 4 << 20, shared=True),),
)
ENTRY = libvirt_xml.described(LIVE)
FACTS = {
    "format": 1,
    "libvirt": {"version": "9.0.0"},
    "domains": [
        {
            **{key: value for key, value in ENTRY.items() if key != "xml"},
            "pid": 4711,
            "live": ENTRY["xml"],
            "threads": [
                {
                    "id": 4711,
                    "name": "qemu-kvm",
                    "kind": "emulator",
                    "main": True,
                    "cpus": 6,
                    "policy": "other",
                    "priority": 0,
                    "last_cpu": 6,
                },
                {
                    "id": 4720,
                    "name": "CPU 1/KVM",
                    "kind": "vcpu",
                    "index": 1,
                    "cpus": "2",
                    "policy": "fifo",
                    "priority": 1,
                },
            ],
            "memory": {"locked_kb": 4194304, "cells": {"0": 4194304}},
            "unread": ["memory: swap cannot be read (permission denied)"],
        },
        {"id": "b", "name": "other", "running": False},
    ],
    "unread": ["domains of qemu:///session: refused"],
}


def facts(**changes: t.Any) -> dict[str, t.Any]:
    """Give facts of one domain, some of its keys changed."""
    domain = {"id": "a", "name": "n", "running": True, "live": {"vcpus": 2}}
    return {"domains": [domain | changes]}


def write(folder: pathlib.Path, files: dict[str, t.Any]) -> str:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
    return str(folder)


def test_all_that_facts_tell_of_a_domain() -> None:
    found = domain_files.host_domains(FACTS, "c1", "f.json")
    assert (found.libvirt, found.unread) == ("9.0.0", ("domains of qemu:///session: refused",))
    first, second = found.domains
    where = "f.json: domains[0]"
    sizes: dict[str, t.Any] = {
        "disk_gb": 20,
        "id": "5c1d0c1a-62f5-4a0e-8f3c-2f1b9d7f0a11",
        "where": where,
    }
    specs = {
        "hw:cpu_policy": "dedicated",
        "hw:cpu_realtime": "yes",
        "hw:cpu_realtime_mask": "^0",
        "hw:mem_page_size": "1048576",
    }
    assert first == Domain(
        ID,
        "instance-00000012",
        "c1",
        running=True,
        live=XML,
        nova=Metadata(
            "34.0.0", "34.0.0-1.el9", "db-1", "rt.4", Flavor("rt.4", 4, 4096, {}, **sizes)
        ),
        flavor=Flavor("rt.4", 4, 4096, specs, **sizes),
        image=Image(
            "a7f9d1b2-58c4-4e7b-8f0e-3b6f2a9c1d23",
            {"hw_machine_type": "q35", "hw_cdrom_bus": "sata"},
            where,
        ),
        threads=(
            Thread(4711, "qemu-kvm", "emulator", None, 1 << 6, "other", 0, 6, main=True),
            Thread(4720, "CPU 1/KVM", "vcpu", 1, 1 << 2, "fifo", 1),
        ),
        locked_kb=4194304,
        memory_kb={0: 4194304},
        unread=("memory: swap cannot be read (permission denied)",),
        where=where,
    )
    assert second == Domain("b", "other", "c1", running=False, where="f.json: domains[1]")


def test_before_release_32_the_flavor_is_known_and_its_extra_specs_are_not() -> None:
    flavor = {"name": "f", "vcpus": 2, "ram": 512}
    (found,) = domain_files.host_domains(facts(nova={"flavor": flavor}), "c1").domains
    assert (found.flavor, found.image) == (None, None)
    assert found.nova
    assert found.nova.bare == Flavor("f", 2, 512, {}, where="domains[0]")
    assert (found.nova.release, found.nova.package) == (None, "")


def test_a_flavor_that_lacks_its_size_is_said_to_be_incomplete() -> None:
    told = {"flavor": {"name": "f", "vcpus": 2}, "extra_specs": {}}
    (found,) = domain_files.host_domains(facts(nova=told), "c1").domains
    assert found.nova
    assert (found.flavor, found.nova.bare, found.nova.flavor) == (None, None, "f")
    assert found.unread == ("nova: the flavor in the metadata is incomplete",)


@pytest.mark.parametrize(
    ("package", "release"),
    [
        ("32.1.0-1.el9", "32.1.0"),
        ("1:27.5.1-0ubuntu1~cloud0", "27.5.1"),
        ("3:25.2.1-0ubuntu2.1", "25.2.1"),
        ("25.2.1.dev15", "25.2.1"),
        ("20.6.2~dev1-r0", "20.6.2"),
        (" 34.0.0 ", "34.0.0"),
        ("2:13.0", "13.0"),
        ("", None),
        ("master", None),
        ("unknown-34.0.0", None),
        ("7", None),
        ("99999999.1", None),
    ],
)
def test_the_release_in_the_version_of_a_package(package: str, release: str | None) -> None:
    assert domain_files.release(package) == release


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "is not of type object"),
        ({}, "'domains' is missing"),
        ({"format": 2, "domains": []}, "format: 2 is another version"),
        ({"domains": [], "hosts": []}, "hosts: unknown key"),
        (facts(id=""), r"domains\[0\]\.id: '' has another form"),
        (facts(running="yes"), "running: 'yes' is not of type boolean"),
        (facts(live={}), r"live: the key 'vcpus' is missing; accepted: Number of vCPUs\."),
        (facts(live={"vcpus": 0}), "live.vcpus: 0 is less than 1"),
        (facts(live={"vcpus": 1, "cpuset": "3-1"}), "live.cpuset: the range '3-1' falls"),
        (
            facts(live={"vcpus": 1, "cputune": {"vcpupin": {"0": "a"}}}),
            r"live\.cputune\.vcpupin\['0'\]: 'a' is no item",
        ),
        (
            facts(live={"vcpus": 1, "cputune": {"vcpupin": {"00": "1"}}}),
            "'00' is no key here; accepted: numbers of vCPUs, I/O threads or cells",
        ),
        (
            facts(live={"vcpus": 1, "cputune": {"emulatorsched": {"policy": "x"}}}),
            "emulatorsched.policy: 'x' is none of them; accepted: fifo, rr, batch, idle",
        ),
        (
            facts(live={"vcpus": 1, "cells": [{"id": 0, "vcpus": "-", "memory_kb": 1}]}),
            r"live\.cells\[0\]\.vcpus: '-' is no item",
        ),
        (
            facts(threads=[{"id": 1, "name": "", "kind": "vcpu", "cpus": "9-", "policy": "rr"}]),
            r"threads\[0\]\.cpus: '9-' is no item",
        ),
        ({"domains": facts()["domains"] * 2}, r"domains\[1\]: the domain 'a' is given twice"),
    ],
)
def test_documents_that_are_refused(document: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        domain_files.host_domains(document, "c1", "f.yml")
    assert str(caught.value).startswith("f.yml: ")


@pytest.mark.parametrize(
    "document", [FACTS, {"pinguard_guests": FACTS}, {"ansible_facts": {"pinguard_guests": FACTS}}]
)
def test_a_folder_of_facts_has_a_file_for_each_host(document: object, tmp_path: t.Any) -> None:
    path = write(tmp_path, {"c1.json": document, "c2.example.yml": {"domains": []}, ".x.yml": ""})
    found = domain_files.read_hosts(path)
    assert list(found) == ["c1", "c2.example"]
    assert [domain.host for domain in found["c1"].domains] == ["c1", "c1"]
    assert found["c2.example"].domains == ()
    alone = domain_files.read_hosts(f"{path}/c1.json")
    assert [domain.id for domain in alone["c1"].domains] == [ID, "b"]


def test_a_folder_of_xml_has_a_folder_for_each_host(tmp_path: pathlib.Path) -> None:
    other = LIVE.replace(ID, "u-2")
    files = {"c1/a.inactive.xml": PERSISTENT, "c1/b.xml": LIVE, "c2/x.xml": other, "c2/n.txt": ""}
    path = write(tmp_path, files)
    found = domain_files.read_hosts(path)
    (first,), (second,) = found["c1"].domains, found["c2"].domains
    assert (first.id, first.host, first.running, first.live) == (ID, "c1", True, XML)
    assert first.persistent
    assert (first.persistent.emulator, second.persistent) == (0, None)
    assert first.flavor
    assert (first.flavor.name, first.threads, second.id) == ("rt.4", None, "u-2")
    assert domain_files.read_hosts(f"{path}/c2").keys() == {"c2"}
    assert domain_files.read_hosts(f"{path}/c2/x.xml")["c2"].domains == (second,)


def test_xml_without_the_number_of_a_running_domain_is_persistent(tmp_path: t.Any) -> None:
    path = write(tmp_path, {"c1/a.xml": PERSISTENT})
    (found,) = domain_files.read_hosts(path)["c1"].domains
    assert (found.running, found.live) == (False, None)
    assert found.xml
    assert found.where.endswith("c1/a.xml")


def test_facts_and_xml_of_different_hosts_may_share_a_folder(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, {"c1.yml": FACTS, "c2/a.xml": LIVE})
    assert domain_files.read_hosts(path).keys() == {"c1", "c2"}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "the folder holds no domains; accepted: a folder of guest facts"),
        ({"c1/notes.txt": ""}, "the folder holds no domains"),
        ({"c1.yml": FACTS, "c1.json": FACTS}, "there are two hosts 'c1'"),
        ({"c1.yml": FACTS, "c1/a.xml": LIVE}, "there are two hosts 'c1'"),
        ({"c1/a.xml": LIVE, "c1/b.xml": LIVE}, "b.xml: the live XML of .* twice, first in a.xml"),
        ({"c1/a.xml": PERSISTENT, "c1/b.xml": PERSISTENT}, "b.xml: the persistent XML of"),
        ({"c1/a.xml": "<network/>"}, r"c1/a\.xml: the root is 'network'"),
        ({"c1.yml": {"domains": {}}}, "host c1: domains: {} is not of type array"),
        ({"c1.json": "{"}, r"c1\.json:1: broken JSON"),
    ],
)
def test_folders_that_are_refused(files: t.Any, message: str, tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, files)
    with pytest.raises(InputError, match=message):
        domain_files.read_hosts(path)


def test_a_path_that_is_not_there_is_refused() -> None:
    for path in ("/nowhere", "/nowhere/a.xml", "a\0b"):
        with pytest.raises(InputError):
            domain_files.read_hosts(path)


CPUS = st.integers(1, (1 << 70) - 1)
SCHEDULINGS = st.builds(
    Scheduling, st.sampled_from(["fifo", "rr"]), st.integers(0, 99)
) | st.sampled_from([Scheduling("batch"), Scheduling("idle")])
AMOUNTS = st.none() | st.integers(0, 1 << 40)


@st.composite
def guests(draw: st.DrawFn) -> GuestXml:
    """Draw what XML can say."""
    vcpus, threads, cells = (draw(st.integers(low, 9)) for low in (1, 0, 0))
    numa = draw(st.booleans())
    address = draw(st.sampled_from([None, "passthrough", "emulate"]))

    def some(count: int, values: st.SearchStrategy[t.Any], first: int = 0) -> t.Any:
        keys = st.integers(first, first + count - 1) if count else st.nothing()
        return draw(st.dictionaries(keys, values))

    return GuestXml(
        vcpus,
        draw(st.none() | CPUS),
        draw(AMOUNTS),
        draw(AMOUNTS | st.just(-1)),
        draw(AMOUNTS),
        draw(st.none() | st.just(0) | CPUS),
        threads,
        some(threads, CPUS, 1),
        some(vcpus, CPUS | st.just(0)),
        some(vcpus, SCHEDULINGS),
        draw(st.none() | SCHEDULINGS),
        some(threads, SCHEDULINGS, 1),
        "strict" if numa else None,
        draw(CPUS) if numa else 0,
        some(cells, CPUS) if numa else {},
        Backing(some(cells or 1, st.integers(1, 1 << 30)), *draw(st.tuples(*[st.booleans()] * 4))),
        CpuModel(
            draw(st.sampled_from([None, "custom", "host-model"])),
            draw(st.sampled_from([None, "Icelake-Server"])),
            draw(st.none() | st.tuples(*[st.integers(1, 64)] * 3)),
            address,
            draw(st.none() | st.integers(1, 64)) if address else None,
        ),
        tuple(
            XmlCell(
                cell, draw(CPUS | st.just(0)), draw(st.integers(0, 1 << 40)), draw(st.booleans())
            )
            for cell in range(cells)
        ),
    )


@given(guests())
def test_xml_and_its_document_tell_the_same(xml: GuestXml) -> None:
    document = domain_files.as_document(xml)
    check(document, "guests:1#/$defs/xml")
    assert domain_files.guest_xml(json.loads(json.dumps(document))) == xml
    text = f"<domain><uuid>u</uuid><name>n</name>{xml_form.text(xml)}</domain>"
    assert libvirt_xml.described(text)["xml"] == document
