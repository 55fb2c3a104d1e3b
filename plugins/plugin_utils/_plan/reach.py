# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where flavors boot and servers can go, with the scheduler's fallback query and without.

Flavors are decided on empty hosts, one of each class: room is another matter. Servers are held,
each as if it alone moved, against the hosts as they are.

Source: ``nova/scheduler/manager.py``, ``select_destinations``.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import typing as t

from .._model.flavor import NO_IMAGE
from .._nova.inventory import CpuSets
from .._nova.releases import release as release_of
from .._nova.schedule import ask, breaks_filter, settle, unlisted, view
from .._rules.cases import likeness, telling
from . import phases

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .._model.flavor import Flavor, Image
    from .._model.host import Fleet, Host
    from .._model.server import Server
    from .._nova.cloud import Cloud
    from .._nova.schedule import Asked, HostView

Places = tuple[int, ...]
"""Classes of hosts, by their places in the fleet."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reach:
    """Where a flavor, alone or with an image, boots: classes of empty hosts."""

    flavor: Flavor
    image: Image
    primary: Places
    """By the primary query."""
    legacy: Places
    """By the fallback query alone, on CPUs that are both shared and pinned to."""
    wrong: Places
    """By the fallback query alone, on dedicated CPUs, with VCPU allocated."""
    listed: int
    """Number of hosts that the fallback query lists."""
    crashes: bool
    """Whether it lists a host over whose record the scheduler falls, and the request with it."""
    cure: Places = ()
    """Legacy classes that would take it by the primary query, had they both sets."""
    obstacle: str = ""
    """Why none would, where it boots by the fallback query alone."""

    @property
    def falls_back(self) -> bool:
        """Whether the fallback query changes what becomes of it."""
        return bool(self.legacy or self.wrong or self.crashes)

    @property
    def name(self) -> str:
        """``FLAVOR``, or ``FLAVOR with image IMAGE``."""
        return self.flavor.name + (f" with image {self.image.name}" if self.image.name else "")

    @property
    def blocks(self) -> bool:
        """Whether it boots by the fallback query alone."""
        return not self.primary and bool(self.legacy or self.wrong)


class Judge:
    """Answers of Nova over a fleet, each worked out once."""

    def __init__(self, fleet: Fleet, cloud: Cloud) -> None:
        self.fleet = fleet
        self.cloud = cloud
        self.on = dataclasses.replace(fleet.scheduler, disable_fallback_pcpu_query=False)
        self.empty = [_emptied(each.host) for each in fleet.classes]
        release = release_of(fleet.scheduler.release)
        self.stale = {
            place
            for place, seen in enumerate(self.empty)
            if fleet.scheduler.numa_topology_filter and breaks_filter(seen, release)
        }
        self._then = [self._converted(seen) for seen in self.empty]
        self._asked: dict[t.Any, Asked] = {}
        self._reach: dict[t.Any, Reach] = {}

    def _converted(self, seen: HostView) -> HostView | None:
        if not _kind(seen).legacy:
            return None
        release = seen.host.release if seen.release.dedicated_set else self.on.release
        return _emptied(dataclasses.replace(phases.converted(seen), release=release))

    def names(self, places: Iterable[int]) -> tuple[str, ...]:
        """Name the hosts of some classes."""
        return tuple(name for place in places for name in self.fleet.classes[place].names)

    def asked(self, flavor: Flavor, image: Image) -> Asked:
        """Put a request to a scheduler that sends the fallback query."""
        key = likeness(flavor, image)
        if key not in self._asked:
            self._asked[key] = ask(flavor, image, self.on)
        return self._asked[key]

    def reaches(self) -> Iterator[Reach]:
        """List the flavors that the fallback query serves; images that make a difference too."""
        for flavor in self.fleet.flavors:
            alone = self.reach(flavor, NO_IMAGE)
            if alone.falls_back:
                yield alone
            for image in telling(flavor, self.fleet.images, self.on):
                found = self.reach(flavor, image)
                if found.falls_back and not _alike(found, alone):
                    yield found

    def reach(self, flavor: Flavor, image: Image) -> Reach:
        """Say where a flavor boots."""
        key = likeness(flavor, image)
        if key not in self._reach:
            self._reach[key] = self._worked_out(self.asked(flavor, image))
        return dataclasses.replace(self._reach[key], flavor=flavor)

    def _worked_out(self, asked: Asked) -> Reach:
        found: dict[str, list[int]] = {"primary": [], "legacy": [], "wrong": []}
        listed, crashes = 0, False
        if asked.fallback and not asked.refusal and not asked.bad_query:
            for place, seen in enumerate(self.empty):
                if seen.provider and unlisted(asked.fallback, asked, seen, seen.provider) is None:
                    listed += len(self.fleet.classes[place].names)
                    crashes = crashes or place in self.stale
                if place not in self.stale:
                    kind = self._lands(asked, seen)
                    if kind:
                        found[kind].append(place)
        reach = Reach(
            asked.flavor,
            asked.image,
            tuple(found["primary"]),
            tuple(found["legacy"]),
            tuple(found["wrong"]),
            listed,
            crashes,
        )
        return self._with_cure(reach, asked) if reach.blocks else reach

    def _lands(self, asked: Asked, seen: HostView) -> str:
        outcome = settle(asked, seen, self.on)
        if outcome.query != "fallback":
            return outcome.query or ""
        return "legacy" if _kind(seen).legacy else "wrong"

    def _with_cure(self, reach: Reach, asked: Asked) -> Reach:
        """Try it by the primary query on the hosts that take it, had they both sets."""
        alone = dataclasses.replace(asked, fallback=None)
        outcomes = {
            place: settle(alone, self._then[place] or self.empty[place], self.on)
            for place in (*reach.legacy, *reach.wrong)
        }
        cure = tuple(place for place, outcome in outcomes.items() if outcome.boots)
        reasons = () if cure else (outcome.reason for outcome in outcomes.values())
        return dataclasses.replace(reach, cure=cure, obstacle=next(iter(reasons), ""))

    def stranded(self) -> tuple[list[tuple[Server, Reach]], list[Server]]:
        """List the servers that other hosts take by the fallback query alone.

        First those that no host takes without it, be it empty; then those that none takes now.
        """
        known: dict[t.Any, tuple[list[str], list[str]]] = {}
        stranded, crowded = [], []
        for server in self.fleet.servers:
            asked = self.asked(server.flavor, server.image)
            if not server.host or asked.fallback is None:
                continue
            key, reach = (
                likeness(server.flavor, server.image),
                self.reach(asked.flavor, asked.image),
            )
            if key not in known:
                known[key] = self._ways(asked, reach)
            without, by_fallback = (any(name != server.host for name in way) for way in known[key])
            if by_fallback and not reach.primary:
                stranded.append((server, reach))
            elif by_fallback and not without:
                crowded.append(server)
        return stranded, crowded

    def _ways(self, asked: Asked, reach: Reach) -> tuple[list[str], list[str]]:
        """Name two hosts that a server can go to by each query, since it is on one already."""
        places = (*reach.legacy, *reach.wrong)
        if not reach.primary:
            return [], list(self.names(places)[:2])
        return (
            self._takers(asked, reach.primary, "primary"),
            self._takers(asked, places, "fallback"),
        )

    def _takers(self, asked: Asked, places: Places, query: str) -> list[str]:
        """Name two hosts of some classes that have room for a server now."""
        found = (
            name
            for name in self.names(places)
            if settle(asked, self.cloud.hosts[name], self.on).query == query
        )
        return list(itertools.islice(found, 2))

    def leaks(self) -> Iterator[tuple[int, tuple[str, ...], tuple[str, ...]]]:
        """List hosts where more PCPU is allocated than pinned guests have.

        Each: how much more, the flavors that take VCPU on them as they are, the hosts.
        """
        landing: dict[t.Any, tuple[str, ...]] = {}
        found: dict[tuple[int, tuple[str, ...]], list[str]] = {}
        for place, each in enumerate(self.fleet.classes):
            for name in each.names:
                lost = _leaked(self.cloud, name)
                if lost <= 0:
                    continue
                seen = self.cloud.hosts[name]
                state = phases.state_of(place, seen)
                if state not in landing:
                    landing[state] = self._landing(seen)
                found.setdefault((lost, landing[state]), []).append(name)
        for (lost, flavors), names in found.items():
            yield lost, flavors, tuple(names)

    def _landing(self, seen: HostView) -> tuple[str, ...]:
        """Name the flavors that take VCPU on a host for want of PCPU."""
        pcpu = seen.provider.inventories.get("PCPU") if seen.provider else None
        if seen.provider is None or pcpu is None:
            return ()
        used = seen.provider.used.get("PCPU", 0)
        return tuple(
            flavor.name
            for flavor, asked, amount in self._pinned
            if not pcpu.takes(amount, used) and self._lands(asked, seen) == "wrong"
        )

    @functools.cached_property
    def _pinned(self) -> tuple[tuple[Flavor, Asked, int], ...]:
        """The flavors that send both queries, with the PCPU of the first.

        Those that take VCPU on an empty host are told of anyway.
        """
        return tuple(
            (flavor, asked, asked.primary.resources.get("PCPU", 0))
            for flavor in self.fleet.flavors
            if (asked := self.asked(flavor, NO_IMAGE)).fallback
            and asked.primary
            and not self.reach(flavor, NO_IMAGE).wrong
        )


def _emptied(host: Host) -> HostView:
    return view(dataclasses.replace(host, usage=(), allocated={}))


def _leaked(cloud: Cloud, name: str) -> int:
    """Count the PCPU that is allocated on a host and that no pinned guest has."""
    seen = cloud.hosts[name]
    if seen.provider is None:
        return 0
    pinned = sum(cell.pinned_cpus.bit_count() for cell in seen.books or ())
    here = (each for each in cloud.residents[name].values() if each.pinned)
    held = sum(each.allocation.get("PCPU", 0) for each in here)
    return seen.provider.used.get("PCPU", 0) - max(pinned, held)


_NO_SETS = CpuSets(0, 0, legacy=False)


def _kind(seen: HostView) -> CpuSets:
    return seen.sets or _NO_SETS


def _alike(reach: Reach, other: Reach) -> bool:
    return (reach.primary, reach.legacy, reach.wrong) == (
        other.primary,
        other.legacy,
        other.wrong,
    )
