# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that servers are put right on.

A move puts a server right where the rules find nothing in it thereafter.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .._nova import compute
from .._nova.resident import Resident
from .._nova.schedule import settle
from .._rules import servers
from .._rules.audit import findings

if t.TYPE_CHECKING:
    from .._model.flavor import Flavor
    from .._model.host import Scheduler
    from .._nova.cloud import Cloud
    from .._nova.schedule import HostView
    from .._rules.rule import ServerCase

TAKEN = "has room, which other servers of this report are given"
"""Why a host is none that would have been one."""

_CPU_KEY = re.compile(r"resources[a-zA-Z0-9_-]*:[VP]CPU")


class Landing(t.NamedTuple):
    """What becomes of a server that is moved to a host."""

    host: str
    dedicates: bool
    """Whether the host has dedicated CPUs."""
    problem: str
    """Why that does not put it right; "" where it does."""
    boots: bool


class Destinations(t.NamedTuple):
    """What becomes of a server with a flavor on every other host."""

    flavor: Flavor
    landings: tuple[Landing, ...]
    hosts: tuple[str, ...]
    """The hosts on which it is right."""


class Mover:
    """Moves of servers to every host of a cloud.

    Servers that were given a host are on it from then on, and still where they were. What is asked
    for alike is decided once, until a host changes.
    """

    def __init__(self, cloud: Cloud, scheduler: Scheduler) -> None:
        self._cloud = cloud
        self._scheduler = scheduler
        self._known: dict[t.Any, dict[str, Landing]] = {}
        self._lost: set[tuple[t.Any, str]] = set()
        """What is asked for, and a host that was right for it before it was given to others."""
        self._given: dict[str, Destinations] = {}
        self._requests = servers.Requests(scheduler)

    def destinations(self, case: ServerCase) -> Destinations:
        """Find hosts for a server, with its flavor or else one that is mended, and give it one."""
        consumer = case.server.id
        if consumer not in self._given:
            self._given[consumer] = self._found(case)
        return self._given[consumer]

    def _found(self, case: ServerCase) -> Destinations:
        found = self._tried(case)
        other = None if found.hosts else mended(case.server.flavor)
        if other:
            asked = self._requests.ask(other, case.server.image)
            server = dataclasses.replace(case.server, flavor=other)
            case = dataclasses.replace(case, server=server, asked=asked)
            resized = self._tried(case)
            found = resized if resized.hosts else found
        if found.hosts:
            self._give(case, found.hosts[0])
        return found

    def _give(self, case: ServerCase, host: str) -> None:
        outcome = settle(case.asked, self._cloud.hosts[host], self._scheduler)
        self._cloud.place(case.server.id, case.asked, host, outcome)
        for key, known in self._known.items():
            if host in known and not known.pop(host).problem:
                self._lost.add((key, host))

    def _tried(self, case: ServerCase) -> Destinations:
        """Move a server to each host but its own, those with dedicated CPUs first."""
        server = case.server
        key = servers.alike(server.flavor, server.image)
        known = self._known.setdefault(key, {})
        for name, seen in self._cloud.hosts.items():
            if name not in known:
                landing = self._landing(case, seen)
                if landing.problem and (key, name) in self._lost:
                    landing = landing._replace(problem=TAKEN)
                known[name] = landing
        others = (known[name] for name in self._cloud.hosts if name != server.host)
        landings = tuple(sorted(others, key=lambda each: not each.dedicates))
        hosts = tuple(each.host for each in landings if not each.problem)
        return Destinations(server.flavor, landings, hosts)

    def _landing(self, case: ServerCase, seen: HostView) -> Landing:
        asked, name, dedicates = case.asked, seen.host.name, servers.dedicates(seen)
        outcome = settle(asked, seen, self._scheduler)
        if not outcome.boots:
            return Landing(name, dedicates, f"{outcome.stage}: {outcome.reason}", boots=False)
        there = Resident(
            case.server.id,
            asked.flavor,
            asked.image,
            asked.guest,
            outcome.fitted,
            outcome.allocation,
        )
        claim = compute.enter(compute.allocated(seen, outcome.allocation), there)
        if claim.refusal:
            return Landing(name, dedicates, f"claim: {claim.refusal}", boots=False)
        wrong = findings(servers.after_move(case, seen, there), "")
        problem = f"takes it, and then {wrong[0].code}: {wrong[0].what}" if wrong else ""
        return Landing(name, dedicates, problem, boots=True)


def mended(flavor: Flavor) -> Flavor | None:
    """Make the flavor that asks for pinned CPUs by policy in place of resources; None for one that
    asks by no resources."""
    kept = {key: value for key, value in flavor.extra_specs.items() if not _CPU_KEY.fullmatch(key)}
    if len(kept) == len(flavor.extra_specs):
        return None
    specs = {"hw:cpu_policy": "dedicated", **kept}
    return dataclasses.replace(flavor, name=f"{flavor.name}.pinned", id="", extra_specs=specs)
