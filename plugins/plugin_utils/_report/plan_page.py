# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a rolling upgrade as an HTML page: a timeline, with what room each step leaves."""

from __future__ import annotations

import dataclasses
import typing as t

from . import html_report
from .cpu_drawing import Change
from .naming import counted

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .._model.host import Fleet, Host
    from .._plan.steps import Plan, Step
    from .findings import Findings

MOST_STEPS = 400
"""Steps that the page shows."""

_WIDE, _HIGH = 960, 120
_FOOT, _HEAD, _LEFT = 18, 16, 40


@dataclasses.dataclass(frozen=True, slots=True)
class Bar:
    """The least room of one step. Sizes are pixels."""

    x: float
    y: float
    width: float
    height: float
    number: int
    """Of the step."""
    room: int
    """Hosts that take one more guest of the flavor that fewest hosts take."""
    told: str


@dataclasses.dataclass(frozen=True, slots=True)
class Chart:
    """The room of all steps."""

    bars: tuple[Bar, ...]
    width: int
    height: int
    most: int
    """The room that the highest bar stands for."""
    labels: bool
    """Whether there is place for numbers."""
    told: str


def page(view: Findings, plan: Plan, fleet: Fleet, told: Mapping[str, t.Any], report: str) -> str:
    """Fill in the page; ``told`` are the parts of the report as text."""
    turns = [turn for step in plan.steps for turn in step.turns]
    moved = {move.server for turn in turns for move in turn.moves}
    rebooted = {server for turn in turns for server in turn.reboots}
    places = {name: index for index, name in enumerate(dict.fromkeys(turn.host for turn in turns))}
    steps = plan.steps[:MOST_STEPS]
    return html_report.findings_page(
        view,
        report,
        _changes(plan, fleet),
        places,
        tiles=[
            html_report.tile(len(plan.steps), "step"),
            html_report.tile(len(places), "host"),
            html_report.tile(len(moved), "server migrated", "servers migrated"),
            html_report.tile(len(rebooted), "server rebooted hard", "servers rebooted hard"),
            html_report.tile(len(plan.blockers), "blocker", kind="error"),
            html_report.tile(len(plan.advisories), "known trap", kind="warning"),
        ],
        parts={
            "plan": {
                "procedure": told["procedure"],
                "failure": told["failure"],
                "sections": [
                    (*section, [places[name] for name in step.hosts])
                    for section, step in zip(told["sections"], steps, strict=False)
                ],
                "more": len(plan.steps) - len(steps),
                "chart": chart(steps),
            }
        },
    )


def _changes(plan: Plan, fleet: Fleet) -> Iterator[Change]:
    """List how hosts are before and after the plan; equal ones together."""
    hosts = {name: each.host for each in fleet.classes for name in each.names}
    releases: dict[str, str] = {}
    found: list[tuple[Host, t.Any, str, list[str]]] = []
    settings: dict[str, t.Any] = {}
    for step in plan.steps:
        for turn in step.turns:
            if step.release:
                releases[turn.host] = step.release
            if turn.config:
                settings[turn.host] = turn.config
    for name, config in settings.items():
        host = hosts[name]
        release = releases.get(name, host.release)
        same = (
            names for each, *other, names in found if each is host and other == [config, release]
        )
        known = next(same, None)
        if known is None:
            found.append((host, config, release, [name]))
        else:
            known.append(name)
    for host, config, release, names in found:
        yield Change(tuple(names), host, dataclasses.replace(host, config=config, release=release))


def chart(steps: Sequence[Step]) -> Chart | None:
    """Draw the room of each step that takes hosts out; None where no flavor is looked after."""
    counted_steps = [step for step in steps if step.turns and step.room]
    if not counted_steps:
        return None
    most = max(max(min(step.room.values()) for step in counted_steps), 1)
    width = min(48.0, _WIDE / len(counted_steps))
    bars = []
    for index, step in enumerate(counted_steps):
        name, room = min(step.room.items(), key=lambda item: item[1])
        height = max(2.0, _HIGH * room / most) if room else 2.0
        bars.append(
            Bar(
                round(_LEFT + index * width + 1, 1),
                round(_HEAD + _HIGH - height, 1),
                round(max(1.0, width - 3), 1),
                round(height, 1),
                step.number,
                room,
                f"Step {step.number}: {counted(room, 'host')} for one more of {name}",
            )
        )
    least = min(bars, key=lambda bar: bar.room)
    told = (
        "Hosts left, step by step, for one more guest of the flavor that fewest hosts take. "
        f"Least: {least.told}. Each step below says more."
    )
    total = max(260, _LEFT + round(width * len(bars)) + 2)
    return Chart(tuple(bars), total, _HEAD + _HIGH + _FOOT, most, width >= 20, told)
