# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import mask, to_text
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree
from ansible_collections.pinguard.nova.plugins.module_utils._read.sysfs import topology

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Attempt = Callable[..., t.Any]
    Plant = Callable[[Mapping[str, str]], Tree]
    HostFiles = Callable[..., dict[str, str]]

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def strided(cpus: int, threads: int) -> list[list[int]]:
    """Number the threads of cores as most x86 servers do: n, n + cores, ..."""
    cores = cpus // threads
    return [list(range(core, cpus, cores)) for core in range(cores)]


def test_two_sockets_with_two_threads_a_core(plant: Plant, host_files: HostFiles) -> None:
    even, odd = list(range(0, 8, 2)), list(range(1, 8, 2))
    tree = plant(
        host_files(
            {0: even, 1: odd},
            strided(8, 2),
            memory_kb=(8 << 20) + 1023,
            pages={2048: 1024, 1048576: 0},
            sockets=dict.fromkeys(odd, 1),
        )
    )
    pages = {"4": (6 << 18) + 255, "2048": 1024, "1048576": 0}
    assert topology(tree) == {
        "online": "0-7",
        "present": "0-7",
        "isolated": "",
        "cells": [
            {"id": 0, "cpus": "0,2,4,6", "memory_mb": 8192, "pages": pages},
            {"id": 1, "cpus": "1,3,5,7", "memory_mb": 8192, "pages": pages},
        ],
        "siblings": ["0,4", "1,5", "2,6", "3,7"],
        "sockets": {"0": "0,2,4,6", "1": "1,3,5,7"},
    }


@pytest.mark.parametrize(
    ("threads", "siblings"),
    [
        (1, []),
        (2, ["0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15"]),
        (4, ["0,4,8,12", "1,5,9,13", "2,6,10,14", "3,7,11,15"]),
        (8, ["0,2,4,6,8,10,12,14", "1,3,5,7,9,11,13,15"]),
    ],
)
def test_threads_of_a_core(
    plant: Plant, host_files: HostFiles, threads: int, siblings: list[str]
) -> None:
    tree = plant(host_files({0: range(16)}, strided(16, threads)))
    assert topology(tree)["siblings"] == siblings


def test_offline_cpus_have_no_topology(plant: Plant, host_files: HostFiles) -> None:
    tree = plant(host_files({0: [0, 1, 4, 5], 1: [2, 3, 6, 7]}, strided(8, 2), offline=[1, 6, 7]))
    read = topology(tree)
    assert (read["online"], read["present"]) == ("0,2-5", "0-7")
    assert [cell["cpus"] for cell in read["cells"]] == ["0,4-5", "2-3"]
    assert read["siblings"] == ["0,4"]
    assert read["sockets"] == {"0": "0,2-5"}


def test_siblings_and_cells_that_name_offline_cpus(plant: Plant, host_files: HostFiles) -> None:
    files = host_files({0: range(4)}, strided(4, 2))
    files[f"{CPU}/online"] = "0-2\n"
    read = topology(plant(files))
    assert read["cells"][0]["cpus"] == "0-2"
    assert read["siblings"] == ["0,2"]


def test_sparse_cpus_and_cells(plant: Plant, host_files: HostFiles) -> None:
    cores = [[0, 1], [8, 9], [2040, 2041]]
    read = topology(plant(host_files({0: [0, 1], 8: [8, 9], 255: [2040, 2041]}, cores)))
    assert [(cell["id"], cell["cpus"]) for cell in read["cells"]] == [
        (0, "0-1"),
        (8, "8-9"),
        (255, "2040-2041"),
    ]
    assert read["online"] == "0-1,8-9,2040-2041"


def test_cells_come_by_number_not_by_name(plant: Plant, host_files: HostFiles) -> None:
    read = topology(plant(host_files({10: [0], 9: [1], 100: []}, [[0], [1]])))
    assert [cell["id"] for cell in read["cells"]] == [9, 10, 100]


def test_a_cell_with_memory_alone_and_one_with_cpus_alone(
    plant: Plant, host_files: HostFiles
) -> None:
    files = host_files({0: [0, 1], 1: [2, 3], 2: []}, [[0], [1], [2], [3]])
    files[f"{NODE}/node1/meminfo"] = "Node 1 MemTotal:              0 kB\n"
    small = {"4": 2 << 20}
    assert topology(plant(files))["cells"] == [
        {"id": 0, "cpus": "0-1", "memory_mb": 8192, "pages": small},
        {"id": 1, "cpus": "2-3", "memory_mb": 0, "pages": {"4": 0}},
        {"id": 2, "cpus": "", "memory_mb": 8192, "pages": small},
    ]


def test_a_kernel_without_numa_has_one_cell_without_pools(
    plant: Plant, host_files: HostFiles
) -> None:
    files = host_files({}, [[0], [1]])
    files["proc/meminfo"] = "MemTotal:        4194304 kB\nMemFree: 1 kB\n"
    assert topology(plant(files))["cells"] == [
        {"id": 0, "cpus": "0-1", "memory_mb": 4096, "pages": {}}
    ]


def test_small_pages_of_another_size(plant: Plant, host_files: HostFiles) -> None:
    tree = plant(host_files({0: [0]}, [[0]], memory_kb=1 << 20, pages={524288: 1}))
    assert topology(tree, page_kb=64)["cells"][0]["pages"] == {"64": 8192, "524288": 1}


def test_a_host_without_lists_of_cpus(plant: Plant, host_files: HostFiles) -> None:
    files = host_files({0: range(4)}, strided(4, 2), offline=[3])
    for name in ("online", "present", "possible", "isolated"):
        del files[f"{CPU}/{name}"]
    files[f"{CPU}/cpu1/online"] = "1\n"
    files[f"{CPU}/cpuidle/current_driver"] = "none\n"
    files[f"{CPU}/offline"] = "3-5\n"
    read = topology(plant(files))
    assert (read["online"], read["present"], read["isolated"]) == ("0-2", "0-5", None)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("thread_siblings_list", "0,2"),
        ("core_cpus_list", "0,2"),
        ("thread_siblings", "00000000,00000005"),
        ("core_cpus", "5"),
    ],
)
def test_each_file_that_tells_siblings(
    plant: Plant, host_files: HostFiles, name: str, text: str
) -> None:
    files = host_files({0: range(4)}, [[0], [1], [2], [3]])
    for cpu in range(4):
        del files[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"]
    for cpu in (0, 2):
        files[f"{CPU}/cpu{cpu}/topology/{name}"] = f"{text}\n"
    assert topology(plant(files))["siblings"] == ["0,2"]


def test_a_cell_that_is_told_by_a_mask(plant: Plant, host_files: HostFiles) -> None:
    files = host_files({0: range(40)}, strided(40, 2))
    del files[f"{NODE}/node0/cpulist"]
    files[f"{NODE}/node0/cpumap"] = "000000ff,ffffffff\n"
    assert topology(plant(files))["cells"][0]["cpus"] == "0-39"


@pytest.mark.parametrize(("text", "socket"), [("-1", "0"), ("3", "3"), (None, "0")])
def test_sockets(plant: Plant, host_files: HostFiles, text: str | None, socket: str) -> None:
    files = host_files({0: [0]}, [[0]])
    del files[f"{CPU}/cpu0/topology/physical_package_id"]
    if text is not None:
        files[f"{CPU}/cpu0/topology/physical_package_id"] = text
    assert topology(plant(files))["sockets"] == {socket: "0"}


def test_isolated_cpus(plant: Plant, host_files: HostFiles) -> None:
    files = host_files({0: range(8)}, strided(8, 2))
    files[f"{CPU}/isolated"] = "2,3,6-7\n"
    assert topology(plant(files))["isolated"] == "2-3,6-7"


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        (f"{CPU}/online", "", "^/sys/devices/system/cpu/online: names no CPU"),
        (f"{CPU}/online", "none", "cpu/online: 'none' is no item"),
        (f"{CPU}/online", "0-99999999999", "cpu/online: '0-99999999999' "),
        (f"{CPU}/present", "x", "cpu/present: 'x' is no item"),
        (f"{CPU}/cpu0/topology/thread_siblings_list", "a", "/cpu0/topology/thread_siblings_list:"),
        (f"{CPU}/cpu0/topology/thread_siblings_list", "0-1", "CPU 1 has the thread siblings 1,"),
        (f"{CPU}/cpu0/topology/physical_package_id", "a", "_package_id: holds no number"),
        (f"{NODE}/node0/cpulist", "0-", "node0/cpulist: '0-' is no item"),
        (f"{NODE}/node1/cpulist", "0", "node1: CPUs 0 are in another node too"),
        (f"{NODE}/node0/meminfo", "", "node0/meminfo: has no line MemTotal"),
        (f"{NODE}/node0/meminfo", "Node 0 MemTotal: many kB", "node0/meminfo: has no line"),
        (f"{NODE}/node0/hugepages/hugepages-4096kB/nr_hugepages", "-1", "tells no number"),
        (f"{NODE}/node0/hugepages/hugepages-4096kB/other", "1", "tells no number of pages"),
        (f"{NODE}/node0/hugepages/hugepages-4096kB/nr_hugepages", "9999", "exceed the node's"),
    ],
)
def test_what_sysfs_would_not_say(
    plant: Plant, host_files: HostFiles, path: str, text: str, message: str
) -> None:
    files = host_files({0: [0, 1], 1: []}, [[0], [1]])
    with pytest.raises(InputError, match=message):
        topology(plant({**files, path: text}))


@pytest.mark.parametrize("missing", [f"{NODE}/node0/cpulist", f"{NODE}/node0/meminfo"])
def test_what_has_to_be_there(plant: Plant, host_files: HostFiles, missing: str) -> None:
    files = host_files({0: [0]}, [[0]])
    del files[missing]
    with pytest.raises(InputError, match=f"^/{missing}: no such file"):
        topology(plant(files))


def test_an_empty_tree(plant: Plant) -> None:
    with pytest.raises(InputError, match=r"^/sys/devices/system/cpu/online: names no CPU"):
        topology(plant({}))


def test_an_absurd_list_of_cpus_takes_no_minutes(plant: Plant, host_files: HostFiles) -> None:
    files = host_files({0: [0]}, [[0]])
    for path in (f"{CPU}/online", f"{CPU}/present", f"{NODE}/node0/cpulist"):
        files[path] = "0-65535"
    assert topology(plant(files))["sockets"] == {"0": "0-65535"}


@st.composite
def hosts(draw: st.DrawFn) -> dict[str, t.Any]:
    threads = draw(st.sampled_from([1, 2, 4, 8]))
    number = draw(st.integers(1, 8))
    cpus = draw(st.permutations(range(number * threads)))
    cores = [sorted(cpus[i::number]) for i in range(number)]
    first = draw(st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True))
    nodes: dict[int, list[int]] = {node: [] for node in first}
    for core in cores:
        nodes[draw(st.sampled_from(first))] += core
    offline = draw(st.lists(st.sampled_from(cpus), unique=True, max_size=len(cpus) - 1))
    return {"nodes": nodes, "cores": cores, "offline": offline}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(host=hosts())
def test_a_host_reads_back(
    tmp_path_factory: pytest.TempPathFactory, host_files: HostFiles, host: dict[str, t.Any]
) -> None:
    root = tmp_path_factory.mktemp("host")
    for path, text in host_files(**host).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    read = topology(Tree(str(root)))
    offline = {*host["offline"]}
    cells = {cell["id"]: cell["cpus"] for cell in read["cells"]}
    assert cells == {n: to_text(mask({*cpus} - offline)) for n, cpus in host["nodes"].items()}
    assert list(cells) == sorted(cells)
    cores = [sorted({*core} - offline) for core in host["cores"]]
    assert read["siblings"] == [to_text(mask(core)) for core in sorted(cores) if len(core) > 1]
    assert json.loads(json.dumps(read)) == read


FILES = [
    f"{CPU}/online",
    f"{CPU}/present",
    f"{CPU}/isolated",
    f"{CPU}/cpu0/online",
    f"{CPU}/cpu1/topology/thread_siblings_list",
    f"{CPU}/cpu1/topology/physical_package_id",
    f"{NODE}/node0/cpulist",
    f"{NODE}/node0/meminfo",
    f"{NODE}/node1/meminfo",
    f"{NODE}/node0/hugepages/hugepages-2048kB/nr_hugepages",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(FILES),
    text=st.one_of(
        st.text(max_size=20),
        st.text("0123456789-,:/N \nx", max_size=20),
        st.integers().map(str),
        st.integers(0).map("Node 0 MemTotal: {} kB".format),
    ),
)
def test_any_file_gives_a_topology_or_a_refusal_of_one_line(
    attempt: Attempt, plant: Plant, host_files: HostFiles, path: str, text: str
) -> None:
    files = host_files({0: [0, 1], 1: [2, 3]}, [[0, 1], [2, 3]], pages={2048: 1})
    read = attempt(topology, plant({**files, path: text}))
    assert json.loads(json.dumps(read)) == read
