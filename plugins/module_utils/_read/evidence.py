# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that may be absent, unreadable or not understood: then nothing is known, and no more.

The readers of topology and configuration refuse a host whose files are broken, for everything
depends on them. What is read here decides about one or two rules each; a rule that does not find
its evidence says so.
"""

from __future__ import annotations

import re
import typing as t

from .cpu_list import parse_hex, parse_kernel
from .errors import InputError
from .files import SMALL

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .files import Tree

_Read = t.TypeVar("_Read")

_LARGEST = 2**31 - 1
_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_STAT = re.compile(r"[0-9]+ \((.*)\) (.*)", re.DOTALL)
PARENT, LAST_CPU, PRIORITY, POLICY = 1, 36, 37, 38
"""Fields of ``stat``, counted from 0 after the name. Source: kernel ``fs/proc/array.c``."""
KTHREADD = 2
"""The parent of all kernel threads, so that no program can pass for one."""
_FIXED = frozenset({"1", "2"})
"""Policies FIFO and RR. Source: kernel ``include/uapi/linux/sched.h``."""


def known(mapping: Mapping[str, _Read | None]) -> dict[str, _Read]:
    """Leave out what is not known."""
    return {key: value for key, value in mapping.items() if value is not None}


def tolerant(read: Callable[[], _Read | None]) -> _Read | None:
    """Call ``read``; None where it refuses its input."""
    try:
        return read()
    except InputError:
        return None


def text(tree: Tree, path: str, limit: int = SMALL) -> str | None:
    """Read a file, without the blanks round it; what is no UTF-8 is written with ``\\x``."""
    data = tolerant(lambda: tree.data(path, limit))
    return None if data is None else data.decode("utf-8", "backslashreplace").strip()


def names(tree: Tree, path: str) -> list[str]:
    """List a directory, sorted; empty where that is not possible."""
    return tolerant(lambda: tree.names(path)) or []


def number(tree: Tree, path: str, low: int = 0, high: int = _LARGEST) -> int | None:
    """Read a decimal number from ``low`` to ``high``."""
    found = text(tree, path)
    value = int(found) if found is not None and _NUMBER.fullmatch(found) else low - 1
    return value if low <= value <= high else None


def switch(tree: Tree, path: str) -> bool | None:
    """Read a number of which only 0 means no."""
    found = number(tree, path)
    return None if found is None else found != 0


def listed(tree: Tree, path: str) -> int | None:
    """Read a list of CPUs (bitmask); ``(null)`` is what some kernels write for none."""
    found = text(tree, path)
    if found is None:
        return None
    return 0 if found == "(null)" else tolerant(lambda: parse_kernel(found))


def masked(tree: Tree, path: str) -> int | None:
    """Read a hex mask of CPUs."""
    found = text(tree, path)
    return None if found is None else tolerant(lambda: parse_hex(found))


def stat(content: str) -> tuple[str, list[str]] | None:
    """Take the ``stat`` of a process or thread apart: its name and the fields after it.

    The name may itself hold blanks and brackets. None for what is no such file, or is cut short.
    """
    found = _STAT.fullmatch(content)
    fields = found[2].split() if found else []
    return (found[1], fields) if found and len(fields) > POLICY else None


class Process(t.NamedTuple):
    """A process or kernel thread."""

    pid: int
    name: str
    """What the kernel calls it: 15 characters at most, of kernel threads more."""
    parent: int
    priority: int
    """Its fixed priority, 1 to 99; 0 under another policy than FIFO and RR."""


def processes(tree: Tree) -> list[Process] | None:
    """List what runs, ascending; None where procfs shows no process, as in most captured trees."""
    pids = sorted(int(name) for name in names(tree, "/proc") if re.fullmatch("[0-9]{1,10}", name))
    found = list(_processes(tree, pids))
    return found or None


def _processes(tree: Tree, pids: list[int]) -> Iterator[Process]:
    for pid in pids:
        # One that has ended meanwhile, or that is broken, is passed over.
        found = stat(text(tree, f"/proc/{pid}/stat") or "")
        if found:
            name, fields = found
            parent, priority = (
                int(fields[at]) if _NUMBER.fullmatch(fields[at]) else 0 for at in (PARENT, PRIORITY)
            )
            fixed = fields[POLICY] in _FIXED and 0 < priority < 100
            yield Process(pid, name, parent, priority if fixed else 0)
