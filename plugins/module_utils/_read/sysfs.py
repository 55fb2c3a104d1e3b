# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hardware of a host from sysfs: NUMA cells, thread siblings, sockets, pages.

The values are those that libvirt's capabilities show to Nova.
"""

from __future__ import annotations

import re
import typing as t

from .cpu_list import CpuListError, ids, mask, parse_hex, parse_kernel, size, to_text
from .errors import InputError

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .files import Tree

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"
MEMINFO = "/proc/meminfo"

_CPU_NAME = re.compile(r"cpu([0-9]{1,5})")
_NODE_NAME = re.compile(r"node([0-9]{1,5})")
_PAGES_NAME = re.compile(r"hugepages-([0-9]{1,12})kB")
_MEM_TOTAL = re.compile(r"^(?:Node [0-9]+ )?MemTotal: +([0-9]{1,18}) kB$", re.MULTILINE)
_NUMBER = re.compile(r"-?[0-9]{1,18}")


def topology(tree: Tree, page_kb: int = 4) -> dict[str, t.Any]:
    """Read the ``topology`` part of a host's facts.

    ``page_kb`` is the size of the kernel's small pages in KiB, which no file tells.

    Raises :class:`InputError` for files that do not say what sysfs says, and where CPUs or the
    memory of a NUMA cell are missing.
    """
    online = _online(tree)
    return {
        "online": to_text(online),
        "present": to_text(_present(tree) | online),
        "isolated": _isolated(tree),
        "cells": _cells(tree, online, page_kb),
        "siblings": _cores(tree, online),
        "sockets": _sockets(tree, online),
    }


def _cpus(tree: Tree, path: str, reader: t.Callable[[str], int] = parse_kernel) -> int | None:
    text = tree.optional(path)
    if text is None:
        return None
    try:
        return reader(text)
    except CpuListError as error:
        raise error.at(path) from None


def _number(tree: Tree, path: str) -> int | None:
    text = tree.optional(path)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text.strip()):
        raise InputError("holds no number", "a decimal number", path)
    return int(text)


def _numbered(tree: Tree, path: str, name: re.Pattern[str]) -> Mapping[int, str]:
    """Map the number in each name of a directory to the path it names, ascending."""
    found = (name.fullmatch(each) for each in tree.names(path) or ())
    return dict(sorted((int(each[1]), f"{path}/{each[0]}") for each in found if each))


def _online(tree: Tree) -> int:
    """Read the CPUs that are online; by their own folders on a host without ``online``."""
    online = _cpus(tree, f"{CPU}/online")
    if online is None:
        folders = _numbered(tree, CPU, _CPU_NAME).items()
        online = mask(cpu for cpu, path in folders if _number(tree, f"{path}/online") in (None, 1))
    if not online:
        raise InputError("names no CPU", "the online CPUs of a host", f"{CPU}/online")
    return online


def _present(tree: Tree) -> int:
    for name in ("present", "possible"):
        found = _cpus(tree, f"{CPU}/{name}")
        if found is not None:
            return found
    return mask(_numbered(tree, CPU, _CPU_NAME)) | (_cpus(tree, f"{CPU}/offline") or 0)


def _isolated(tree: Tree) -> str | None:
    found = _cpus(tree, f"{CPU}/isolated")
    return None if found is None else to_text(found)


def _cells(tree: Tree, online: int, page_kb: int) -> list[dict[str, t.Any]]:
    nodes = _numbered(tree, NODE, _NODE_NAME)
    if not nodes:
        # A kernel without NUMA: libvirt then makes up one cell, and gives it no page pools.
        memory_kb = _memory_kb(tree, MEMINFO)
        return [{"id": 0, "cpus": to_text(online), "memory_mb": memory_kb // 1024, "pages": {}}]
    cells = []
    free = online
    for node, path in nodes.items():
        cpus = _node_cpus(tree, path) & online
        if cpus & ~free:
            raise InputError(
                f"CPUs {to_text(cpus & ~free)} are in another node too", "one node a CPU", path
            )
        free &= ~cpus
        memory_kb = _memory_kb(tree, f"{path}/meminfo")
        cells.append(
            {
                "id": node,
                "cpus": to_text(cpus),
                "memory_mb": memory_kb // 1024,
                "pages": _pages(tree, path, memory_kb, page_kb),
            }
        )
    return cells


def _node_cpus(tree: Tree, path: str) -> int:
    cpus = _cpus(tree, f"{path}/cpulist")
    if cpus is None:
        cpus = _cpus(tree, f"{path}/cpumap", parse_hex)
    if cpus is None:
        raise InputError("no such file", "an existing file", f"{path}/cpulist")
    return cpus


def _memory_kb(tree: Tree, path: str) -> int:
    found = _MEM_TOTAL.search(tree.text(path))
    if not found:
        raise InputError("has no line MemTotal", "MemTotal: N kB", path)
    return int(found[1])


def _pages(tree: Tree, path: str, memory_kb: int, page_kb: int) -> dict[str, int]:
    """Count the pages of a node by size: all huge pages, and small ones in the memory left.

    Source: libvirt ``src/util/virnuma.c``, ``virNumaGetPages``, ``virNumaGetPageInfo``.
    """
    huge = {}
    for size_kb, folder in _numbered(tree, f"{path}/hugepages", _PAGES_NAME).items():
        count = _number(tree, f"{folder}/nr_hugepages")
        if count is None or count < 0 or not size_kb:
            raise InputError("tells no number of pages", "nr_hugepages of 0 or more", folder)
        huge[size_kb] = count
    taken_kb = sum(size_kb * count for size_kb, count in huge.items())
    if taken_kb > memory_kb:
        raise InputError(
            f"huge pages of {taken_kb} KiB exceed the node's {memory_kb} KiB",
            "pages within MemTotal",
            f"{path}/hugepages",
        )
    pages = {page_kb: (memory_kb - taken_kb) // page_kb, **huge}
    return {str(size_kb): pages[size_kb] for size_kb in sorted(pages)}


def _cores(tree: Tree, online: int) -> list[str]:
    """List the online threads of each core that has two or more, by their lowest ids."""
    cores: dict[int, int] = {}
    for cpu, path in _online_folders(tree, online):
        threads = (_threads(tree, f"{path}/topology") | 1 << cpu) & online
        if any(cores.setdefault(each, threads) != threads for each in ids(threads)):
            raise InputError(
                f"CPU {cpu} has the thread siblings {to_text(threads)}, one of which has others",
                "siblings that name each other",
                f"{path}/topology",
            )
    found = sorted(set(cores.values()), key=lambda core: core & -core)
    return [to_text(core) for core in found if size(core) > 1]


def _online_folders(tree: Tree, online: int) -> list[tuple[int, str]]:
    return [each for each in _numbered(tree, CPU, _CPU_NAME).items() if online >> each[0] & 1]


def _threads(tree: Tree, path: str) -> int:
    """Read the thread siblings of a CPU; 0 where no file tells them."""
    for name in ("thread_siblings_list", "core_cpus_list"):
        found = _cpus(tree, f"{path}/{name}")
        if found is not None:
            return found
    for name in ("thread_siblings", "core_cpus"):
        found = _cpus(tree, f"{path}/{name}", parse_hex)
        if found is not None:
            return found
    return 0


def _sockets(tree: Tree, online: int) -> dict[str, str]:
    """Map sockets to their online CPUs. A missing or negative id stands for socket 0.

    Source: libvirt ``src/util/virhostcpu.c``, ``virHostCPUGetSocket``.
    """
    sockets = {0: online}
    for cpu, path in _online_folders(tree, online):
        socket = _number(tree, f"{path}/topology/physical_package_id")
        if socket is not None and socket > 0:
            sockets[0] &= ~(1 << cpu)
            sockets[socket] = sockets.get(socket, 0) | 1 << cpu
    return {str(socket): to_text(sockets[socket]) for socket in sorted(sockets) if sockets[socket]}
