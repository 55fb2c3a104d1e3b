# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the scheduler can do without its fallback query for VCPU.

``[workarounds] disable_fallback_pcpu_query`` turns that query off. What boots where without it is
decided on empty hosts, one of each class: room is another matter. Servers are held, one by one and
each as if it alone moved, against the hosts as they are.

Source: ``nova/scheduler/manager.py``, ``select_destinations``.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import typing as t

from .._rules.flavors import isolates
from .._rules.rule import Severity
from . import phases
from .clouds import cloud_of
from .reach import Judge

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.host import Fleet, HostClass
    from .._model.server import Server
    from .._nova.schedule import Asked, HostView
    from .reach import Places, Reach

MAX_RESULTS = 1000
"""Nova's default of ``[scheduler] max_placement_results``."""


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """One thing that speaks for or against the fallback query, and what to do about it."""

    severity: Severity
    what: str
    effect: str
    fix: str
    flavors: tuple[str, ...] = ()
    """``FLAVOR``, or ``FLAVOR with image IMAGE``."""
    servers: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Readiness:
    """What the fallback query does for a fleet, and to it."""

    classes: tuple[HostClass, ...]
    is_off: bool
    """Whether the scheduler sends no fallback query today."""
    reaches: tuple[Reach, ...]
    """Of what boots by the fallback query anywhere."""
    blockers: tuple[Point, ...]
    """What has to be done before it is off, the most pressing first."""
    losses: tuple[Point, ...]
    """What gets worse, or stays wrong, once it is off."""
    hazards: tuple[Point, ...]
    """What goes wrong while it is on."""
    standings: tuple[phases.Standing, ...]
    """The phase of each host, and its next step."""

    @property
    def crashes(self) -> bool:
        """Whether requests fail wherever they are sent, over what the fallback query lists."""
        return any(reach.crashes for reach in self.reaches)

    @property
    def may_turn_off(self) -> bool:
        """Whether every flavor and every server has a host without it."""
        return not self.blockers

    @property
    def status(self) -> int:
        """0 ready, 1 ready with warnings, 2 not ready."""
        if self.blockers:
            return 2
        return int(any(point.severity is Severity.WARNING for point in self.losses))


def readiness(fleet: Fleet, max_results: int = MAX_RESULTS) -> Readiness:
    """Work out who needs the fallback query, and whom it harms.

    Raises ``InputError`` for a release that is not known.
    """
    judge = Judge(fleet, cloud_of(fleet))
    reaches = tuple(judge.reaches())
    stranded, crowded = judge.stranded()
    return Readiness(
        fleet.classes,
        fleet.scheduler.disable_fallback_pcpu_query,
        reaches,
        tuple(_blockers(judge, reaches, stranded)),
        tuple(_losses(judge, reaches, crowded)),
        tuple(_hazards(judge, reaches, max_results)),
        phases.standings(fleet, judge.cloud),
    )


def _blockers(
    judge: Judge, reaches: tuple[Reach, ...], stranded: list[tuple[Server, Reach]]
) -> Iterator[Point]:
    """List what boots, or can move, by the fallback query alone; what servers wait for first."""
    groups: dict[t.Any, tuple[Reach, list[str], list[str]]] = {}

    def group(reach: Reach) -> tuple[Reach, list[str], list[str]]:
        key = _awaited(reach), reach.obstacle
        return groups.setdefault(key, (reach, [], []))

    for reach in reaches:
        if reach.blocks:
            group(reach)[1].append(reach.name)
    for server, reach in stranded:
        group(reach)[2].append(server.name)
    ordered = sorted(groups.values(), key=lambda row: (-len(row[2]), -len(row[1]), row[0].name))
    for reach, flavors, servers in ordered:
        what = "no host takes it by the PCPU query, even where empty"
        if reach.obstacle:
            what += f", and none of these would with both sets: {reach.obstacle}"
        yield Point(
            Severity.ERROR,
            what,
            _without(judge, flavors, servers),
            _cure(judge, reach),
            tuple(flavors),
            tuple(servers),
            judge.names(_awaited(reach)),
        )


def _awaited(reach: Reach) -> Places:
    """List the classes that are to change: those where a change helps, if there are such."""
    return reach.cure or (*reach.legacy, *reach.wrong)


def _without(judge: Judge, flavors: list[str], servers: list[str]) -> str:
    told = ["boots nowhere"] if flavors else []
    if servers:
        told.append("servers of it cannot migrate, be resized or evacuated")
    when = "now" if judge.fleet.scheduler.disable_fallback_pcpu_query else "once it is off"
    return f"{', and '.join(told)}, {when}"


def _cure(judge: Judge, reach: Reach) -> str:
    if reach.cure:
        old = not all(judge.empty[place].release.dedicated_set for place in reach.cure)
        first = "upgrade nova-compute, then " if old else ""
        return f"{first}set cpu_shared_set and cpu_dedicated_set on one of these hosts, or more"
    if isolates(judge.asked(reach.flavor, reach.image)):
        return "cpu_dedicated_set on a host without SMT, or another thread policy than isolate"
    return "a host with room for it in its cpu_dedicated_set"


def _losses(judge: Judge, reaches: tuple[Reach, ...], crowded: list[Server]) -> Iterator[Point]:
    fewer = _both(reaches)
    if fewer:
        yield Point(
            Severity.WARNING,
            "legacy hosts take it by the fallback query, others by the PCPU query",
            "boots on fewer hosts: on these no more",
            "move these hosts to cpu_dedicated_set",
            tuple(reach.name for reach in fewer),
            hosts=_legacy(judge, fewer),
        )
    if crowded:
        yield Point(
            Severity.WARNING,
            "no other host takes it by the PCPU query as things are",
            "cannot migrate, be resized or evacuated until one has room",
            "keep room on hosts with cpu_dedicated_set, or move more hosts to it",
            servers=tuple(server.name for server in crowded),
        )
    yield from _held(judge)
    for place, seen in enumerate(judge.empty):
        if seen.fault:
            yield Point(
                Severity.WARNING,
                f"nova-compute fails with {seen.fault}",
                "the hosts are taken to serve nothing",
                "mend their options, and ask again",
                hosts=judge.names((place,)),
            )


def _held(judge: Judge) -> Iterator[Point]:
    names = {server.id: server.name for server in judge.fleet.servers}
    wrong = {
        name: [names[each.consumer] for each in found]
        for name, seen in judge.cloud.hosts.items()
        if (found := phases.wrongly_held(seen, judge.cloud.residents[name].values()))
    }
    if wrong:
        yield Point(
            Severity.WARNING,
            "policy dedicated, and VCPU allocated on a host with dedicated CPUs",
            "Placement offers CPUs that are taken, and no restart mends it; cpu_shared_set cannot "
            "be removed there",
            "cold migrate or resize to a host with free PCPU; while the fallback is on, VCPU may "
            "be allocated again",
            servers=tuple(itertools.chain.from_iterable(wrong.values())),
            hosts=tuple(wrong),
        )


def _hazards(judge: Judge, reaches: tuple[Reach, ...], max_results: int) -> Iterator[Point]:
    yield from _landings(judge, reaches)
    crashing = tuple(reach.name for reach in reaches if reach.crashes)
    if crashing:
        yield Point(
            Severity.ERROR,
            "the fallback query lists hosts with a record from before Train, and "
            "NUMATopologyFilter falls over it",
            "no boot and no move of it succeeds anywhere, be other hosts ever so free",
            "upgrade nova-compute there, or: openstack compute service delete ID",
            crashing,
            hosts=judge.names(sorted(judge.stale)),
        )
    hidden = [reach for reach in reaches if reach.legacy and reach.listed > max_results]
    if hidden:
        yield Point(
            Severity.WARNING,
            f"the fallback query lists up to {max(reach.listed for reach in hidden)} hosts, and "
            f"Placement gives {max_results} of them, always the same",
            "legacy hosts may never be tried",
            f"[scheduler] max_placement_results above {max_results}",
            tuple(reach.name for reach in hidden),
        )
    both = _both(reaches)
    if both:
        yield Point(
            Severity.INFO,
            "weighers choose between hosts of both queries",
            "may land on a legacy host, beside floating guests, though hosts with PCPU are free",
            "move these hosts to cpu_dedicated_set",
            tuple(reach.name for reach in both),
            hosts=_legacy(judge, both),
        )


def _both(reaches: tuple[Reach, ...]) -> tuple[Reach, ...]:
    """List what boots on legacy hosts and, by the primary query, elsewhere."""
    return tuple(reach for reach in reaches if reach.primary and reach.legacy)


def _legacy(judge: Judge, reaches: tuple[Reach, ...]) -> tuple[str, ...]:
    return judge.names(sorted({place for reach in reaches for place in reach.legacy}))


def _landings(judge: Judge, reaches: tuple[Reach, ...]) -> Iterator[Point]:
    """List what takes VCPU on dedicated CPUs: on empty hosts, then on hosts as they are."""
    effect = "takes VCPU on dedicated CPUs that Placement still offers to others"
    found: dict[tuple[str, Places], list[str]] = collections.defaultdict(list)
    for reach in reaches:
        asked = judge.asked(reach.flavor, reach.image)
        why = collections.defaultdict(list)
        for place in reach.wrong:
            why[_why(asked, judge.empty[place])].append(place)
        for text, landing in why.items():
            found[text, tuple(landing)].append(reach.name)
    for (text, places), flavors in found.items():
        yield Point(
            Severity.ERROR,
            text,
            effect,
            "do without the fallback query, or tie it to hosts without SMT by trait or aggregate",
            tuple(flavors),
            hosts=judge.names(places),
        )
    for lost, taken, hosts in judge.leaks():
        yield Point(
            Severity.ERROR if taken else Severity.WARNING,
            f"{lost} PCPU are allocated that no pinned guest has",
            f"{effect}, once no other PCPU is left" if not taken else effect,
            "openstack resource provider allocation show CONSUMER for each consumer there, and "
            "delete what no server has",
            taken,
            hosts=hosts,
        )


def _why(asked: Asked, seen: HostView) -> str:
    if not isolates(asked) or not seen.host.topology.hyperthreading:
        return "the PCPU query does not list the host, and dedicated CPUs are free"
    if seen.release.isolate_guard:
        return (
            "isolate, and the sets name one thread of each core: the guard takes the host for one "
            "without SMT"
        )
    return f"isolate, and Nova {seen.release.name} lacks the guard of 20.4.1, 21.1.1 and 22.0.0"
