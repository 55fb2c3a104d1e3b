# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read import libvirt_xml
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError

NOVA = """<metadata><nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/1.{minor}">
  <nova:name>db-1</nova:name>
  <nova:flavor name="pinned.2">
    <nova:memory>4096</nova:memory><nova:disk>20</nova:disk><nova:swap>0</nova:swap>
    <nova:ephemeral>0</nova:ephemeral><nova:vcpus>2</nova:vcpus>{specs}
  </nova:flavor>{image}
</nova:instance></metadata>"""
SPECS = """<nova:extraSpecs>
  <nova:extraSpec name="hw:cpu_policy">dedicated</nova:extraSpec>
</nova:extraSpecs>"""
IMAGE = """<nova:image uuid="i-1"><nova:properties>
  <nova:property name="hw_cpu_policy">dedicated</nova:property>
</nova:properties></nova:image>"""
CPUS = """<vcpu placement='static'>2</vcpu>
<cputune><vcpupin vcpu='0' cpuset='4'/><vcpupin vcpu='1' cpuset='4-5,^4'/>
<emulatorpin cpuset='4-5'/></cputune>
<numatune><memnode cellid='0' mode='strict' nodeset='1'/></numatune>
<memoryBacking><hugepages><page size='2' unit='MiB' nodeset='0'/></hugepages></memoryBacking>
<cpu><numa><cell id='0' cpus='0-1' memory='4194304' unit='KiB'/></numa></cpu>"""
PLAIN = "<domain type='kvm'><name>instance-1</name><uuid>u-1</uuid>{}</domain>"


def domain(minor: int = 1, specs: str = "", image: str = "") -> str:
    return PLAIN.format(NOVA.format(minor=minor, specs=specs, image=image) + CPUS)


@pytest.mark.parametrize("minor", [0, 1])
def test_a_domain_of_nova(minor: int) -> None:
    assert libvirt_xml.domain(domain(minor)) == {
        "uuid": "u-1",
        "name": "db-1",
        "vcpus": 2,
        "pins": {0: 1 << 4, 1: 1 << 5},
        "emulator": 3 << 4,
        "cells": [{"id": 0, "vcpus": 3, "memory_mb": 4096, "host_cells": 2, "page_size_kb": 2048}],
        "nova": {
            "name": "db-1",
            "flavor": {
                "name": "pinned.2",
                "vcpus": 2,
                "ram": 4096,
                "disk": 20,
                "ephemeral": 0,
                "swap": 0,
            },
            "extra_specs": None,
            "image": "",
            "image_properties": None,
        },
    }


def test_extra_specs_and_image_properties_where_nova_writes_them() -> None:
    nova = libvirt_xml.domain(domain(specs=SPECS, image=IMAGE))["nova"]
    assert nova["extra_specs"] == {"hw:cpu_policy": "dedicated"}
    assert (nova["image"], nova["image_properties"]) == ("i-1", {"hw_cpu_policy": "dedicated"})


def test_a_domain_that_is_tied_to_nothing() -> None:
    found = libvirt_xml.domain(PLAIN.format("<vcpu>3</vcpu>"))
    assert (found["name"], found["vcpus"]) == ("instance-1", 3)
    assert (found["pins"], found["emulator"], found["cells"]) == ({}, None, [])
    assert found["nova"] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"d\.xml: broken XML in line 1 \(no element found\)"),
        ("<domain>\n<a></b></domain>", r"broken XML in line 2 \(mismatched tag\)"),
        ("<network/>", "the root is 'network'"),
        ("<domain/>", "there is no vcpu"),
        (PLAIN.format("<vcpu>two</vcpu>"), "vcpu 'two' is out of place"),
        (PLAIN.format("<vcpu>9999999999</vcpu>"), "out of place; accepted: a number up to 65536"),
        (domain().replace("cpuset='4'", "cpuset='4-'"), "vcpupin cpuset: '4-' is neither"),
        (domain().replace("cpuset='4'", ""), "vcpupin has no cpuset"),
        (domain().replace("vcpu='1'", "vcpu='0'"), "names vCPU 0 twice"),
        (domain().replace("unit='KiB'", "unit='pages'"), "the unit 'pages' is unknown"),
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
        ("<domain>" * 40, "nested too deeply; accepted: 32 levels"),
        (" " * (1 << 20) + "<domain/>", "the XML is too large"),
        ("<domain>\ud800</domain>", "broken XML"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        libvirt_xml.domain(text, "d.xml")
    assert "\n" not in str(caught.value)


@given(
    st.text()
    | st.lists(st.sampled_from(["<domain>", "</domain>", "<vcpu>", "</vcpu>", "1", "<!--"])).map(
        "".join
    )
    | st.builds(
        lambda at, junk: domain()[:at] + junk + domain()[at:], st.integers(0, 900), st.text()
    )
)
def test_any_text_is_read_or_refused_on_one_line(text: str) -> None:
    try:
        told = repr(libvirt_xml.domain(text)["uuid"])
    except InputError as problem:
        told = str(problem)
    assert told
    assert "\n" not in told
