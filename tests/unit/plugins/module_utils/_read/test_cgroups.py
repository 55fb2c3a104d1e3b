# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cgroups import cgroups

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree

    Plant = Callable[[Mapping[str, str]], Tree]

ROOT = "sys/fs/cgroup"
EIGHT = 0xFF
UNIFIED = {f"{ROOT}/cgroup.controllers": "cpuset cpu io memory\n"}


def _cgroups(tree: Tree, arguments: Mapping[str, t.Any] | None = None) -> dict[str, t.Any] | None:
    return cgroups(tree, arguments, EIGHT)


def test_an_empty_tree_tells_nothing(plant: Plant) -> None:
    assert _cgroups(plant({})) is None


def test_a_host_of_version_2(plant: Plant) -> None:
    files = {
        **UNIFIED,
        "proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n",
        f"{ROOT}/cpuset.cpus.effective": "0-7\n",
        f"{ROOT}/cpuset.cpus.isolated": "6-7\n",
        f"{ROOT}/machine.slice/cpuset.cpus.effective": "2-5\n",
    }
    expected = {"version": 2, "cpu_controller": True, "isolated": "6-7", "machine_cpus": "2-5"}
    assert _cgroups(plant(files)) == expected


MOUNTS = """\
tmpfs /sys/fs/cgroup tmpfs ro 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,xattr,name=systemd 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0
"""


@pytest.mark.parametrize("mounts", [{"proc/mounts": MOUNTS}, {}])
def test_a_host_of_version_1(plant: Plant, mounts: dict[str, str]) -> None:
    files = {
        **mounts,
        f"{ROOT}/cpu,cpuacct/cpu.shares": "1024\n",
        f"{ROOT}/cpuset/cpuset.cpus": "0-7\n",
        f"{ROOT}/cpuset/machine.slice/cpuset.cpus": "0-3\n",
    }
    expected = {"version": 1, "cpu_controller": True, "machine_cpus": "0-3"}
    assert _cgroups(plant(files)) == expected


def test_a_named_hierarchy_alone_is_version_2(plant: Plant) -> None:
    mounts = "cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\n"
    found = _cgroups(plant({**UNIFIED, "proc/mounts": mounts}))
    assert found == {"version": 2, "cpu_controller": True}


def test_partitions_before_the_kernel_sums_them_up(plant: Plant) -> None:
    files = {
        **UNIFIED,
        f"{ROOT}/rt.slice/cpuset.cpus.partition": "isolated\n",
        f"{ROOT}/rt.slice/cpuset.cpus.effective": "4-5\n",
        f"{ROOT}/bad.slice/cpuset.cpus.partition": "isolated invalid (Cpu list empty)\n",
        f"{ROOT}/bad.slice/cpuset.cpus.effective": "6\n",
        f"{ROOT}/system.slice/cpuset.cpus.partition": "member\n",
    }
    found = _cgroups(plant(files)) or {}
    assert found["isolated"] == "4-5"


def test_a_slice_that_systemd_has_yet_to_make(plant: Plant) -> None:
    files = {
        **UNIFIED,
        f"{ROOT}/cpuset.cpus.effective": "0-7\n",
        "etc/systemd/system/machine.slice.d/cpus.conf": "[Slice]\nAllowedCPUs=2-3 4\n",
    }
    assert (_cgroups(plant(files)) or {})["machine_cpus"] == "2-4"


CONF, DROP_IN = "etc/systemd/system.conf", "etc/systemd/system.conf.d"
VENDOR = "usr/lib/systemd/system.conf.d"
SLICE = "etc/systemd/system/system.slice.d/a.conf"


@pytest.mark.parametrize(
    ("files", "arguments", "expected"),
    [
        ({CONF: "[Manager]\n#CPUAffinity=7\n"}, {}, None),
        ({CONF: "[Manager]\nCPUAffinity=0 1\n"}, {}, "0-1"),
        ({CONF: "CPUAffinity=0\n", f"{DROP_IN}/b.conf": "CPUAffinity=1-2\n"}, {}, "0-2"),
        ({CONF: "CPUAffinity=0\n", f"{DROP_IN}/b.conf": "CPUAffinity=\nCPUAffinity=3\n"}, {}, "3"),
        ({f"{VENDOR}/b.conf": "CPUAffinity=4", f"{DROP_IN}/b.conf": "CPUAffinity=5"}, {}, "5"),
        ({CONF: "CPUAffinity=0\n"}, {"systemd.cpu_affinity": "2,3"}, "2-3"),
        ({CONF: "CPUAffinity=0-3\n", SLICE: "AllowedCPUs=2-9\n"}, {}, "2-3"),
        ({SLICE.replace("system/", "system.control/"): "AllowedCPUs=1\n"}, {}, "1"),
        ({CONF: "CPUAffinity=numa\n"}, {}, None),
    ],
)  # fmt: skip
def test_cpus_of_services(
    plant: Plant, files: dict[str, str], arguments: dict[str, str], expected: str | None
) -> None:
    assert (_cgroups(plant(files), arguments) or {}).get("system_cpus") == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(max_size=60),
    path=st.sampled_from(["proc/mounts", CONF, f"{ROOT}/cpuset.cpus.isolated"]),
)
def test_no_content_of_a_file_is_a_failure(plant: Plant, text: str, path: str) -> None:
    prefix = "CPUAffinity=" if path == CONF else ""
    _cgroups(plant({**UNIFIED, path: prefix + text}), {"systemd.cpu_affinity": text})
