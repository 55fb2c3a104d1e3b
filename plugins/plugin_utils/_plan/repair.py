# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Placement has wrong about servers, and what puts it right."""

from __future__ import annotations

import dataclasses
import shlex
import typing as t

from .._rules import servers
from .._rules.audit import findings, ranked, status_of
from .._rules.rule import AllocationCase, ServerCase
from .._rules.servers import MIGRATED
from .clouds import cloud_of
from .destinations import Landing, Mover
from .healing import PINS, healed

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.flavor import Flavor
    from .._model.host import Fleet, Scheduler
    from .._nova.schedule import HostView
    from .._rules.rule import Finding

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
    faults: tuple[Finding, ...] = ()
    """What is wrong with the waivers."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is found."""
        return (*(damage.finding for damage in self.damages), *self.faults)

    @property
    def status(self) -> int:
        """0 success, 1 warnings, 2 failure."""
        return status_of(self.findings)


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
    mover = Mover(cloud, fleet.scheduler)
    damages = (_damage(finding, found[finding], mover) for finding in ranked(found))
    untold = sum(case.server.allocation is None for case in cases)
    return AllocationAudit(fleet.scheduler, len(cloud.hosts), len(cases), untold, tuple(damages))


def _damage(finding: Finding, case: ServerCase | AllocationCase, mover: Mover) -> Damage:
    if isinstance(case, AllocationCase):
        return Damage(finding, case.allocation.consumer, "", case.seen, _of_stray(case))
    server = case.server
    return Damage(finding, server.id, server.name, case.seen, _of_server(finding, case, mover))


def _of_server(finding: Finding, case: ServerCase, mover: Mover) -> Repair:
    """Find what puts a server right: healing where it holds nothing, else a move, else a resize."""
    told, heals = ("", False) if finding.code == PINS else healed(case)
    if finding.code == "FU-17" and heals:
        return Repair("heal", (_heal(case),), heal=told)
    first = (*_pins_back(finding), *_ready(case))
    found = mover.destinations(case)
    if not found.hosts:
        refusals = _refusals(found.landings) or (("is the only host", (case.server.host,)),)
        if heals:
            return Repair("heal", (_heal(case),), refusals=refusals, heal=told)
        return Repair("none", first=first, refusals=refusals, heal=told)
    few = found.hosts[:_FEW], len(found.hosts)
    if found.flavor is case.server.flavor:
        return Repair("migrate", _migrate(case, found.hosts[0]), first, *few, heal=told)
    wrong = [each.host for each in found.landings if each.boots and each.problem]
    more = f" and {len(wrong) - _FEW} more hosts" if len(wrong) > _FEW else ""
    keep = (f"keep the scheduler off {', '.join(wrong[:_FEW])}{more}",) if wrong else ()
    return Repair("resize", _resize(case, found.flavor), (*first, *keep), *few, heal=told)


def _refusals(landings: tuple[Landing, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Put hosts together that do not put a server right for one reason; the most first."""
    found: dict[str, list[str]] = {}
    for each in landings:
        found.setdefault(each.problem, []).append(each.host)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    return tuple((reason, tuple(hosts)) for reason, hosts in ordered)


def _pins_back(finding: Finding) -> Iterator[str]:
    """Say what the host of a server needs first: the books let only pins go that are theirs."""
    if finding.code == PINS and "CPUPinningUnknown" in finding.effect:
        yield finding.fix.partition(", then ")[0]


def _ready(case: ServerCase) -> Iterator[str]:
    """Say what a server waits for before the API moves it."""
    status, consumer = case.server.status, case.server.id
    if status == "VERIFY_RESIZE":
        yield f"openstack server migration confirm {consumer}  # or revert"
    elif status not in MIGRATED:
        yield f"bring the server from {status} to {' or '.join(MIGRATED)}"


def _heal(case: ServerCase) -> str:
    """Write the command that makes a server's allocation anew; over an old one from 22 on."""
    force = "--force " if case.server.allocation else ""
    return f"nova-manage placement heal_allocations {force}--instance {case.server.id}"


def _migrate(case: ServerCase, host: str) -> tuple[str, ...]:
    consumer = case.server.id
    command = "openstack --os-compute-api-version 2.56 server migrate --wait"
    return (
        f"{command} --host {shlex.quote(host)} {consumer}",
        f"openstack server migration confirm {consumer}",
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


def _of_stray(case: AllocationCase) -> Repair:
    """Say how an allocation goes that nobody needs, and what to make sure of before."""
    consumer, host = case.allocation.consumer, shlex.quote(case.allocation.host)
    provider = f"$(openstack resource provider list --name {host} -f value -c uuid)"
    list_moves = f"openstack --os-compute-api-version 2.59 server migration list --host {host}"
    no_move = f"{list_moves}  # none that runs or waits may have this UUID, or be of this server"
    if case.owner is not None:
        show = f"openstack server show {consumer} -c OS-EXT-SRV-ATTR:host -c status"
        place = f"on {case.owner.host}" if case.owner.host else "on no host"
        # Deletion would take what the server holds on its own host too.
        unset = "openstack --os-placement-api-version 1.28 resource provider allocation unset"
        return Repair(
            "unset",
            (f"{unset} --provider {provider} {consumer}",),
            (f"{show}  # must still be {place}, and not be moving", no_move),
        )
    orphaned = f"nova-manage placement audit --verbose --resource_provider {provider}"
    return Repair(
        "delete",
        (f"openstack resource provider allocation delete {consumer}",),
        (
            f"openstack server show {consumer}  # must find no server, in any project",
            no_move,
            f"{orphaned}  # must name it as orphaned",
        ),
    )
