# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of files that look like a host."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import mask, to_text
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree

if t.TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Mapping, Sequence

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def _host_files(
    nodes: Mapping[int, Sequence[int]],
    cores: Sequence[Sequence[int]],
    offline: Sequence[int] = (),
    memory_kb: int = 8 << 20,
    pages: Mapping[int, int] | None = None,
    sockets: Mapping[int, int] | None = None,
) -> dict[str, str]:
    """Write what sysfs shows of a host; ``sockets`` maps CPUs to ids other than 0."""
    present = [cpu for core in cores for cpu in core]
    online = [cpu for cpu in present if cpu not in offline]
    files = {
        f"{CPU}/online": to_text(mask(online)),
        f"{CPU}/present": to_text(mask(present)),
        f"{CPU}/possible": to_text(mask(present)),
        f"{CPU}/offline": to_text(mask(offline)),
        f"{CPU}/isolated": "",
    }
    for cpu in online:
        threads = next(core for core in cores if cpu in core)
        folder = f"{CPU}/cpu{cpu}/topology"
        files[f"{folder}/thread_siblings_list"] = to_text(mask({*threads} - {*offline}))
        files[f"{folder}/physical_package_id"] = str((sockets or {}).get(cpu, 0))
    for cpu in offline:
        files[f"{CPU}/cpu{cpu}/online"] = "0"
    for node, cpus in nodes.items():
        folder = f"{NODE}/node{node}"
        files[f"{folder}/cpulist"] = to_text(mask({*cpus} - {*offline}))
        files[f"{folder}/meminfo"] = f"Node {node} MemTotal:       {memory_kb} kB"
        for size_kb, count in (pages or {}).items():
            files[f"{folder}/hugepages/hugepages-{size_kb}kB/nr_hugepages"] = str(count)
    return {path: f"{text}\n" for path, text in files.items()}


def _attempt(reader: Callable[..., t.Any], *args: object) -> t.Any:
    try:
        return reader(*args)
    except InputError as error:
        text = str(error)
    assert len(text.splitlines()) == 1
    assert "s3cret" not in text
    return None


@pytest.fixture(scope="session")
def attempt() -> Callable[..., t.Any]:
    """Give the function that calls a reader: its value, or None for a refusal of one line."""
    return _attempt


@pytest.fixture
def host_files() -> Callable[..., dict[str, str]]:
    """Give the function that writes what sysfs shows of a host."""
    return _host_files


@pytest.fixture
def plant(tmp_path: pathlib.Path) -> Callable[[Mapping[str, str]], Tree]:
    """Give a function that puts files below a root and returns their tree."""

    def planted(files: Mapping[str, str]) -> Tree:
        for path, text in files.items():
            place = tmp_path / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode())
        return Tree(str(tmp_path))

    return planted
