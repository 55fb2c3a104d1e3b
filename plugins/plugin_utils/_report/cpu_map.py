# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A map of a host's CPUs: NUMA cell by core by thread, each CPU with its role."""

from __future__ import annotations

import dataclasses
import functools
import operator
import typing as t

from ...module_utils._read.cpu_list import ids, parse_nova, to_text
from ...module_utils._read.errors import InputError
from . import rendering

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .._model.config import HostConfig
    from .._model.host import Host
    from .._rules.rule import HostCase

WIDTH = 100
"""Columns of a terminal where nobody knows better."""

LEGEND = {
    "D": "dedicated: pinned vCPUs",
    "S": "shared: floating vCPUs",
    "B": "both: a legacy host pins on its shared CPUs",
    "X": "in both sets, which Nova refuses",
    "P": "busy with the data path",
    "H": "the host's own",
    ".": "offline",
    "*": "a vCPU is pinned here",
    "e": "emulator threads of a guest may run here",
    "i": "isolated by the kernel",
}
"""The letters of a map and what they mean."""


@dataclasses.dataclass(frozen=True, slots=True)
class Roles:
    """The CPUs of a host by role (bitmasks)."""

    shared: int
    dedicated: int
    legacy: bool
    readable: bool
    """False where Nova cannot read the sets; they are then as far as they can be read."""


def roles(case: HostCase) -> Roles:
    """Sort the CPUs of a host, be it one that nova-compute does not start on."""
    if case.sets is not None:
        return Roles(case.sets.shared, case.sets.dedicated, case.sets.legacy, True)
    config = case.host.config
    pins, shared, dedicated = map(
        _tolerant, (config.vcpu_pin_set, config.cpu_shared_set, config.cpu_dedicated_set)
    )
    return Roles((pins or 0) | (shared or 0), dedicated or 0, False, False)


def _tolerant(text: str | None) -> int | None:
    try:
        return None if text is None else parse_nova(text)
    except InputError:
        return None


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """One NUMA cell of a map."""

    id: int | None
    """None for the CPUs that are in no cell."""
    memory_mb: int
    cores: tuple[tuple[int, ...], ...]
    """Ids of the threads of each core."""


@dataclasses.dataclass(frozen=True, slots=True)
class Chart:
    """What a map shows, before it is drawn."""

    cells: tuple[Cell, ...]
    marks: Mapping[int, str]
    """The letters of each CPU, by its id; each letter is one of :data:`LEGEND`."""
    sets: str
    """The CPU sets in words."""

    @property
    def legend(self) -> dict[str, str]:
        """What the letters mean that are in it."""
        used = {letter for mark in self.marks.values() for letter in mark}
        return {letter: text for letter, text in LEGEND.items() if letter in used}


def chart(case: HostCase, pinned: int = 0, emulator: int = 0) -> Chart:
    """Sort the CPUs of a host by cell, core and thread, and give each its role.

    ``pinned`` and ``emulator`` are CPUs of guests beyond what the host's own record says: those
    that vCPUs are pinned to, and those that emulator threads may run on (bitmasks).
    """
    host, sorted_ = case.host, roles(case)
    pinned |= functools.reduce(operator.or_, (usage.pinned_cpus for usage in host.usage), 0)
    marks = {cpu: _mark(cpu, host, sorted_, pinned, emulator) for cpu in ids(host.topology.present)}
    cells = [
        Cell(cell.id, cell.memory_mb, _cores(cell.cpuset, host.topology.cores))
        for cell in host.topology.cells
    ]
    placed = sum(cell.cpuset for cell in host.topology.cells)
    rest = tuple((cpu,) for cpu in ids(host.topology.present & ~placed))
    if rest:
        cells.append(Cell(None, 0, rest))
    return Chart(tuple(cells), marks, _sets(host.config, sorted_))


def cpu_map(
    case: HostCase, width: int = WIDTH, shown: Chart | None = None, *, named: bool = True
) -> str:
    """Draw the CPUs of a host, with the legend of the letters that are in it.

    ``shown`` is its chart where that is made already; with ``named`` the hosts are in the title.
    """
    shown = shown or chart(case)
    return rendering.render(
        "cpu_map.txt.j2",
        case=case,
        named=named,
        width=width,
        fault=str(case.fault) if case.fault else "",
        sets=shown.sets,
        cells=[
            {
                "id": cell.id,
                "memory_mb": cell.memory_mb,
                "bands": list(_bands(cell.cores, shown.marks, width)),
            }
            for cell in shown.cells
        ],
        legend=shown.legend,
    )


def _sets(config: HostConfig, found: Roles) -> str:
    if found.legacy:
        return f"legacy, {to_text(found.shared)} for every vCPU"
    shared = to_text(found.shared) or _absent(config.vcpu_pin_set or config.cpu_shared_set)
    dedicated = to_text(found.dedicated) or _absent(config.cpu_dedicated_set)
    told = f"shared {shared}, dedicated {dedicated}"
    return told if found.readable else f"{told}; Nova refuses them"


def _absent(given: str | None) -> str:
    return "none" if not given or _tolerant(given) is not None else "unreadable"


def _mark(cpu: int, host: Host, found: Roles, pinned: int, emulator: int) -> str:
    bit = 1 << cpu
    if found.shared & found.dedicated & bit:
        letter = "X"
    elif host.data_path_cpus & bit:
        letter = "P"
    elif found.dedicated & bit:
        letter = "D"
    elif found.shared & bit:
        letter = "B" if found.legacy else "S"
    else:
        letter = "H"
    offline = "" if host.topology.online & bit else "."
    told = (("*", pinned), ("e", emulator), ("i", _isolated(host)))
    return letter + offline + "".join(mark for mark, cpus in told if cpus & bit)


def _isolated(host: Host) -> int:
    told = host.isolation
    return (host.topology.isolated or 0) | ((told and told.domain) or 0)


def _cores(cpus: int, cores: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """List the threads of each core of a cell, by their ids."""
    return tuple(tuple(ids(core)) for core in cores if core & cpus)


def _bands(
    cores: tuple[tuple[int, ...], ...], marks: Mapping[int, str], width: int
) -> Iterator[list[list[str]]]:
    """Cut the cores in bands that a line takes; each is a list of rows, one a thread."""
    texts = [[f"{cpu}{marks[cpu]}" for cpu in core] for core in cores]
    cell = max((len(text) for core in texts for text in core), default=1)
    count = max(1, (width - len("  thread 0  ")) // (cell + 1))
    for start in range(0, len(texts), count):
        band = texts[start : start + count]
        threads = max(map(len, band))
        yield [
            [(core[row] if row < len(core) else "").rjust(cell) for core in band]
            for row in range(threads)
        ]
