# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Placement has wrong about servers, and what puts it right.

A move puts a server right where the rules find nothing in it thereafter. Each is looked at by
itself, with everything else where it is.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
import typing as t

from .._model.flavor import NO_IMAGE
from .._nova import request
from .._nova.errors import NovaError
from .._nova.releases import release as release_of
from .._nova.resident import Resident
from .._nova.schedule import settle
from .._rules import servers
from .._rules.audit import findings, ranked, status_of
from .._rules.cases import likeness
from .._rules.rule import AllocationCase, ServerCase
from .clouds import cloud_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.flavor import Flavor
    from .._model.host import Fleet, Scheduler
    from .._nova.cloud import Cloud
    from .._nova.schedule import HostView
    from .._rules.rule import Finding

MIGRATED = ("ACTIVE", "SHUTOFF")
"""Statuses in which the API moves a server.

Source: ``nova/compute/api.py``, ``resize``."""

_CPU_KEY = re.compile(r"resources[a-zA-Z0-9_-]*:[VP]CPU")
_PINS = "FU-16"
"""The rule that no allocation decides."""
_TAKEN = "has room, which other servers of this report are given"
_FEW = 3
"""Hosts that a repair names."""


@dataclasses.dataclass(frozen=True, slots=True)
class Repair:
    """What puts one finding right."""

    way: t.Literal["migrate", "resize", "heal", "delete", "unset", "none"]
    commands: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    """What to do or to make sure of before."""
    hosts: tuple[str, ...] = ()
    """The first few of the hosts on which nothing is found in the server thereafter."""
    host_count: int = 0
    """Number of all of them."""
    refusals: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Where there is no such host: reasons with the hosts that they hold for."""
    heal: str = ""
    """What ``nova-manage placement heal_allocations`` would do."""


@dataclasses.dataclass(frozen=True, slots=True)
class Damage:
    """One finding and its repair."""

    finding: Finding
    id: str
    """Of the server, or of another consumer."""
    name: str
    """Of the server; "" for another consumer."""
    seen: HostView
    """The host that it is on."""
    repair: Repair


@dataclasses.dataclass(frozen=True, slots=True)
class AllocationAudit:
    """What Placement has wrong about a fleet's servers."""

    scheduler: Scheduler
    hosts: int
    servers: int
    """Number of servers looked at."""
    untold: int
    """Number of those whose allocation nobody told."""
    damages: tuple[Damage, ...]
    """By severity, code and subject."""

    @property
    def status(self) -> int:
        """0 success, 1 warnings, 2 failure."""
        return status_of(damage.finding for damage in self.damages)


def audit_allocations(fleet: Fleet) -> AllocationAudit:
    """Hold what servers and other consumers are allocated against what they are due.

    Raises ``InputError`` for a release that is not known.
    """
    cloud = cloud_of(fleet)
    cases = list(servers.server_cases(cloud, fleet))
    found: dict[Finding, ServerCase | AllocationCase] = {}
    for case in cases:
        subject = f"server {case.server.name} ({case.server.id})"
        found |= dict.fromkeys(findings(case, subject), case)
    for stray in servers.allocation_cases(cloud, fleet):
        found |= dict.fromkeys(findings(stray, f"consumer {stray.allocation.consumer}"), stray)
    moves = _Moves(cloud, fleet.scheduler)
    damages = (_damage(finding, found[finding], moves) for finding in ranked(found))
    untold = sum(case.server.allocation is None for case in cases)
    return AllocationAudit(fleet.scheduler, len(cloud.hosts), len(cases), untold, tuple(damages))


def _damage(finding: Finding, case: ServerCase | AllocationCase, moves: _Moves) -> Damage:
    if isinstance(case, AllocationCase):
        return Damage(finding, case.allocation.consumer, "", case.seen, _of_stray(case))
    server = case.server
    return Damage(finding, server.id, server.name, case.seen, _of_server(finding, case, moves))


class Landing(t.NamedTuple):
    """What becomes of a server that is moved to a host."""

    host: str
    dedicates: bool
    """Whether the host has dedicated CPUs."""
    problem: str
    """Why that does not put it right; "" where it does."""
    boots: bool


class Move(t.NamedTuple):
    """What becomes of a server with a flavor on every other host."""

    flavor: Flavor
    landings: tuple[Landing, ...]
    hosts: tuple[str, ...]
    """The hosts on which it is right."""


class _Moves:
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
        self._given: dict[str, Move] = {}
        self._requests = servers.Requests(scheduler)

    def move(self, case: ServerCase) -> Move:
        """Find hosts for a server, with its flavor or else one that is mended, and give it one."""
        consumer = case.server.id
        if consumer not in self._given:
            self._given[consumer] = self._moved(case)
        return self._given[consumer]

    def _moved(self, case: ServerCase) -> Move:
        move = self._tried(case)
        mended = None if move.hosts else _mended(case.server.flavor)
        if mended:
            asked = self._requests.ask(mended, case.server.image)
            server = dataclasses.replace(case.server, flavor=mended)
            case = dataclasses.replace(case, server=server, asked=asked)
            resized = self._tried(case)
            move = resized if resized.hosts else move
        if move.hosts:
            self._give(case, move.hosts[0])
        return move

    def _give(self, case: ServerCase, host: str) -> None:
        outcome = settle(case.asked, self._cloud.hosts[host], self._scheduler)
        self._cloud.place(case.server.id, case.asked, host, outcome)
        for key, known in self._known.items():
            if host in known and not known.pop(host).problem:
                self._lost.add((key, host))

    def _tried(self, case: ServerCase) -> Move:
        """Move a server to each host but its own, those with dedicated CPUs first."""
        server = case.server
        key = (*likeness(server.flavor, server.image), str(server.image.properties))
        known = self._known.setdefault(key, {})
        for name, seen in self._cloud.hosts.items():
            if name not in known:
                landing = self._landing(case, seen)
                if landing.problem and (key, name) in self._lost:
                    landing = landing._replace(problem=_TAKEN)
                known[name] = landing
        others = (known[name] for name in self._cloud.hosts if name != server.host)
        landings = tuple(sorted(others, key=lambda each: not each.dedicates))
        hosts = tuple(each.host for each in landings if not each.problem)
        return Move(server.flavor, landings, hosts)

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
        wrong = findings(servers.after_move(case, seen, there), "")
        problem = f"takes it, and then {wrong[0].code}: {wrong[0].what}" if wrong else ""
        return Landing(name, dedicates, problem, boots=True)


def _of_server(finding: Finding, case: ServerCase, moves: _Moves) -> Repair:
    """Find what puts a server right: healing where it holds nothing, else a move, else a resize."""
    told, heals = ("", False) if finding.code == _PINS else _healed(case)
    if finding.code == "FU-17" and heals:
        return Repair("heal", (_heal(case),), heal=told)
    first = (*_pins_back(finding), *_ready(case))
    move = moves.move(case)
    if not move.hosts:
        refusals = _refusals(move.landings)
        if heals:
            return Repair("heal", (_heal(case),), refusals=refusals, heal=told)
        return Repair("none", first=first, refusals=refusals, heal=told)
    few = move.hosts[:_FEW], len(move.hosts)
    if move.flavor is case.server.flavor:
        return Repair("migrate", _migrate(case, move.hosts[0]), first, *few, heal=told)
    wrong = [each.host for each in move.landings if each.boots and each.problem]
    keep = (f"keep the scheduler off {', '.join(wrong)}",) if wrong else ()
    return Repair("resize", _resize(case, move.flavor), (*first, *keep), *few, heal=told)


def _refusals(landings: tuple[Landing, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Put hosts together that do not put a server right for one reason; the most first."""
    found: dict[str, list[str]] = {}
    for each in landings:
        found.setdefault(each.problem, []).append(each.host)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    return tuple((reason, tuple(hosts)) for reason, hosts in ordered)


def _pins_back(finding: Finding) -> Iterator[str]:
    """A server leaves the books of its host only if its CPUs are in them."""
    if finding.code == _PINS and "CPUPinningUnknown" in finding.effect:
        yield finding.fix.partition(", then ")[0]


def _ready(case: ServerCase) -> Iterator[str]:
    """Say what a server waits for before the API moves it."""
    status, consumer = case.server.status, case.server.id
    if status == "VERIFY_RESIZE":
        yield f"openstack server resize confirm {consumer}  # or revert"
    elif status not in MIGRATED:
        yield f"bring the server from {status} to {' or '.join(MIGRATED)}"


def _heal(case: ServerCase) -> str:
    """Write the command that makes a server's allocation anew; over an old one from 22 on."""
    force = "--force " if case.server.allocation else ""
    return f"nova-manage placement heal_allocations {force}--instance {case.server.id}"


def _migrate(case: ServerCase, host: str) -> tuple[str, ...]:
    consumer = case.server.id
    return (
        "openstack --os-compute-api-version 2.56 server migrate --wait "
        f"--host {shlex.quote(host)} {consumer}",
        f"openstack server resize confirm {consumer}",
    )


def _resize(case: ServerCase, flavor: Flavor) -> tuple[str, ...]:
    consumer, name = case.server.id, shlex.quote(flavor.name)
    size = {
        "vcpus": flavor.vcpus,
        "ram": flavor.memory_mb,
        "disk": flavor.disk_gb,
        "ephemeral": flavor.ephemeral_gb,
        "swap": flavor.swap_mb,
    }
    options = [f"--{option} {amount}" for option, amount in size.items() if amount]
    options += [
        f"--property {shlex.quote(f'{key}={value}')}" for key, value in flavor.extra_specs.items()
    ]
    return (
        f"openstack flavor create {' '.join(options)} {name}",
        f"openstack server resize --wait --flavor {name} {consumer}",
        f"openstack server resize confirm {consumer}",
    )


def _mended(flavor: Flavor) -> Flavor | None:
    """Make the flavor that asks for pinned CPUs by policy in place of resources; None for one that
    asks by no resources."""
    kept = {key: value for key, value in flavor.extra_specs.items() if not _CPU_KEY.fullmatch(key)}
    if len(kept) == len(flavor.extra_specs):
        return None
    specs = {"hw:cpu_policy": "dedicated", **kept}
    return dataclasses.replace(flavor, name=f"{flavor.name}.pinned", id="", extra_specs=specs)


def _healed(case: ServerCase) -> tuple[str, bool]:
    """Say what ``heal_allocations`` would do, and whether that puts the server right.

    It goes by the flavor alone, as the primary query does, whatever the image and the host.

    Source: ``nova/cmd/manage.py``, ``_heal_instance_allocations``; ``nova/scheduler/utils.py``,
    ``resources_from_flavor``.
    """
    server, provider = case.server, case.seen.provider
    if provider is None:
        return "cannot be told: the host reports nothing", False
    try:
        asked = request.build(server.flavor, NO_IMAGE, release_of(case.scheduler.release))
    except NovaError as error:
        return f"would fail: {error}", False
    amounts = servers.cpu_amounts(asked.resources)
    given = f"would ask for {servers.told(amounts)}"
    own = server.allocation or {}
    for name, amount in amounts.items():
        inventory = provider.inventories.get(name)
        if inventory is None and not provider.used.get(name):
            return f"{given}; Placement answers 409, the host reports no {name}", False
        # A class that is in use stays in Placement's inventory when the host reports it no more.
        if inventory and not inventory.takes(amount, provider.used.get(name, 0) - own.get(name, 0)):
            return f"{given}; Placement answers 409, there is not that much free", False
    healed = dataclasses.replace(server, allocation=asked.resources)
    wrong = [
        each
        for each in findings(dataclasses.replace(case, server=healed), "")
        if each.code != _PINS
    ]
    if not wrong:
        return f"{given}, which is right here", True
    because = " (it does not know the image)" if server.image.properties else ""
    return f"{given}{because}, which is wrong here: {wrong[0].what}", False


def _of_stray(case: AllocationCase) -> Repair:
    """Say how an allocation goes that nobody needs, and what to make sure of before."""
    consumer, host = case.allocation.consumer, shlex.quote(case.allocation.host)
    provider = f"$(openstack resource provider list --name {host} -f value -c uuid)"
    migrations = (
        f"openstack --os-compute-api-version 2.59 server migration list --host {host}"
        "  # no migration that runs or waits may have this consumer's UUID or server"
    )
    if case.owner is not None:
        return Repair(
            "unset",
            (f"openstack resource provider allocation unset --provider {provider} {consumer}",),
            (
                f"openstack server show {consumer} -c OS-EXT-SRV-ATTR:host -c status"
                f"  # must still be on {case.owner.host or 'no host'}, and not in a move",
                migrations,
            ),
        )
    return Repair(
        "delete",
        (f"openstack resource provider allocation delete {consumer}",),
        (
            f"openstack server show {consumer}  # must find no server, in any project",
            migrations,
            f"nova-manage placement audit --verbose --resource_provider {provider}"
            "  # must name it as orphaned",
        ),
    )
