# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""QEMU's processes and their threads, as procfs shows them.

All that can end while it is read is passed over where it has: processes and threads come and go.

Source: kernel ``Documentation/filesystems/proc.rst`` and ``fs/proc/array.c``; QEMU's names of its
threads (``accel/kvm/kvm-accel-ops.c``, ``iothread.c``); kernel ``drivers/vhost/vhost.c``.
"""

from __future__ import annotations

import dataclasses
import os
import re
import typing as t

from . import cpu_list, evidence
from .errors import InputError
from .files import LARGE

if t.TYPE_CHECKING:
    from .files import Tree

PROC = "/proc"
PID_FILES = "/run/libvirt/qemu"
"""Where libvirt keeps ``NAME.pid`` of each domain that runs."""
THREADS = 1 << 14
"""Threads that a process may have, many more than any QEMU has."""
POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline", 7: "ext"}
"""Names of the kernel's scheduling policies. Source: ``include/uapi/linux/sched.h``."""

_NAME = 64
"""Characters that the kernel gives the name of a thread at most."""
_VCPU = re.compile(r"CPU ([0-9]{1,5})/\w+", re.ASCII)
_IOTHREAD = re.compile(r"IO iothread([0-9]{1,5})")
_VHOST = re.compile(r"vhost-([0-9]{1,10})")
_EMULATOR = re.compile(r"qemu|kvm")
"""What is in the name of every build of QEMU: ``qemu-system-x86_64``, ``qemu-kvm``, ``kvm``."""
_KB = re.compile(r"([0-9]{1,15})(?: kB)?")
_ON_NODE = re.compile(r"(?<!\S)N([0-9]{1,5})=([0-9]{1,15})(?!\S)")
_PAGE_KB = re.compile(r"(?<!\S)kernelpagesize_kB=([0-9]{1,10})(?!\S)")
_MEMORY_KB = 10**15
"""KiB that a process may have on a NUMA cell, many more than any host has."""


@dataclasses.dataclass(frozen=True)
class Processes:
    """What one look over all processes found."""

    guests: dict[str, list[int]]
    """UUID of a domain to the processes that were started for it; rightly it is one."""
    vhost: dict[int, list[int]]
    """Thread of QEMU to the kernel threads that work for it, which are no tasks of its process
    before Linux 6.4."""


def processes(tree: Tree) -> Processes:
    """Look for QEMU and vhost in all of procfs. Processes that may not be read are passed over."""
    commands: dict[str, list[tuple[int, bool]]] = {}
    vhost: dict[int, list[int]] = {}
    for process in evidence.processes(tree) or ():
        owner = _VHOST.fullmatch(process.name)
        if process.parent == evidence.KTHREADD:
            if owner:
                vhost.setdefault(int(owner[1]), []).append(process.pid)
            continue
        words = (evidence.text(tree, f"{PROC}/{process.pid}/cmdline") or "").split("\0")
        if "-uuid" in words[:-1]:
            uuid = words[words.index("-uuid") + 1].lower()
            ours = bool(_EMULATOR.search(os.path.basename(words[0])))
            commands.setdefault(uuid, []).append((process.pid, ours))
    return Processes({uuid: _likely(found) for uuid, found in commands.items()}, vhost)


def _likely(found: list[tuple[int, bool]]) -> list[int]:
    """Leave out what only has QEMU's command line as arguments of its own, if anything else has."""
    return [pid for pid, ours in found if ours] or [pid for pid, _ours in found]


def process_of(tree: Tree, found: Processes, uuid: str, name: str) -> int | None:
    """Find the process of a domain: by its UUID, else by libvirt's file; None where it has none.

    Raises :class:`InputError` where several processes claim to be it.
    """
    pids = found.guests.get(uuid.lower(), [])
    if len(pids) > 1:
        listed = ", ".join(map(str, pids[:8]))
        raise InputError(f"the processes {listed} all have -uuid {uuid}", "one", PROC)
    if pids:
        return pids[0]
    if "/" in name or len(name) > 200:
        return None
    text = (tree.optional(f"{PID_FILES}/{name}.pid") or "").strip()
    if not re.fullmatch(r"[0-9]{1,10}", text):
        return None
    try:
        # The file may have outlived its process, and the number may be another one's by now.
        comm = _stat(tree, f"{PROC}/{int(text)}")[0]
    except ProcessLookupError:
        return None
    return int(text) if _EMULATOR.search(comm) else None


def threads(tree: Tree, found: Processes, pid: int) -> list[dict[str, t.Any]]:
    """Read the threads of a process of QEMU, and the vhost workers of the kernel that serve it.

    Each is ``{id, name, kind, index, main, cpus, policy, priority, last_cpu}``: ``kind`` is vcpu,
    iothread, vhost or else emulator; ``index`` only those of the first two have, ``main`` only the
    main thread. ``cpus`` is a list as text. The list is empty where the process has ended.

    Raises :class:`InputError` for what cannot be read or is no such file.
    """
    tasks = _numbers(tree, f"{PROC}/{pid}/task")
    if len(tasks) > THREADS:
        raise InputError("has very many threads", f"{THREADS} at most", f"{PROC}/{pid}/task")
    places = [(tid, f"{PROC}/{pid}/task/{tid}") for tid in tasks]
    workers = [worker for tid in tasks for worker in found.vhost.get(tid, [])]
    places += [(tid, f"{PROC}/{tid}") for tid in workers if tid not in tasks]
    read = (_thread(tree, tid, place, tid == pid) for tid, place in places)
    return [thread for thread in read if thread is not None]


def _thread(tree: Tree, tid: int, place: str, main: bool) -> dict[str, t.Any] | None:
    try:
        name, fields = _stat(tree, place)
        cpus = _status(tree, place)["Cpus_allowed_list"]
        last_cpu, priority = int(fields[evidence.LAST_CPU]), int(fields[evidence.PRIORITY])
        policy = POLICIES[int(fields[evidence.POLICY])]
    except ProcessLookupError:
        return None
    except (KeyError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError("is no state of a thread", "stat and status of procfs", place) from None
    if not (0 <= last_cpu < cpu_list.LIMIT and 0 <= priority < 100):
        raise InputError("is no state of a thread", "a CPU, and a priority below 100", place)
    try:
        allowed = cpu_list.to_text(cpu_list.parse_kernel(cpus))
    except InputError as problem:
        raise problem.at(f"{place}/status") from None
    return {
        "id": tid,
        "name": name,
        **_kind(name),
        **({"main": True} if main else {}),
        "cpus": allowed,
        "policy": policy,
        "priority": priority,
        "last_cpu": last_cpu,
    }


def _kind(name: str) -> dict[str, t.Any]:
    for kind, pattern in (("vcpu", _VCPU), ("iothread", _IOTHREAD)):
        found = pattern.fullmatch(name)
        if found and int(found[1]) < cpu_list.LIMIT:
            return {"kind": kind, "index": int(found[1])}
    return {"kind": "vhost" if _VHOST.fullmatch(name) else "emulator"}


def memory(tree: Tree, pid: int) -> dict[str, int]:
    """Tell how much of a process is ``locked_kb`` and ``swapped_kb``; empty where it has ended."""
    try:
        status = _status(tree, f"{PROC}/{pid}")
    except ProcessLookupError:
        return {}
    wanted = {"locked_kb": "VmLck", "swapped_kb": "VmSwap"}
    found = {key: _KB.fullmatch(status.get(name, "")) for key, name in wanted.items()}
    return {key: int(value[1]) for key, value in found.items() if value}


def cells(tree: Tree, pid: int) -> dict[str, int] | None:
    """Sum up how many KiB of a process are on each NUMA cell of the host; None where it has ended.

    These are all of its mappings, so QEMU's own memory is among them (some tens of MiB). The kernel
    walks all page tables for it and holds a lock of the process meanwhile, which can stall a guest.

    Raises :class:`InputError` for what may not be read.

    Source: kernel ``fs/proc/task_mmu.c``, ``show_numa_map``.
    """
    data = tree.data(f"{PROC}/{pid}/numa_maps", LARGE)
    if not data:
        return None
    total: dict[int, int] = {}
    for line in _decoded(data).splitlines():
        size = _PAGE_KB.search(line)
        for node, pages in _ON_NODE.findall(line) if size else ():
            total[int(node)] = total.get(int(node), 0) + int(pages) * int(size[1] if size else 0)
    if any(kb > _MEMORY_KB for kb in total.values()):
        raise InputError(
            "tells of very much memory", f"{_MEMORY_KB} KiB", f"{PROC}/{pid}/numa_maps"
        )
    return {str(node): total[node] for node in sorted(total)}


def _numbers(tree: Tree, folder: str) -> list[int]:
    """List the processes or threads that a folder of procfs names, ascending."""
    try:
        names = tree.names(folder) or []
    except InputError:
        if not tree.exists(folder):
            return []
        raise
    return sorted(int(name) for name in names if re.fullmatch(r"[0-9]{1,10}", name))


def _stat(tree: Tree, place: str) -> tuple[str, list[str]]:
    """Read name and fields after it. Raises ``ProcessLookupError`` where the thread has ended."""
    found = evidence.stat(_alive(tree, f"{place}/stat").rstrip("\n"))
    if not found:
        raise InputError("is no state of a thread", "stat of procfs", f"{place}/stat")
    name, fields = found
    return "".join(char if char.isprintable() else "?" for char in name[:_NAME]), fields


def _status(tree: Tree, place: str) -> dict[str, str]:
    """Read ``status`` by its names. Raises ``ProcessLookupError`` where the thread has ended."""
    lines = (line.partition(":") for line in _alive(tree, f"{place}/status").split("\n"))
    return {name: value.strip() for name, _colon, value in lines}


def _alive(tree: Tree, path: str) -> str:
    data = tree.data(path)
    if data is None:
        raise ProcessLookupError(path)
    return _decoded(data)


def _decoded(data: bytes) -> str:
    """Decode what processes chose themselves, which need not be UTF-8."""
    return data.decode("utf-8", "backslashreplace")
