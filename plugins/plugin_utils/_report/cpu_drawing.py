# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Maps of the CPUs of hosts as drawings: where each CPU goes, and what is said of it."""

from __future__ import annotations

import dataclasses
import typing as t

from .._rules.cases import host_case
from .cpu_map import LEGEND, chart, cpu_map
from .naming import compact

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .._model.host import Host
    from .._rules.rule import HostCase
    from .cpu_map import Chart

MOST = 150
"""Different maps that one page draws."""

_ACROSS = 16
"""Cores beside each other."""
_WIDE, _HIGH = 40, 34
"""Pixels of a CPU."""
_GAP = 6
"""Between cores."""
_HEAD = 22
"""Of the line above a cell."""

_ROLES = "DSBXPH"


@dataclasses.dataclass(frozen=True, slots=True)
class Tile:
    """One CPU of a drawing."""

    x: int
    y: int
    cpu: int
    mark: str
    """Its letters in the text map."""
    told: str
    """What they mean, and whose it is."""
    was: str = ""
    """What the letters before a change mean, where those were others."""

    @property
    def look(self) -> str:
        """The classes of its look: role, and what is beside it."""
        more = {".": "off", "*": "pin", "e": "emu", "i": "iso"}
        return " ".join([self.mark[0], *(more[letter] for letter in self.mark[1:])])


@dataclasses.dataclass(frozen=True, slots=True)
class Drawing:
    """One map. Sizes are pixels."""

    width: int
    height: int
    heads: tuple[tuple[int, str], ...]
    """Lines of text above the cells: y and text."""
    tiles: tuple[Tile, ...]
    text: str
    """The same map as text."""
    chart: Chart
    fault: str = ""
    """Why nova-compute does not start; "" where it does."""


@dataclasses.dataclass(frozen=True, slots=True)
class Map:
    """The map of some hosts, and how it would be."""

    title: str
    classes: tuple[int, ...]
    """Places of the classes of hosts that it is of."""
    now: Drawing
    then: Drawing | None = None
    """After a planned change."""
    owners: tuple[str, ...] = ()
    """Who has which CPUs, one guest a line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Maps:
    """The maps of a page."""

    shown: tuple[Map, ...] = ()
    more: int = 0
    """Classes of hosts, or changes, whose maps are left out."""


def maps(cases: Sequence[HostCase], labels: Sequence[str]) -> Maps:
    """Draw each class of hosts; classes with the same map have it together.

    Classes that come after :data:`MOST` different maps are only counted.
    """
    found: dict[str, tuple[HostCase, list[int]]] = {}
    more = 0
    for index, case in enumerate(cases):
        if len(found) == MOST:
            more += 1
        else:
            found.setdefault(cpu_map(case, named=False), (case, []))[1].append(index)
    drawn = tuple(
        Map(
            f"{', '.join(labels[index] for index in places)}: "
            f"{compact([name for index in places for name in cases[index].names])}",
            tuple(places),
            drawing(case),
        )
        for case, places in found.values()
    )
    return Maps(drawn, more)


class Change(t.NamedTuple):
    """Hosts before and after a change."""

    names: tuple[str, ...]
    before: Host
    after: Host


def changed(changes: Iterable[Change], places: Mapping[str, int]) -> Maps:
    """Draw hosts before and after a change; those with the same two maps have them together.

    ``places`` has the class of each host. Hosts whose CPUs keep their roles are not drawn.
    """
    found: dict[tuple[str, str], tuple[HostCase, HostCase, list[str]]] = {}
    more = 0
    for names, before, after in changes:
        if len(found) == MOST:
            more += 1
            continue
        now, then = host_case(before), host_case(after)
        if chart(now) != chart(then):
            texts = cpu_map(now, named=False), cpu_map(then, named=False)
            found.setdefault(texts, (now, then, []))[2].extend(names)
    drawn = tuple(
        Map(
            compact(names),
            tuple(sorted({places[name] for name in names})),
            drawing(now),
            drawing(then, before=chart(now)),
        )
        for now, then, names in found.values()
    )
    return Maps(drawn, more)


def drawing(
    case: HostCase,
    pinned: Mapping[int, Sequence[str]] | None = None,
    emulators: Mapping[int, Sequence[str]] | None = None,
    before: Chart | None = None,
) -> Drawing:
    """Place the CPUs of a host, cell by cell, the threads of a core below each other.

    ``pinned`` and ``emulators`` have the guests with vCPUs pinned to a CPU, and those with emulator
    threads on it, as far as that is known. CPUs with another role than ``before`` are marked.
    """
    pinned, emulators = pinned or {}, emulators or {}
    shown = chart(case, sum(1 << cpu for cpu in pinned), sum(1 << cpu for cpu in emulators))
    tiles: list[Tile] = []
    heads: list[tuple[int, str]] = []
    y = width = 0
    for cell in shown.cells:
        memory = f", {cell.memory_mb} MiB" + ("" if cell.cores else ", no CPUs")
        heads.append((y + 15, "in no cell" if cell.id is None else f"NUMA cell {cell.id}{memory}"))
        y += _HEAD
        for start in range(0, len(cell.cores), _ACROSS):
            band = cell.cores[start : start + _ACROSS]
            for column, core in enumerate(band):
                for thread, cpu in enumerate(core):
                    x = column * (_WIDE + _GAP)
                    mark = shown.marks[cpu]
                    told = _told(mark, pinned.get(cpu, ()), emulators.get(cpu, ()))
                    old = before.marks.get(cpu, mark) if before else mark
                    was = "" if old == mark else _told(old)
                    tiles.append(Tile(x, y + thread * _HIGH, cpu, mark, told, was))
            width = max(width, len(band) * (_WIDE + _GAP))
            y += max(map(len, band)) * _HIGH + _GAP
    text = cpu_map(case, shown=shown, named=False)
    fault = str(case.fault) if case.fault else ""
    return Drawing(max(width, 260), y, tuple(heads), tuple(tiles), text, shown, fault)


def _told(mark: str, pinned: Sequence[str] = (), emulators: Sequence[str] = ()) -> str:
    """Say what the letters of a CPU mean, with the guests that are on it."""
    owners = {"*": pinned, "e": emulators}
    parts = []
    for letter in mark:
        names = owners.get(letter, ())
        parts.append(LEGEND[letter] + (f" ({compact(list(names), 'guest')})" if names else ""))
    return "; ".join(parts)


def legend(found: Maps) -> list[Tile]:
    """List the letters that are in any of the maps, each as a CPU with it."""
    used = {
        letter
        for each in found.shown
        for drawn in (each.now, each.then)
        if drawn
        for letter in drawn.chart.legend
    }
    return [
        Tile(0, 0, 0, letter if letter in _ROLES else f"H{letter}", text)
        for letter, text in LEGEND.items()
        if letter in used
    ]
