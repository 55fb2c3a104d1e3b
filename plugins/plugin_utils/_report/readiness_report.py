# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the fallback query may be turned off, from the sources to what is reported."""

from __future__ import annotations

import dataclasses
import typing as t

from .._model import gathering
from .._plan.readiness import readiness
from .._rules.rule import Finding, Severity
from . import rendering
from .findings import Findings
from .naming import compact, counted
from .run import concluded

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.gathering import Sources
    from .._model.host import Fleet
    from .._plan.reach import Reach
    from .._plan.readiness import Point, Readiness
    from .run import Output

_STEPS = 8
"""Next steps that the text shows of one phase."""

_TITLES = {
    "blocker": "Cannot do without the fallback query",
    "loss": "Without the fallback query, gets worse or stays wrong",
    "hazard": "With the fallback query, goes wrong",
}

_WORDS = ("READY", "READY WITH WARNINGS", "NOT READY")


def fallback_readiness(sources: Sources, output: Output, max_results: int) -> dict[str, t.Any]:
    """Ask whether the fallback query may be turned off; write the reports, give the result.

    Raises ``InputError`` for input that cannot be used.
    """
    fleet = gathering.fleet(sources)
    found = readiness(fleet, max_results)
    shown = {**document(found), "report": report(found, output.width)}
    del shown["format"]
    view = Findings(
        "fallback_readiness",
        found.status,
        shown["verdict"],
        tuple(_findings(found, fleet)),
        fail_on=output.fail_on,
    )
    return concluded(shown, output, view, lambda: document(found))


def _findings(found: Readiness, fleet: Fleet) -> Iterator[Finding]:
    """Show what speaks for or against as findings, one for each flavor and server."""
    places = {f"flavor {flavor.name}": flavor.where for flavor in fleet.flavors}
    places |= {f"server {server.name}": server.where for server in fleet.servers}
    for kind, points in (
        ("blocker", found.blockers),
        ("loss", found.losses),
        ("hazard", found.hazards),
    ):
        for point, subject in ((each, subject) for each in points for subject in _subjects(each)):
            yield Finding(
                f"fallback-{kind}",
                _severity(kind, point),
                _TITLES[kind],
                subject,
                point.hosts,
                point.what,
                point.effect,
                point.fix,
                places.get(subject.partition(" with image ")[0], ""),
            )


def _severity(kind: str, point: Point) -> Severity:
    """Judge a point as the status does: all that blocks fails, and nothing else."""
    if kind == "blocker":
        return Severity.ERROR
    return Severity.WARNING if point.severity is Severity.ERROR else point.severity


def _subjects(point: Point) -> list[str]:
    named = [f"flavor {name}" for name in point.flavors]
    named += [f"server {name}" for name in point.servers]
    return named or ["fleet"]


def document(found: Readiness) -> dict[str, t.Any]:
    """Show it as plain data, in the form of ``schemas/readiness.json``."""
    return {
        "format": 1,
        "status": found.status,
        "verdict": verdict(found),
        "may_turn_off": found.may_turn_off,
        "is_off": found.is_off,
        "classes": [list(each.names) for each in found.classes],
        "phases": [
            {"phase": each.phase.value, "step": each.step, "hosts": list(each.hosts)}
            for each in found.standings
        ],
        "flavors": [_reach(each) for each in found.reaches],
        "blockers": _points(found.blockers),
        "losses": _points(found.losses),
        "hazards": _points(found.hazards),
    }


def _reach(reach: Reach) -> dict[str, t.Any]:
    return {
        "flavor": reach.flavor.name,
        "image": reach.image.name or None,
        "primary": list(reach.primary),
        "legacy": list(reach.legacy),
        "wrong": list(reach.wrong),
        "crashes": reach.crashes,
    }


def _points(points: tuple[Point, ...]) -> list[dict[str, t.Any]]:
    names = ("flavors", "servers", "hosts")
    return [
        {
            **{field.name: getattr(point, field.name) for field in dataclasses.fields(point)},
            "severity": point.severity.value,
            **{name: list(getattr(point, name)) for name in names},
        }
        for point in points
    ]


def verdict(found: Readiness) -> str:
    """Say in one sentence whether the fallback query may be turned off."""
    word = _WORDS[found.status]
    waiting = _waiting(found)
    first = "delete the records from before Train, then " if found.crashes else ""
    if waiting and found.is_off:
        return (
            f"{word}: the fallback query is off, and {waiting} cannot do without it: {first}set "
            "[workarounds] disable_fallback_pcpu_query = false until what blocks is done."
        )
    if waiting:
        return (
            f"{word}: {waiting} cannot do without the fallback query: {first}leave it on until "
            "what blocks is done."
        )
    if found.is_off:
        return f"{word}: the fallback query is off, and nothing needs it."
    return (
        f"{word}: nothing needs the fallback query; set [workarounds] "
        "disable_fallback_pcpu_query = true on every scheduler."
    )


def _waiting(found: Readiness) -> str:
    counts = (
        (len({name for point in found.blockers for name in point.flavors}), "flavor"),
        (sum(len(point.servers) for point in found.blockers), "server"),
    )
    return " and ".join(counted(count, noun) for count, noun in counts if count)


def report(found: Readiness, width: int) -> str:
    """Write it for a terminal."""
    phases: dict[str, list[tuple[str, str]]] = {}
    for each in found.standings:
        phases.setdefault(each.phase.value, []).append((compact(each.hosts), each.step))
    return rendering.render(
        "readiness.txt.j2",
        verdict=verdict(found),
        width=width,
        most=_STEPS,
        phases=phases,
        parts={
            _TITLES["blocker"]: found.blockers,
            _TITLES["loss"]: found.losses,
            _TITLES["hazard"]: found.hazards,
        },
    )
