# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rolling upgrade of a fleet, planned by simulating every step of it.

The order is Nova's own: control services first, then computes, release by release; then host by
host from ``vcpu_pin_set`` (or nothing) to both sets; then the fallback query is turned off. At
every step, each flavor in use finds a host whose inventory is of the class that it asks for, the
spare room that is wished is there while the step's hosts are out, and no server is lost.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from .._model.flavor import NO_IMAGE
from .._nova import compute, usage
from .._nova.errors import NovaError
from .._nova.releases import older, path
from .._nova.releases import release as release_of
from .._nova.startup import cpu_option
from .._rules.cases import telling
from .._rules.restarts import floats_anew, not_again, own_cpus
from .._rules.servers import MIGRATED, MOVING, occupying
from . import advisories
from .clouds import cloud_of
from .steps import Blocker, HostTurn, Kind, Move, Plan, Step

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from .._model.config import HostConfig
    from .._model.flavor import Flavor, Image
    from .._model.goal import Goal
    from .._model.host import Fleet, Host
    from .._nova.outcome import Outcome
    from .._nova.releases import Release
    from .._nova.resident import Resident
    from .._nova.schedule import Asked, HostView

DEPRECATED = ("vcpu_pin_set", "reserved_host_cpus")
ATTEMPTS = 2
"""Other orders that are tried where the first one leads nowhere."""


def plan(fleet: Fleet, goal: Goal, targets: Mapping[str, HostConfig]) -> Plan:
    """Plan the way of a fleet to a goal; ``targets`` are the options of the hosts that change.

    Where hosts are stuck in the end, other orders are tried in which they come first.

    Raises ``InputError`` for a release that is not known or older than the current one.
    """
    best = _Planner(fleet, goal, targets).plan()
    first: list[str] = []
    made = best
    for _attempt in range(ATTEMPTS):
        stuck = [name for each in made.blockers for name in each.hosts if name in targets]
        if set(stuck) <= set(first):
            break
        first = list(dict.fromkeys((*stuck, *first)))
        made = _Planner(fleet, goal, {name: targets[name] for name in (*first, *targets)}).plan()
        if made.complete or made.legacy_after < best.legacy_after:
            best = made
    return best


class _Problem(t.NamedTuple):
    """Why a host cannot have its turn now."""

    constraint: str
    text: str


@dataclasses.dataclass(slots=True)
class _Wanted:
    """One flavor in use (with an image), and where a guest of it finds room."""

    label: str
    flavor: Flavor
    image: Image
    asked: Asked
    suits: set[str] = dataclasses.field(default_factory=set)
    """Hosts that would take it if they were empty."""
    takes: set[str] = dataclasses.field(default_factory=set)
    """Hosts that take one more as they are."""
    strays: set[str] = dataclasses.field(default_factory=set)
    """Hosts that take it on the wrong class of inventory."""


class _Planner:
    def __init__(self, fleet: Fleet, goal: Goal, targets: Mapping[str, HostConfig]) -> None:
        self.fleet = fleet
        self.goal = goal
        self.cloud = cloud_of(fleet)
        self.targets = {
            name: config
            for name, config in targets.items()
            if name not in goal.leave and not _same(config, self.cloud.hosts[name].host.config)
        }
        self.rank = self._ranks()
        """Where servers move first, so that they move once: to hosts that had their last turn, then
        to those whose turn is late, then to those that stay without PCPU."""
        self.stale = [n for n in self.targets if _deprecated(self.cloud.hosts[n].host.config)]
        """Hosts that lose options which are deprecated."""
        options = [self.cloud.hosts[name].host.config for name in self.stale]
        self.gone = [n for n in DEPRECATED if any(getattr(each, n) for each in options)]
        self.names = {server.id: server.name for server in fleet.servers}
        self.moving = _moving(fleet)
        """Hosts that a server is moving to or from, with what has to be done first."""
        self.steps: list[Step] = []
        self.blockers: list[Blocker] = []
        self.wanted: dict[t.Any, _Wanted] = {}
        self.unschedulable: list[str] = []
        self._empty: dict[t.Any, tuple[Host, Outcome | None]] = {}
        """By flavor and what a host is: kept with a host of the kind, which holds its parts."""
        self._looked: list[str] = []
        """Hosts that were looked at anew since the turn began."""

    def plan(self) -> Plan:
        """Simulate step after step until the goal, or until nothing is safe any more."""
        current = release_of(self.fleet.scheduler.release)
        target = release_of(self.goal.release or current.name)
        before = len(self._left())
        self._survey()
        homes = self._homes()
        # Hosts that serve nothing come first: they would stop each release, and can only gain.
        down = [name for name in self.targets if _repairable(self.cloud.hosts[name])]
        others = [name for name in self.targets if name not in down]
        if (
            self._reconfigured(down)
            and self._upgraded(current, target)
            and self._reconfigured(others)
        ):
            self._flipped()
        kept = self._homes(homes)
        return Plan(
            tuple(self.steps),
            tuple(self.blockers),
            advisories.telling(self.fleet, current.name, target.name, bool(self.targets)),
            current,
            target,
            before,
            len(self._left()),
            tuple(each.label for each in self.wanted.values()),
            tuple(label for label in homes if label not in kept),
            tuple(self.unschedulable),
        )

    def _ranks(self) -> dict[str, int]:
        """Give each host a number of its own, so that the order is always the same."""
        count = len(self.cloud.hosts)
        turns = {name: count - index for index, name in enumerate(self.targets)}
        return {
            name: turns.get(name, index + 2 * (count if _legacy(seen) else -count))
            for index, (name, seen) in enumerate(self.cloud.hosts.items())
        }

    def _left(self) -> list[str]:
        """List the hosts that pin to VCPU inventory."""
        return [name for name, seen in self.cloud.hosts.items() if _legacy(seen)]

    # What the flavors in use find.

    def _survey(self) -> None:
        """List the flavors in use and where they find room; those that find none are told."""
        for server in self.fleet.servers:
            self._want(server.flavor, server.image)
        if not self.fleet.servers:
            for flavor in self.fleet.flavors:
                self._want(flavor, NO_IMAGE)
        for name in self.cloud.hosts:
            self._look(name)
        for key, each in list(self.wanted.items()):
            if not each.suits:
                self.unschedulable.append(each.label)
                del self.wanted[key]

    def _homes(self, among: Collection[str] | None = None) -> dict[str, None]:
        """List the flavors that nobody uses, alone and with the images that make a difference,
        which an empty host would take; of those named. They are keys, to keep their order."""
        kinds = {
            (id(s.host.topology), id(s.host.config), s.release.name, s.host.traits): s
            for s in self.cloud.hosts.values()
        }
        found: dict[str, None] = {}
        for flavor in self.fleet.flavors:
            images = telling(flavor, self.fleet.images, self.cloud.scheduler)
            for image in (NO_IMAGE, *images):
                key, label = _key(flavor, image), _label(flavor, image)
                if key in self.wanted or (among is not None and label not in among):
                    continue
                asked = self.cloud.ask(flavor, image)
                if any(right_class(self._when_empty(key, asked, s), s) for s in kinds.values()):
                    found[label] = None
        return found

    def _want(self, flavor: Flavor, image: Image) -> None:
        key = _key(flavor, image)
        if key not in self.wanted:
            asked = self.cloud.ask(flavor, image)
            self.wanted[key] = _Wanted(_label(flavor, image), flavor, image, asked)

    def _ask_again(self) -> None:
        """Ask anew after the scheduler has changed."""
        for each in self.wanted.values():
            each.asked = self.cloud.ask(each.flavor, each.image)
        self._empty.clear()
        for name in self.cloud.hosts:
            self._look(name)

    def _look(self, name: str) -> None:
        """See which flavors a host takes, as it is and as it would if it were empty."""
        self._looked.append(name)
        seen = self.cloud.hosts[name]
        idle = not seen.provider or not seen.provider.used
        for key, each in self.wanted.items():
            empty = self._when_empty(key, each.asked, seen)
            now = empty if idle else self._outcome(each.asked, name)
            _mark(each.suits, name, right_class(empty, seen))
            _mark(each.takes, name, right_class(now, seen))
            wrong = any(o is not None and not right_class(o, seen) for o in (empty, now))
            _mark(each.strays, name, wrong)

    def _outcome(self, asked: Asked, name: str) -> Outcome | None:
        outcome = self.cloud.select(asked, (name,)).outcomes.get(name)
        return outcome if outcome and outcome.boots else None

    def _when_empty(self, key: t.Any, asked: Asked, seen: HostView) -> Outcome | None:
        """Decide about an empty host once for all hosts that are equal."""
        host = seen.host
        parts = id(host.topology), id(host.config), seen.release.name, host.traits, host.aggregates
        kind = (key, *parts)
        if kind not in self._empty:
            self._empty[kind] = host, self._alone(self.cloud.empty(host), asked)
        return self._empty[kind][1]

    def _alone(self, seen: HostView, asked: Asked) -> Outcome | None:
        """Decide about one host that is not as it is in the cloud."""
        name = seen.host.name
        kept, self.cloud.hosts[name] = self.cloud.hosts[name], seen
        outcome = self._outcome(asked, name)
        self.cloud.hosts[name] = kept
        return outcome

    # Releases.

    def _upgraded(self, current: Release, target: Release) -> bool:
        """Take control services and computes through every release on the way."""
        if not self.goal.release:
            return True
        hops = path(current.name, target.name)
        for name in (current.name, *hops):
            release = release_of(name)
            if name in hops and not self._control(release):
                return False
            if not self._level(release, last=name == target.name):
                return False
        return True

    def _control(self, release: Release) -> bool:
        """Upgrade the control services; every compute is of the release before, which they bear."""
        self.cloud.scheduler = dataclasses.replace(self.cloud.scheduler, release=release.name)
        self._ask_again()
        lost = [each.label for each in self.wanted.values() if not each.suits]
        if lost:
            text = f"the scheduler of {release.name} finds no host for {', '.join(lost)}"
            self.blockers.append(Blocker("flavor", text))
            return False
        self._add(Kind.CONTROL, (), release.name)
        return True

    def _level(self, release: Release, *, last: bool) -> bool:
        """Bring computes to the release of the control services; some may stay after the last."""
        late = [n for n, seen in self.cloud.hosts.items() if older(seen.release.name, release.name)]
        staying = [name for name in late if name in self.goal.leave]
        if staying and not last:
            text = f"hosts to leave would stay below {release.name}, which the next release forbids"
            self.blockers.append(Blocker("release", text, tuple(staying)))
            return False
        return self._rolled(
            Kind.UPGRADE,
            [name for name in late if name not in self.goal.leave],
            lambda host: dataclasses.replace(host, release=release.name),
            release.name,
        )

    # Hosts in batches.

    def _reconfigured(self, names: list[str]) -> bool:
        return self._rolled(
            Kind.RECONFIGURE,
            names,
            lambda host: dataclasses.replace(host, config=self.targets[host.name]),
        )

    def _rolled(
        self, kind: Kind, names: list[str], change: Callable[[Host], Host], release: str = ""
    ) -> bool:
        """Give every host its turn, batch by batch; first those that can, others when they can."""
        waiting = names
        while waiting:
            turns: list[HostTurn] = []
            later: list[str] = []
            problems: dict[str, _Problem] = {}
            for index, name in enumerate(waiting):
                if len(turns) == self.goal.batch_size:
                    later = waiting[index:] + later
                    break
                if any(move.target == name for each in turns for move in each.moves):
                    later.append(name)  # It has to be in service while the batch is out.
                    continue
                turn = self._turn(kind, name, {t.host for t in turns}, change)
                if isinstance(turn, HostTurn):
                    turns.append(turn)
                else:
                    problems[name] = turn
                    later.append(name)
            if not turns:
                self._stuck(problems)
                return False
            self._add(kind, tuple(turns), release)
            waiting = later
        return True

    def _stuck(self, problems: Mapping[str, _Problem]) -> None:
        hosts: dict[_Problem, list[str]] = collections.defaultdict(list)
        for name, problem in problems.items():
            hosts[problem].append(name)
        for problem, names in hosts.items():
            self.blockers.append(Blocker(problem.constraint, problem.text, tuple(names)))

    def _turn(
        self, kind: Kind, name: str, batch: Collection[str], change: Callable[[Host], Host]
    ) -> HostTurn | _Problem:
        """Try a host's turn: drain what cannot stay, restart; nothing is changed on a problem."""
        back = self.cloud.snapshot()
        self._looked.clear()
        turn = self._tried(kind, name, batch, change)
        if isinstance(turn, _Problem):
            back()
            for looked in list(self._looked):
                self._look(looked)
        return turn

    def _tried(
        self, kind: Kind, name: str, batch: Collection[str], change: Callable[[Host], Host]
    ) -> HostTurn | _Problem:
        seen = self.cloud.hosts[name]
        host = change(seen.host)
        changes = host.config != seen.host.config
        residents = tuple(self.cloud.residents[name].values())
        if changes:
            untold = self._untold(name, residents)
            if untold:
                return untold
        fresh = self.cloud.empty(host)
        # Those that Nova would not miss at once: by pins that nobody keeps free, or at their next
        # start.
        lost = [each for each in residents if changes and _lost(each, fresh)]
        start = None if lost else self.cloud.start(host)
        moves: list[Move] = []
        if start is None or not start.clean:
            self.cloud.hosts[name] = seen
            stuck = [*lost, *compute.misfits(fresh, seen, residents)]
            for each in {one.consumer: one for one in stuck}.values():
                move = self._moved(each, name, batch)
                if isinstance(move, _Problem):
                    return move
                moves.append(move)
            start = self.cloud.start(host)
        short = next((e for e in self.wanted.values() if not self._roomy(e, {name, *batch})), None)
        if short:
            text = f"less room than {self.goal.spare} for {short.label} while the batch is out"
            return _Problem("spare", text)
        failed = start.refusal or start.failure
        if failed:
            return _Problem("start", f"nova-compute would fail: {failed}")
        self._look(name)
        wrong = self._wrong(name, changes=changes)
        if wrong:
            return wrong
        if changes:
            self.rank[name] -= len(self.rank)
        stay = self.cloud.residents[name].values()
        return HostTurn(
            name,
            tuple(moves),
            host.config if changes else None,
            _totals(start.seen),
            len(start.moved),
            tuple(e.consumer for e in stay if e.consumer in start.moved and _short(e, start.seen)),
            tuple(e.consumer for e in stay if changes and floats_anew(e, seen, start.seen)),
        )

    def _untold(self, name: str, residents: Sequence[Resident]) -> _Problem | None:
        """Say what keeps a host's options as they are, whatever they are to become."""
        if not all(each.located for each in residents):
            text = "pins of servers are unknown: give domain XML or a dump of Nova's database"
            return _Problem("server", text)
        return _Problem("server", self.moving[name]) if name in self.moving else None

    def _wrong(self, name: str, *, changes: bool) -> _Problem | None:
        """Say what would be wrong for the flavors in use once a host has had its turn."""
        for wanted in self.wanted.values():
            if not wanted.suits:
                return _Problem("flavor", f"no host would be left for {wanted.label}")
            if changes and name in wanted.strays:
                text = f"{wanted.label} would land there by the fallback query and take VCPU"
                return _Problem("class", text)
        return None

    def _roomy(self, each: _Wanted, out: Collection[str]) -> bool:
        """Say whether the wished number of further guests find room beside the hosts that are
        out. Hosts that take several count several times."""
        wished = self.goal.spare
        found = 0
        for name in each.takes:
            if found >= wished:
                break
            if name not in out:
                found += self._count(each.asked, self.cloud.hosts[name], wished - found)
        return found >= wished

    def _count(self, asked: Asked, seen: HostView, most: int) -> int:
        """Count the further guests that one host takes, up to ``most``."""
        count = 0
        while count < most:
            outcome = self._alone(seen, asked)
            if outcome is None or not right_class(outcome, seen):
                break
            count += 1
            seen = compute.allocated(seen, outcome.allocation)
            if outcome.fitted and seen.books:
                books = usage.take(seen.books, outcome.fitted, seen.release)
                seen = dataclasses.replace(seen, books=books, cells=books)
        return count

    def _moved(self, each: Resident, source: str, batch: Collection[str]) -> Move | _Problem:
        """Migrate a server to the first host that takes it on the right class."""
        wanted = self.wanted.get(_key(each.flavor, each.image))
        label = self.names.get(each.consumer, each.consumer)
        if each.pinned and wanted and not _pins(wanted.asked):
            text = f"server {label} is pinned, which its flavor does not ask for: give its image"
            return _Problem("server", text)
        if each.status not in MIGRATED:
            text = f"server {label} cannot stay, nor move while it is {each.status}"
            return _Problem("server", text)
        takes = wanted.takes - {source, *batch} if wanted else set()
        while takes:
            name = min(takes, key=self.rank.__getitem__)
            takes.remove(name)
            seen = self.cloud.hosts[name]
            outcome = self._outcome(wanted.asked, name) if wanted else None
            if wanted is None or outcome is None or not right_class(outcome, seen):
                continue
            refusal = self.cloud.depart(each.consumer, source)
            if refusal:
                return _Problem("server", f"server {label} cannot be moved: {refusal}")
            if self.cloud.place(each.consumer, wanted.asked, name, outcome).refusal:
                self.cloud.stay(each.consumer)
                continue
            self.cloud.confirm(each.consumer)
            self._look(name)
            held = {
                key: outcome.allocation[key]
                for key in compute.CPU_CLASSES
                if key in outcome.allocation
            }
            return Move(each.consumer, label, source, name, held, self._live(each))
        return _Problem(
            "server", f"server {label} ({each.flavor.name}) cannot stay, and no host takes it"
        )

    def _live(self, each: Resident) -> bool:
        """Say whether a server is to be migrated live, and can be."""
        release = release_of(self.cloud.scheduler.release)
        floats = each.guest is None or any(cell.cpuset for cell in each.guest.cells)
        if floats and not release.live_moves_shared:
            return False
        return self.goal.live and each.status == "ACTIVE" and self.cloud.live_refusal(each) is None

    # The end.

    def _flipped(self) -> None:
        """Turn the fallback query off where nothing needs it any more."""
        if self.fleet.scheduler.disable_fallback_pcpu_query or not self.goal.disable_fallback:
            return
        left = self._left()
        back = self.cloud.snapshot()
        self.cloud.scheduler = dataclasses.replace(
            self.cloud.scheduler, disable_fallback_pcpu_query=True
        )
        self._ask_again()
        lost = [each.label for each in self.wanted.values() if not each.suits]
        pinned = [n for n in left if any(e.pinned for e in self.cloud.residents[n].values())]
        if lost or pinned:
            back()
            self._ask_again()
            if lost:
                text = f"without the fallback query no host is left for {', '.join(lost)}"
                self.blockers.append(Blocker("fallback", text))
            if pinned:
                text = "pinned servers are left on hosts without PCPU, and could not move any more"
                self.blockers.append(Blocker("fallback", text, tuple(pinned)))
            return
        self._add(Kind.FLIP, ())
        if self.stale:
            note = (
                f"{' and '.join(self.gone)} left these hosts: take this out of what the deployer "
                "keeps for them too, or its next run brings it back"
            )
            self._add(Kind.CLEAN, tuple(HostTurn(name) for name in self.stale), note=note)

    def _add(
        self, kind: Kind, turns: tuple[HostTurn, ...], release: str = "", note: str = ""
    ) -> None:
        out = {turn.host for turn in turns} if kind is not Kind.CLEAN else set()
        room = {each.label: len(each.takes - out) for each in self.wanted.values()}
        self.steps.append(Step(len(self.steps) + 1, kind, turns, release, room, note))


def _pins(asked: Asked) -> bool:
    return asked.guest is not None and any(cell.pinned for cell in asked.guest.cells)


def right_class(outcome: Outcome | None, seen: HostView) -> bool:
    """Say whether a guest that boots takes the inventory that its host has for it: a pinned one
    VCPU on a legacy host, PCPU elsewhere."""
    if outcome is None:
        return False
    pinned = outcome.fitted is not None and any(c.pinned for c in outcome.fitted.guest.cells)
    legacy = seen.sets is None or seen.sets.legacy
    return not pinned or legacy or "PCPU" in outcome.allocation


def _label(flavor: Flavor, image: Image) -> str:
    return f"{flavor.name} with image {image.name}" if image.properties else flavor.name


def _key(flavor: Flavor, image: Image) -> t.Any:
    specs = tuple(sorted(flavor.extra_specs.items()))
    properties = tuple(sorted((key, str(value)) for key, value in image.properties.items()))
    return flavor.vcpus, flavor.memory_mb, specs, properties


def _legacy(seen: HostView) -> bool:
    return bool(seen.sets and seen.sets.legacy)


def _mark(names: set[str], name: str, holds: bool) -> None:
    (names.add if holds else names.discard)(name)


def _totals(seen: HostView) -> dict[str, int]:
    inventories = seen.provider.inventories if seen.provider else {}
    return {name: inventories[name].total for name in compute.CPU_CLASSES if name in inventories}


def _repairable(seen: HostView) -> bool:
    """Say whether other options may help a host on which nova-compute serves nothing."""
    return seen.fault is not None and seen.release.dedicated_set


def _lost(resident: Resident, fresh: HostView) -> bool:
    """Say whether a server stays on a host, but not with what it needs there."""
    if fresh.sets is None:
        return False
    outside = own_cpus(resident) & ~fresh.sets.pinnable
    return bool(outside or not_again(resident, fresh))


def _moving(fleet: Fleet) -> dict[str, str]:
    """Name what is under way on each host: a server that moves there, or a migration's share."""
    found = {
        each.host: f"server {each.name} is in {each.status}: let that end, confirm or revert it"
        for each in fleet.servers
        if each.status in MOVING
    }
    if found:
        text = "a consumer that is no server holds CPUs there, as a migration under way does"
        found |= {each.host: text for each in fleet.allocations if each.host not in found}
    return found


def _short(resident: Resident, seen: HostView) -> bool:
    """Say whether a server holds more CPUs for itself than are allocated to it."""
    return occupying(resident, seen).bit_count() > resident.allocation.get("PCPU", 0)


def _same(config: HostConfig, other: HostConfig) -> bool:
    """Say whether options come to the same, however their lists are spelled."""
    try:
        first, second = (
            [
                cpu_option(value, "")
                for value in (each.vcpu_pin_set, each.cpu_shared_set, each.cpu_dedicated_set)
            ]
            for each in (config, other)
        )
    except NovaError:
        return False
    rest = (
        dataclasses.replace(
            each, vcpu_pin_set="", cpu_shared_set="", cpu_dedicated_set="", origins={}
        )
        for each in (config, other)
    )
    return first == second and next(rest) == next(rest)


def _deprecated(config: HostConfig) -> bool:
    return any(getattr(config, name) for name in DEPRECATED)
