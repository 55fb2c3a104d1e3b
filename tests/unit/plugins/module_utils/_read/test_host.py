# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.host import host_facts

if t.TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Mapping

    from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree

    Plant = Callable[[Mapping[str, str]], Tree]
    HostFiles = Callable[..., dict[str, str]]


@pytest.fixture
def root(plant: Plant, host_files: HostFiles) -> str:
    """Make the tree of a host and give its root."""
    return plant(
        {
            **host_files({0: range(4)}, [[0, 2], [1, 3]]),
            "etc/nova/nova.conf": (
                "[database]\nconnection = mysql://nova:s3cret@db\n"
                "[compute]\ncpu_dedicated_set = 1,3\n[DEFAULT]\ncpu_shared_set = 0,2\n"
            ),
            "srv/other.conf": "[compute]\ncpu_shared_set = 0\n",
            "proc/cmdline": "root=/dev/s3cret isolcpus=1,3\n",
            "etc/tuned/active_profile": "virtual-host\n",
        }
    ).root


def test_all_facts_of_a_host(root: str) -> None:
    facts = host_facts(root, release="27.1.0", data_path_cpus="0xA")
    assert facts == {
        "format": 1,
        "release": "27.1.0",
        "topology": {
            "online": "0-3",
            "present": "0-3",
            "isolated": "",
            "cells": [{"id": 0, "cpus": "0-3", "memory_mb": 8192, "pages": {"4": 2097152}}],
            "siblings": ["0,2", "1,3"],
            "sockets": {"0": "0-3"},
        },
        "nova": {
            "options": {
                "compute.cpu_dedicated_set": {"value": "1,3", "where": "/etc/nova/nova.conf:4"}
            },
            "strays": [
                {
                    "key": "cpu_shared_set",
                    "section": "DEFAULT",
                    "where": "/etc/nova/nova.conf:6",
                    "belongs": "[compute] cpu_shared_set",
                }
            ],
            "files": ["/etc/nova/nova.conf"],
        },
        "kernel": {"cmdline": {"isolcpus": "1,3"}},
        "tuned": {"profile": "virtual-host"},
        "data_path_cpus": "1,3",
    }
    assert json.loads(json.dumps(facts)) == facts
    assert "s3cret" not in json.dumps(facts)


def test_what_is_not_known_is_left_out(plant: Plant, host_files: HostFiles) -> None:
    tree = plant(host_files({0: [0]}, [[0]]))
    assert set(host_facts(tree.root)) == {"format", "topology", "nova"}


def test_files_that_are_named(root: str) -> None:
    assert host_facts(root, ["/srv/other.conf"])["nova"]["files"] == ["/srv/other.conf"]
    assert host_facts(root, [])["nova"]["files"] == []


def test_small_pages(root: str) -> None:
    assert host_facts(root, page_kb=64)["topology"]["cells"][0]["pages"] == {"64": 131072}


@pytest.mark.parametrize(
    ("text", "cpus"), [("4,64", "4,64"), ("0x30", "4-5"), ("", ""), ("10", "10")]
)
def test_data_path_cpus(root: str, text: str, cpus: str) -> None:
    assert host_facts(root, data_path_cpus=text)["data_path_cpus"] == cpus


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"root": "/none/here"}, "/none/here: no such directory"),
        ({"root": "/proc/version"}, "/proc/version: no such directory"),
        ({"nova_conf": ["/etc/none.conf"]}, "/etc/none.conf: no such file"),
        ({"release": "new release"}, "release: 'new release' is no Nova release"),
        ({"release": ""}, "release: '' is no Nova release"),
        ({"data_path_cpus": "2-"}, "data_path_cpus: '2-' is no item of a kernel CPU list"),
        ({"data_path_cpus": "0xg"}, "data_path_cpus: '0xg' is no CPU mask"),
        ({"page_kb": 5}, "page_kb: no kernel has small pages of 5 KiB; accepted: 4, 8, 16, 64"),
    ],
)
def test_what_is_refused(root: str, arguments: dict[str, t.Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        host_facts(**{"root": root, **arguments})


def test_a_broken_configuration_gives_no_facts(root: str) -> None:
    with open(f"{root}/etc/nova/nova.conf", "a", encoding="utf-8") as file:
        file.write("\n  s3cret\n")
    with pytest.raises(InputError, match=r"^/etc/nova/nova\.conf:8: an indented line") as caught:
        host_facts(root)
    assert "s3cret" not in str(caught.value)


@pytest.mark.skipif(not os.path.isdir("/sys/devices/system/cpu"), reason="this kernel has no sysfs")
def test_this_machine(tmp_path: pathlib.Path) -> None:
    (tmp_path / "nova.conf").write_text("[DEFAULT]\nvcpu_pin_set = 0\n")
    facts = host_facts(nova_conf=[str(tmp_path / "nova.conf")])
    assert facts["topology"]["online"]
    assert sum(cell["memory_mb"] for cell in facts["topology"]["cells"]) > 0
    assert facts["nova"]["options"]["vcpu_pin_set"]["value"] == "0"
