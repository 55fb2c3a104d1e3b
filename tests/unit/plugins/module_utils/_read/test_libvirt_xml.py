# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pathlib
import time
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read import libvirt_xml
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.schema import check

FIXTURES = pathlib.Path(__file__).parents[3] / "fixtures"
LIVE = (FIXTURES / "domains/realtime.xml").read_text(encoding="utf-8")
"""A realtime guest of release 34, as ``virsh dumpxml`` of libvirt 9 prints it."""
FIFO = {"policy": "fifo", "priority": 1}

NOVA = """<metadata><nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/{version}">
  <nova:package version="27.5.1"/>
  <nova:name>db-1</nova:name>
  <nova:flavor name="pinned.2">
    <nova:memory>4096</nova:memory><nova:disk>20</nova:disk><nova:swap>0</nova:swap>
    <nova:ephemeral>0</nova:ephemeral><nova:vcpus>2</nova:vcpus>
  </nova:flavor>
</nova:instance></metadata>"""
PLAIN = "<domain type='kvm'><name>instance-1</name><uuid>u-1</uuid>{}</domain>"
TUNED = PLAIN.format("<vcpu>4</vcpu><cputune>{}</cputune>")


def xml_of(inner: str) -> dict[str, t.Any]:
    found: dict[str, t.Any] = libvirt_xml.described(PLAIN.format(inner))["xml"]
    return found


def tune(inner: str) -> dict[str, t.Any]:
    found: dict[str, t.Any] = libvirt_xml.described(TUNED.format(inner))["xml"].get("cputune", {})
    return found


def test_a_running_realtime_guest() -> None:
    assert libvirt_xml.described(LIVE) == {
        "id": "6f3c2a9e-1b7d-4f6e-9c55-0d2a8b1e4c70",
        "name": "instance-00000012",
        "running": True,
        "nova": {
            "package": "34.0.0-1.el9",
            "name": "db-1",
            "flavor": {
                "name": "rt.4",
                "id": "5c1d0c1a-62f5-4a0e-8f3c-2f1b9d7f0a11",
                "vcpus": 4,
                "ram": 4096,
                "disk": 20,
                "ephemeral": 0,
                "swap": 0,
            },
            "extra_specs": {
                "hw:cpu_policy": "dedicated",
                "hw:cpu_realtime": "yes",
                "hw:cpu_realtime_mask": "^0",
                "hw:mem_page_size": "1048576",
            },
            "image": "a7f9d1b2-58c4-4e7b-8f0e-3b6f2a9c1d23",
            "image_properties": {"hw_machine_type": "q35", "hw_cdrom_bus": "sata"},
        },
        "xml": {
            "vcpus": 4,
            "cputune": {
                "emulatorpin": "6",
                "vcpupin": {"0": "6", "1": "2", "2": "5", "3": "4"},
                "iothreadpin": {"1": "6"},
                "vcpusched": {"1": FIFO, "2": FIFO, "3": FIFO},
            },
            "iothreads": 1,
            "numatune": {"mode": "strict", "nodeset": "0", "memnode": {"0": "0"}},
            "backing": {"pages": {"0": 1048576}, "nosharepages": True, "locked": True},
            "cpu": {"mode": "custom", "model": "Icelake-Server", "topology": [4, 1, 1]},
            "cells": [{"id": 0, "vcpus": "0-3", "memory_kb": 4194304, "shared": True}],
        },
    }


def test_what_nova_writes_and_what_libvirt_makes_of_it_read_alike() -> None:
    written = """<memoryBacking><hugepages><page size="1048576" nodeset="0" unit="KiB"/></hugepages>
    <nosharepages/><locked/></memoryBacking>
    <numatune><memory mode="strict" nodeset="0"/><memnode cellid="0" mode="strict" nodeset="0"/>
    </numatune><vcpu>4</vcpu><iothreads>1</iothreads><cputune>
    <emulatorpin cpuset="6"/><iothreadpin cpuset="6" iothread="1"/>
    <vcpupin vcpu="3" cpuset="4"/><vcpupin vcpu="1" cpuset="2"/><vcpupin vcpu="2" cpuset="5"/>
    <vcpupin vcpu="0" cpuset="6"/><vcpusched vcpus="1-3" scheduler="fifo" priority="1"/></cputune>
    <cpu mode="custom" match="exact"><model>Icelake-Server</model>
    <topology sockets="4" cores="1" threads="1"/><numa>
    <cell id="0" cpus="0-3" memory="4194304" memAccess="shared"/></numa></cpu>"""
    assert xml_of(written) == libvirt_xml.described(LIVE)["xml"]


def test_a_disk_on_many_images_is_no_obstacle() -> None:
    chain = "<backingStore><source/>" * 200 + "</backingStore>" * 200
    text = LIVE.replace("<backingStore/>", chain)
    assert libvirt_xml.described(text) == libvirt_xml.described(LIVE)


def test_a_status_file_tells_the_process() -> None:
    text = f"""<!-- WARNING: THIS IS AN AUTO-GENERATED FILE. -->
    <domstatus state='running' reason='booted' pid='4711'><taint flag='host-cpu'/>
    <vcpus><vcpu id='0' pid='4720'/></vcpus>{LIVE}</domstatus>"""
    assert libvirt_xml.described(text) == libvirt_xml.described(LIVE) | {"pid": 4711}
    off = libvirt_xml.described(LIVE.replace(" id='7'", ""))
    assert off["running"] is False
    assert "pid" not in libvirt_xml.described(text.replace("4711", "0"))


@pytest.mark.parametrize("version", ["1.0", "1.1", "2.0"])
def test_metadata_before_release_32(version: str) -> None:
    found = libvirt_xml.described(PLAIN.format(NOVA.format(version=version) + "<vcpu>2</vcpu>"))
    flavor = {"vcpus": 2, "ram": 4096, "disk": 20, "ephemeral": 0, "swap": 0}
    assert found["nova"] == {
        "package": "27.5.1",
        "name": "db-1",
        "flavor": {"name": "pinned.2", **flavor},
        "image": "",
    }


@pytest.mark.parametrize(
    "metadata",
    [
        "",
        "<metadata/>",
        "<metadata><instance/><a:b xmlns:a='urn:a'/></metadata>",
        NOVA.format(version="1.1").replace("openstack.org", "example.org"),
        NOVA.format(version="1.1/x"),
    ],
)
def test_a_domain_that_is_not_of_nova_and_tied_to_nothing(metadata: str) -> None:
    found = libvirt_xml.described(PLAIN.format(metadata + "<vcpu>3</vcpu>"))
    assert found == {"id": "u-1", "name": "instance-1", "running": False, "xml": {"vcpus": 3}}


def test_empty_extra_specs_are_told_ones() -> None:
    text = NOVA.format(version="1.1").replace("</nova:flavor>", "<nova:extraSpecs/></nova:flavor>")
    found = libvirt_xml.described(PLAIN.format(text + "<vcpu>2</vcpu>"))
    assert found["nova"]["extra_specs"] == {}
    assert "image_properties" not in found["nova"]


def test_image_properties_that_nova_keeps_as_lists() -> None:
    told = {
        "hw_numa_nodes": "3",
        "hw_numa_cpus": "[CoercedSet({0}), CoercedSet(), CoercedSet({1, 2})]",
        "hw_numa_mem": "[256, 0, 768]",
        "traits_required": "['HW_CPU_HYPERTHREADING', 'CUSTOM_FAST']",
        "hw_pmu": "True",
    }
    rows = "".join(f'<nova:property name="{k}">{v}</nova:property>' for k, v in told.items())
    image = f"<nova:image uuid='u-2'><nova:properties>{rows}</nova:properties></nova:image>"
    text = NOVA.format(version="1.1").replace("</nova:flavor>", f"</nova:flavor>{image}")
    found = libvirt_xml.described(PLAIN.format(text + "<vcpu>3</vcpu>"))
    assert found["nova"]["image_properties"] == {
        "hw_numa_nodes": "3",
        "hw_numa_cpus.0": "0",
        "hw_numa_cpus.1": "",
        "hw_numa_cpus.2": "1,2",
        "hw_numa_mem.0": "256",
        "hw_numa_mem.1": "0",
        "hw_numa_mem.2": "768",
        "trait:HW_CPU_HYPERTHREADING": "required",
        "trait:CUSTOM_FAST": "required",
        "hw_pmu": "True",
    }


@pytest.mark.parametrize(
    ("inner", "found"),
    [
        ("<vcpu placement='static' cpuset='0-3,^2' current='1'>2</vcpu>", {"cpuset": "0-1,3"}),
        ("<vcpu>2</vcpu><iothreads>0</iothreads>", {}),
        (
            "<vcpu>2</vcpu><numatune><memory mode='preferred' placement='auto'/></numatune>",
            {"numatune": {"mode": "preferred"}},
        ),
        (
            "<vcpu>2</vcpu><memoryBacking><source type='file'/><access mode='shared'/><discard/>"
            "</memoryBacking>",
            {"backing": {"file": True, "discard": True}},
        ),
        ("<vcpu>2</vcpu><memoryBacking><source type='memfd'/></memoryBacking>", {}),
        (
            "<vcpu>2</vcpu><memoryBacking><hugepages><page size='2' unit='M'/></hugepages>"
            "</memoryBacking>",
            {"backing": {"pages": {"0": 2048}}},
        ),
        ("<vcpu>2</vcpu><memoryBacking><hugepages/></memoryBacking>", {}),
        (
            "<vcpu>2</vcpu><cpu mode='host-passthrough'><maxphysaddr mode='emulate' bits='42'/>"
            "</cpu>",
            {"cpu": {"mode": "host-passthrough", "address_mode": "emulate", "address_bits": 42}},
        ),
        ("<vcpu>2</vcpu><cpu/>", {}),
        (
            "<vcpu>2</vcpu><cpu><numa><cell id='1' memory='1' unit='GiB'/>"
            "<cell id='0' cpus='0-1' memory='2048'/></numa></cpu>"
            "<memoryBacking><hugepages><page size='1' unit='GiB'/>"
            "<page size='2048' nodeset='0'/></hugepages></memoryBacking>",
            {
                "cells": [
                    {"id": 0, "vcpus": "0-1", "memory_kb": 2048},
                    {"id": 1, "vcpus": "", "memory_kb": 1 << 20},
                ],
                "backing": {"pages": {"0": 2048, "1": 1 << 20}},
            },
        ),
    ],
)
def test_forms_of_cpus_and_memory(inner: str, found: dict[str, t.Any]) -> None:
    assert xml_of(inner) == {"vcpus": 2} | found


@pytest.mark.parametrize(
    ("inner", "found"),
    [
        ("", {}),
        ("<emulatorpin cpuset=''/>", {"emulatorpin": ""}),
        ("<vcpupin vcpu='0' cpuset='1'/><vcpupin vcpu='4' cpuset='2'/>", {"vcpupin": {"0": "1"}}),
        (
            "<shares>2048</shares><period>100000</period><quota>-1</quota>",
            {"shares": 2048, "quota": -1, "period": 100000},
        ),
        (
            "<quota>17592186044415</quota><shares>0</shares>",
            {"shares": 0, "quota": 17592186044415},
        ),
        (
            "<vcpusched vcpus='0,2' scheduler='fifo' priority='1'/>"
            "<vcpusched vcpus='1' scheduler='rr' priority='99'/>"
            "<vcpusched vcpus='3' scheduler='batch' priority='3'/>",
            {
                "vcpusched": {
                    "0": FIFO,
                    "1": {"policy": "rr", "priority": 99},
                    "2": FIFO,
                    "3": {"policy": "batch"},
                }
            },
        ),
        (
            "<emulatorsched scheduler='idle'/>"
            "<iothreadsched iothreads='1-2' scheduler='fifo' priority='1'/>",
            {"emulatorsched": {"policy": "idle"}, "iothreadsched": {"1": FIFO, "2": FIFO}},
        ),
    ],
)
def test_forms_of_cputune(inner: str, found: dict[str, t.Any]) -> None:
    assert tune(inner) == found


VCPU = "<vcpu>4</vcpu>"
HOLES = ",".join(map(str, range(0, 1 << 16, 2)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"d\.xml: broken XML in line 1 \(no element found\)"),
        ("<domain>\n<a></b></domain>", r"broken XML in line 2 \(mismatched tag\)"),
        ("<network/>", "the root is 'network'"),
        ("<domstatus/>", "the root is 'domstatus'"),
        (f"<domstatus pid='x'>{PLAIN.format(VCPU)}</domstatus>", "pid 'x' is out of place"),
        ("<domain/>", "there is no uuid"),
        (PLAIN.format(""), "there is no vcpu"),
        (PLAIN.format(VCPU).replace("u-1", "u 1"), "uuid 'u 1' is out of place"),
        (PLAIN.format(VCPU).replace("instance-1", "n" * 256), "name has 256 characters"),
        (PLAIN.format("<vcpu>two</vcpu>"), "vcpu 'two' is out of place"),
        (PLAIN.format("<vcpu>0</vcpu>"), "vcpu '0' is out of place; accepted: a number from 1"),
        (PLAIN.format("<vcpu>9999999999</vcpu>"), "out of place; accepted: a number up to 65536"),
        (PLAIN.format("<vcpu>\u0663</vcpu>"), "out of place"),
        (LIVE.replace("cpuset='5'", "cpuset='5-'"), "vcpupin cpuset: '5-' is neither"),
        (LIVE.replace("cpuset='5'", "cpuset='0-99999999'"), "beyond any host's CPUs"),
        (LIVE.replace("cpuset='5'", ""), "vcpupin has no cpuset"),
        (LIVE.replace("vcpu='1'", "vcpu='0'"), "vcpupin names vcpu 0 twice"),
        (LIVE.replace("vcpu='1'", "vcpu='-1'"), "vcpupin vcpu '-1' is out of place"),
        (LIVE.replace("vcpus='2'", "vcpus='1-2'"), "vcpusched names vcpus '1' twice"),
        (LIVE.replace("'fifo'", "'fast'"), "the scheduler 'fast' is unknown; accepted: fifo, rr"),
        (LIVE.replace("priority='1'", "priority='-1'"), "vcpusched priority '-1' is out of place"),
        (LIVE.replace("unit='KiB' memA", "unit='pages' memA"), "the unit 'pages' is unknown"),
        (LIVE.replace("unit='KiB' memA", "unit='EiB' memA"), "KiB at most"),
        (LIVE.replace("<page size='1048576'", "<page size='0'"), "page has no size"),
        (LIVE.replace('name="hw:cpu_realtime"', 'name="hw:cpu_policy"'), "each name once"),
        (LIVE.replace("<nova:swap>0", "<nova:swap>much"), "flavor swap 'much' is out of place"),
        (TUNED.format("<emulatorpin cpuset='1'/>" * 2), "there are 2 of cputune/emulatorpin"),
        (TUNED.format(f"<emulatorpin cpuset='{HOLES}'/>"), "cpuset has 191052 characters"),
        (TUNED.format("<shares>1.5</shares>"), "shares '1.5' is out of place"),
        (
            PLAIN.format(
                VCPU + "<cpu><numa><cell memory='1'/><cell id='0' memory='1'/></numa></cpu>"
            ),
            "cell 0 is given twice",
        ),
        (
            PLAIN.format(
                VCPU + "<numatune>" + "<memnode cellid='0' nodeset='0'/>" * 2 + "</numatune>"
            ),
            "memnode names cell 0 twice",
        ),
        ("<!DOCTYPE x><domain/>", "the document type 'x' is refused"),
        (
            '<!DOCTYPE d [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><domain>&c;</domain>',
            "the document type 'd' is refused",
        ),
        (
            '<!DOCTYPE d [<!ENTITY a SYSTEM "file:///etc/passwd">]><domain>&a;</domain>',
            "the document type 'd' is refused",
        ),
        ("<domain>&a;</domain>", "undefined entity"),
        ("<domain>" * 300, "nested too deeply; accepted: 256 levels"),
        (" " * (1 << 20) + "<domain/>", "the XML is too large"),
        ("<domain>\ud800</domain>", "broken XML"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        libvirt_xml.described(text, "d.xml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "inner",
    [
        "<cputune>{}</cputune>".format(
            "".join(f"<vcpupin vcpu='{i}' cpuset='0-65535'/>" for i in range(20_000))
        ),
        "<cputune><vcpusched vcpus='0-65535' scheduler='fifo' priority='1'/></cputune>",
        "<cpu><numa>{}</numa></cpu><memoryBacking><hugepages>{}</hugepages></memoryBacking>".format(
            "<cell memory='1'/>" * 20_000, "<page size='4' nodeset='0-65535'/>" * 12_000
        ),
    ],
    ids=["pins", "scheduled", "pages"],
)
def test_the_largest_domains_are_read_soon(inner: str) -> None:
    start = time.monotonic()
    assert xml_of("<vcpu>65536</vcpu>" + inner)
    assert time.monotonic() - start < 10


@given(
    st.text()
    | st.lists(st.sampled_from(["<domain>", "</domain>", "<vcpu>", "</vcpu>", "1", "<!--"])).map(
        "".join
    )
    | st.builds(
        lambda at, length, junk: LIVE[:at] + junk + LIVE[at + length :],
        st.integers(0, len(LIVE)),
        st.integers(0, 9),
        st.text(max_size=9) | st.integers().map(str),
    )
)
def test_any_text_becomes_an_entry_of_the_schema_or_an_error_of_one_line(text: str) -> None:
    try:
        found = libvirt_xml.described(text)
    except InputError as problem:
        told = str(problem)
    else:
        told = found["id"]
        xml = found.pop("xml")
        check(found | {"live": xml, "persistent": xml}, "guests:1#/$defs/domain")
    assert told
    assert "\n" not in told
