# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A request before a whole fleet: the candidates of both queries, and each host's outcome.

Source throughout: ``nova/scheduler/manager.py``, ``select_destinations``.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .errors import NovaError, crash
from .outcome import Outcome
from .releases import release as release_of
from .schedule import breaks_filter, settle_from, unlisted

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .._model.host import Scheduler
    from .outcome import Query
    from .schedule import Asked, HostView


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """The candidates of the queries that were sent: names of hosts."""

    by_query: Mapping[Query, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    fall: NovaError | None = None
    """What the whole request dies of before any host is looked at."""

    @property
    def union(self) -> dict[str, Query]:
        """Each candidate with the first query that brings it: only that one is ever used."""
        found: dict[str, Query] = {}
        for query, names in self.by_query.items():
            for name in names:
                found.setdefault(name, query)
        return found

    def hides(self, limit: int) -> bool:
        """Say whether ``max_placement_results`` may hide candidates: any that many are given."""
        return any(len(names) > limit for names in self.by_query.values())


@dataclasses.dataclass(frozen=True, slots=True)
class Selection:
    """What becomes of a request on each host of a fleet."""

    found: Found
    outcomes: Mapping[str, Outcome]
    """Outcome of each candidate, or of no host where the API refuses."""
    refusal: Outcome | None = None
    """What refuses the request wherever it might go."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that take the guest; which of them gets it is the weighers' choice."""
        return tuple(name for name, outcome in self.outcomes.items() if outcome.boots)


def find(asked: Asked, fleet: Iterable[HostView]) -> Found:
    """List the candidates of each query that the scheduler sends.

    A query that Placement answers with 400 has none; where a fallback query is sent, the scheduler
    falls over that answer.
    """
    queries = dict(asked.queries)
    if asked.bad_query:
        fall = None
        if asked.fallback:
            fall = crash("TypeError", f"Placement answers 400: {asked.bad_query}")
        return Found(dict.fromkeys(queries, ()), fall)
    listed: dict[Query, list[str]] = {query: [] for query in queries}
    for seen in fleet:
        for name, query in queries.items():
            if seen.provider and unlisted(query, asked, seen, seen.provider) is None:
                listed[name].append(seen.host.name)
    return Found({query: tuple(names) for query, names in listed.items()})


def select(
    asked: Asked, found: Found, fleet: Mapping[str, HostView], scheduler: Scheduler
) -> Selection:
    """Decide what becomes of a request on every candidate."""
    if asked.refusal:
        return _nowhere(found, "api", asked.refusal)
    if found.fall:
        return _nowhere(found, "placement", found.fall)
    union = found.union
    if asked.guest and scheduler.numa_topology_filter:
        release = release_of(scheduler.release)
        for name in union:
            if breaks_filter(fleet[name], release):
                text = f"NUMATopologyFilter falls over the record of {name}, from before Train"
                return _nowhere(found, "filter", crash("NotImplementedError", text))
    outcomes = {
        name: settle_from(query, asked, fleet[name], scheduler) for name, query in union.items()
    }
    return Selection(found, outcomes)


def _nowhere(found: Found, stage: t.Any, error: NovaError) -> Selection:
    return Selection(found, {}, Outcome(stage=stage, reason=error.text, error=error.name))
