# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where emulator threads and realtime vCPUs of flavors run, and what would move them."""

from __future__ import annotations

import dataclasses
import itertools
import typing as t

from ...module_utils._read.cpu_list import mask, to_text
from .._model.flavor import NO_IMAGE
from .._plan.emulator_flavors import flavor_options, in_question, place
from .._plan.side_by_side import compared
from .._rules import flavors
from .._rules.cases import likeness
from .._rules.policies import KEY
from .naming import compact, counted

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._plan.emulator_flavors import Option, Place
    from .._plan.side_by_side import Line
    from .._rules.audit import Audit
    from .._rules.rule import FlavorCase

MOST_PROPOSALS = 200
"""Flavors by host classes from which on no more proposals are worked out: each takes counting."""

_ROWS, _BLOCKS = 30, 20
"""Rows of places and blocks of options that a text shows."""


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """Flavors that ask for the same, on all classes of hosts."""

    case: FlavorCase
    """The first of them."""
    names: tuple[str, ...]
    """Flavors, each with its image where it has one."""
    places: tuple[tuple[Place, tuple[int, ...]], ...]
    """Each place with the classes of hosts that it is on."""
    options: tuple[tuple[tuple[Option, ...], tuple[int, ...]], ...] = ()
    """Proposals with the classes that they are the same on."""
    untold: bool = False
    """Whether proposals were left out."""


def rows(audit: Audit) -> tuple[Row, ...]:
    """Work out all places, and proposals as far as :data:`MOST_PROPOSALS` lets."""
    alike: dict[t.Any, list[FlavorCase]] = {}
    for case in audit.rows:
        if in_question(case):
            alike.setdefault(likeness(case.flavor, case.image), []).append(case)
    left = MOST_PROPOSALS
    found = []
    for members in alike.values():
        case = members[0]
        wanted = flavors.realtime(case) and not case.spec(KEY)
        told = wanted and left > 0
        left -= len(case.hosts) if told else 0
        options = flavor_options(case) if told else {}
        places = {index: place(case, index) for index in range(len(case.hosts))}
        row = Row(
            case,
            tuple(named(each) for each in members),
            tuple(_grouped(places.items())),
            tuple(_grouped(options.items())),
            wanted and not told,
        )
        if row.places or row.options:
            found.append(row)
    return tuple(found)


_Value = t.TypeVar("_Value")


def _grouped(
    found: t.Iterable[tuple[int, _Value | None]],
) -> Iterator[tuple[_Value, tuple[int, ...]]]:
    """Put classes of hosts with equal values together."""
    groups: list[tuple[_Value, list[int]]] = []
    for index, value in found:
        if value is None:
            continue
        known = next((places for other, places in groups if other == value), None)
        if known is None:
            groups.append((value, [index]))
        else:
            known.append(index)
    return ((value, tuple(places)) for value, places in groups)


def named(case: FlavorCase) -> str:
    """Name a flavor, with its image where it has one."""
    return case.flavor.name + ("" if case.image is NO_IMAGE else f" + {case.image.name}")


def document(found: Sequence[Row]) -> list[dict[str, t.Any]]:
    """Show it as plain data; classes are named by their places in the hosts of the report."""
    return [
        {
            "flavors": list(row.names),
            "places": [
                {
                    "emulator": to_text(each.emulator),
                    "kind": each.kind,
                    "realtime": {str(vcpu): cpu for vcpu, cpu in each.realtime.items()},
                    "classes": list(classes),
                }
                for each, classes in row.places
            ],
            "options": [
                {**_option(option), "classes": list(classes)}
                for options, classes in row.options
                for option in options
            ],
            "options_left_out": row.untold,
        }
        for row in found
    ]


def _option(option: Option) -> dict[str, t.Any]:
    lines = compared((option.now, option.then)) if option.now and option.then else ()
    return {
        "policy": option.policy,
        "command": option.command,
        "conf": option.conf,
        "differs": [
            {"element": line.element, "now": line.texts[0], "then": line.texts[1]} for line in lines
        ],
        "refusal": option.refusal,
        "resource": option.resource,
        "cost": option.cost,
        "fits_now": option.fits_now,
        "fits_then": option.fits_then,
        "notes": list(option.notes),
    }


class Shown(t.NamedTuple):
    """The section of a text."""

    places: list[Said]
    more_places: int
    blocks: list[Said]
    more_blocks: int
    untold: int
    """Flavors that no options were worked out for."""
    notes: dict[str, int]
    """What is to be known of options, with the numbers that these name it by."""


class Said(t.NamedTuple):
    """What is said of flavors on classes of hosts."""

    text: str
    names: list[str]
    classes: tuple[int, ...]
    options: tuple[str, ...] = ()
    """What the flavors could say instead."""


def shown(found: Sequence[Row], labels: Sequence[str]) -> Shown | None:
    """Make the section, with classes of hosts by their ``labels``; None where it would be empty."""
    if not found:
        return None
    places: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    blocks: dict[tuple[str, tuple[Change, ...], tuple[int, ...]], list[str]] = {}
    for row in found:
        for each, classes in row.places:
            places.setdefault((_place(each), classes), []).extend(row.names)
        for options, classes in row.options:
            key = today(options[0]), tuple(map(change, options)), classes
            blocks.setdefault(key, []).extend(row.names)

    def line(text: str, names: list[str], classes: tuple[int, ...], *options: str) -> Said:
        on = compact([labels[index] for index in classes], "class")
        return Said(f"{compact(names, 'flavor')} on {on}: {text}", names, classes, options)

    lines = [line(text, names, classes) for (text, classes), names in places.items()]
    notes: dict[str, int] = {}
    made = [
        line(
            today,
            names,
            classes,
            *(f"{each.text}{_numbers(each.notes, notes)}" for each in changes),
        )
        for (today, changes, classes), names in itertools.islice(blocks.items(), _BLOCKS)
    ]
    untold = sum(len(row.names) for row in found if row.untold)
    more_places, more_blocks = max(len(lines) - _ROWS, 0), max(len(blocks) - _BLOCKS, 0)
    return Shown(lines[:_ROWS], more_places, made, more_blocks, untold, notes)


def _place(each: Place) -> str:
    text = f"emulator threads on {to_text(each.emulator) or 'no CPU'} ({each.kind})"
    if each.realtime:
        cpus = to_text(mask(each.realtime.values()))
        text += f", realtime vCPU {to_text(mask(each.realtime))} on {cpus}"
    return text


def today(option: Option) -> str:
    if option.now is None:
        return "does not boot today"
    emulator = to_text(option.now.emulator or 0)
    return f"emulatorpin {emulator}, an empty host takes {counted(option.fits_now, 'guest')}"


class Change(t.NamedTuple):
    text: str
    notes: tuple[str, ...]


def change(option: Option) -> Change:
    """Say what an option comes to, for flavors of any name."""
    if option.then is None:
        return Change(f"{option.policy}: refused, {option.refusal}", option.notes)
    lines = compared((option.now or option.then, option.then))
    differs = [f"{line.element} {line.texts[1]}" for line in lines if not _follows(line, lines)]
    if option.now is None:
        differs = [f"emulatorpin {to_text(option.then.emulator or 0)}"]
    else:
        differs.append(f"{option.cost or 'no'} {option.resource} more")
    parts = [*differs, f"takes {option.fits_then}"]
    conf = "; ".join(option.conf.splitlines())
    notes = (f"first in nova.conf: {conf}", *option.notes) if conf else option.notes
    return Change(f"{option.policy}: {', '.join(parts)}", notes)


def _follows(line: Line, lines: tuple[Line, ...]) -> bool:
    """Say whether I/O threads just go where the emulator threads go."""
    return line.element.startswith("iothreadpin") and any(
        other.element == "emulatorpin" and other.texts == line.texts for other in lines
    )


def _numbers(told: tuple[str, ...], notes: dict[str, int]) -> str:
    return "".join(f" [{notes.setdefault(note, len(notes) + 1)}]" for note in told)
