# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.evidence import Process
from ansible_collections.pinguard.nova.plugins.module_utils._read.libvirt_daemon import libvirt

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree

    Plant = Callable[[Mapping[str, str]], Tree]

RUNNING = [Process(1, "systemd", 0, 0), Process(9, "libvirtd", 1, 0)]
LIMITS = "Limit  Soft Limit  Hard Limit  Units\nMax locked memory         {}  {}  bytes\n"


def test_an_empty_tree_tells_nothing(plant: Plant) -> None:
    assert libvirt(plant({}), None) is None
    assert libvirt(plant({}), RUNNING) is None


def test_a_daemon_that_runs(plant: Plant) -> None:
    files = {
        "proc/9/maps": "7f00-7f01 r--p 00000000 08:01 42  /usr/lib64/libvirt.so.0.10005.2\n" * 2,
        "proc/9/status": "Name:\tlibvirtd\nCapEff:\t000001ffffffffff\n",
        "proc/9/limits": LIMITS.format(65536, "unlimited"),
        "usr/lib64/libvirt.so.0.9000.0": "",
    }
    assert libvirt(plant(files), RUNNING) == {
        "version": "10.5.2",
        "lock_capable": True,
        "memlock_unlimited": True,
    }


def test_of_two_daemons_is_known_what_they_agree_on(plant: Plant) -> None:
    files = {
        "proc/9/maps": "7f00 /usr/lib64/libvirt.so.0.10005.2\n",
        "proc/9/status": "CapEff:\t0000000000000000\n",
        "proc/10/maps": "7f00 /usr/lib64/libvirt.so.0.9000.0\n",
        "proc/10/status": "CapEff:\t0000000000000000\n",
    }
    running = [*RUNNING, Process(10, "libvirtd", 1, 0)]
    assert libvirt(plant(files), running) == {"lock_capable": False}


def test_the_modular_daemon_is_the_one_that_starts_guests(plant: Plant) -> None:
    files = {
        "proc/8/status": "CapEff:\t0000000000000000\n",
        "proc/8/limits": LIMITS.format("unlimited", 65536),
        "proc/9/status": "CapEff:\t000001ffffffffff\n",
    }
    running = [*RUNNING, Process(8, "virtqemud", 1, 0)]
    assert libvirt(plant(files), running) == {"lock_capable": False, "memlock_unlimited": False}


@pytest.mark.parametrize(
    ("libraries", "version"),
    [
        (["libvirt.so.0", "libvirt.so.0.8000.0", "libvirt-qemu.so.0.8000.0"], "8.0.0"),
        (["libvirt.so.0.4005.0"], "4.5.0"),
        (["libvirt.so.0.8000.0", "libvirt.so.0.9000.0"], None),
        (["libvirt.so.0.8000.0.bak"], None),
    ],
)
def test_the_version_by_the_library(
    plant: Plant, libraries: list[str], version: str | None
) -> None:
    tree = plant({f"usr/lib/x86_64-linux-gnu/{name}": "" for name in libraries})
    assert (libvirt(tree, None) or {}).get("version") == version


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('cgroup_controllers = [ "cpu", "devices",\n  "cpuset" ]\n', ["cpu", "cpuset", "devices"]),
        ('cgroup_controllers = [\n  # "cpu",\n  "devices" ]\n', ["devices"]),
        ("cgroup_controllers = []\n", []),
        ('#cgroup_controllers = [ "cpu" ]\nvnc_password = "s3cret"\n', None),
        ('cgroup_controllers = [ "cpu"', None),
    ],
)
def test_controllers_of_qemu_conf(plant: Plant, text: str, expected: list[str] | None) -> None:
    found = libvirt(plant({"etc/libvirt/qemu.conf": text}), None)
    assert found == (None if expected is None else {"controllers": expected})


@pytest.mark.parametrize("name", ["maps", "status", "limits"])
@pytest.mark.parametrize("text", ["", "\0", "CapEff:\tzz\n", "Max locked memory\n", "x" * 9999])
def test_what_is_not_understood_is_left_out(plant: Plant, name: str, text: str) -> None:
    assert libvirt(plant({f"proc/9/{name}": text}), RUNNING) is None


@pytest.mark.parametrize(
    "place",
    [
        "etc/kolla/nova-libvirt/qemu.conf",
        "var/lib/config-data/puppet-generated/nova_libvirt/etc/libvirt/qemu.conf",
    ],
)
def test_a_container_has_its_own_qemu_conf(plant: Plant, place: str) -> None:
    files = {place: 'cgroup_controllers = ["cpu"]\n', "etc/libvirt/qemu.conf": ""}
    assert libvirt(plant(files), None) == {"controllers": ["cpu"]}


def test_brackets_that_never_close(plant: Plant) -> None:
    assert (
        libvirt(plant({"etc/libvirt/qemu.conf": "cgroup_controllers = [\n" * 40_000}), None) is None
    )
