# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a rule, of what it looks at and of what it finds."""

from __future__ import annotations

import dataclasses
import enum
import typing as t

if t.TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterator, Mapping

    from .._model.domain import Domain
    from .._model.flavor import Flavor, Image
    from .._model.guest import Guest
    from .._model.guest_xml import GuestXml
    from .._model.host import Host, Scheduler
    from .._model.host_cell import HostCell
    from .._model.server import Allocation, Server
    from .._model.waivers import Waiver
    from .._nova.compute import Start
    from .._nova.errors import NovaError
    from .._nova.inventory import CpuSets
    from .._nova.outcome import Outcome
    from .._nova.releases import Release
    from .._nova.resident import Resident
    from .._nova.schedule import Asked, HostView
    from .policies import Trials


class Severity(enum.StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Outage, wrong placement, refused start or a policy that is not honoured."""
    WARNING = "warning"
    """Works, and worse than it could."""
    INFO = "info"


@dataclasses.dataclass(frozen=True, slots=True)
class HostCase:
    """One class of equal hosts, with what Nova makes of it."""

    host: Host
    names: tuple[str, ...]
    release: Release
    sets: CpuSets | None
    """The CPU sets; None where Nova cannot read them."""
    cells: tuple[HostCell, ...] | None
    """Nova's NUMA cells; None where it cannot build them or libvirt reports none."""
    fault: NovaError | None
    """What nova-compute fails with, at its start or when it reports its resources."""
    view: HostView
    """The host as requests meet it."""


@dataclasses.dataclass(frozen=True, slots=True)
class FlavorCase:
    """One flavor, alone or with an image, before the fleet."""

    flavor: Flavor
    image: Image
    release: Release
    """Of API and scheduler."""
    scheduler: Scheduler
    guest: Guest | None
    """The NUMA topology; None where there is none or the API refuses."""
    refusal: NovaError | None
    """What the API answers to a boot, if it refuses."""
    hosts: tuple[HostCase, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    """What becomes of a boot on each of ``hosts`` when empty and when only it is asked for: one
    each, in their order."""
    tried: dict[t.Any, FlavorCase] = dataclasses.field(
        default_factory=dict, repr=False, compare=False
    )
    """What became of it with other extra specs, by request; equal flavors share it."""

    def spec(self, key: str) -> str | None:
        """The value of an extra spec; None where it is absent or empty."""
        return self.flavor.extra_specs.get(key) or None


@dataclasses.dataclass(frozen=True, slots=True)
class FleetCase:
    """Everything at once, for rules that need flavors and hosts together."""

    scheduler: Scheduler
    release: Release
    hosts: tuple[HostCase, ...]
    flavors: tuple[FlavorCase, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ServerCase:
    """One server on its host, with what it should hold there."""

    server: Server
    resident: Resident
    seen: HostView
    """The host with everything that its servers hold."""
    scheduler: Scheduler
    asked: Asked
    """The server's flavor and image as a boot request to the scheduler of today."""
    occupied: int = 0
    """Host CPUs that it takes from other pinned servers (bitmask); none where nobody told."""
    doubled: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Those of them that servers entered before it take too, by the ids of these."""


@dataclasses.dataclass(frozen=True, slots=True)
class AllocationCase:
    """What a consumer holds on a host that has no such server."""

    allocation: Allocation
    seen: HostView
    """The host with everything that is held there."""
    scheduler: Scheduler
    owner: Server | None
    """The server that the consumer is, on another host or on none."""
    mover: Server | None
    """The server whose migration the consumer most likely is: it is in the middle of a move."""


@dataclasses.dataclass(frozen=True, slots=True)
class RestartCase:
    """One host whose nova-compute is restarted with other options or of another release."""

    before: HostView
    """As it runs now."""
    host: Host
    """As it would run."""
    residents: tuple[Resident, ...]
    start: Start
    """What becomes of the restart."""
    servers_told: bool = True
    """Whether anybody told which servers are there; where not, it is judged as an empty host."""


@dataclasses.dataclass(frozen=True, slots=True)
class GuestCase:
    """One domain on its host, with what Nova would write for it."""

    domain: Domain
    host: HostCase
    others: tuple[Domain, ...]
    """The other domains of the host."""
    release: Release
    """Of the Nova that generated its XML; the host's where that is unknown."""
    predicted: GuestXml | None
    """What Nova of that release writes for flavor, image and pins; None where it is not to be
    had."""
    unpredicted: str
    """Why there is no prediction; "" where there is one."""
    flavor: Flavor | None
    """From the XML, else from the server, else inferred."""
    image: Image | None
    inferred: bool
    """Whether the flavor's extra specs are read off the XML for want of a better source."""
    server: Server | None = None
    """The server as the API or the database has it."""
    pinned: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Id of each domain of the host to the host CPUs that its vCPUs are pinned to (bitmask)."""
    realtime: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Id of each domain of the host to the host CPUs of its realtime vCPUs (bitmask)."""
    recorded: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Id of each domain whose pins Nova's record tells to their host CPUs (bitmask)."""
    trials: Trials | None = None
    """Tells what other policies for its emulator threads come to; None where nobody asks."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostGuestsCase:
    """One host with all its domains."""

    name: str
    """Of the host."""
    host: HostCase
    domains: tuple[Domain, ...]
    pinned: Mapping[str, int]
    """Id of each domain to the host CPUs that its vCPUs are pinned to (bitmask)."""
    servers: tuple[Server, ...] = ()
    """The servers that the API or the database has there."""
    realtime: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Id of each domain to the host CPUs of its realtime vCPUs (bitmask)."""


@dataclasses.dataclass(frozen=True, slots=True)
class WaiverCase:
    """One waiver after an audit that runs its rule."""

    waiver: Waiver
    today: datetime.date
    used: bool
    """Whether any finding is as the waiver says, expired or not."""


@dataclasses.dataclass(frozen=True, slots=True)
class Detail:
    """What a rule saw: what is wrong here, what happens then, the exact fix."""

    what: str
    effect: str
    fix: str
    where: str = ""
    """``file:line`` or file and key; the rule runner fills in the subject's own if empty."""
    severity: Severity | None = None
    """Where it differs from the rule's."""
    hosts: tuple[str, ...] = ()
    """Hosts that a flavor's finding is about, where not all."""


Case = t.TypeVar(
    "Case",
    FlavorCase,
    HostCase,
    FleetCase,
    ServerCase,
    AllocationCase,
    RestartCase,
    GuestCase,
    HostGuestsCase,
    WaiverCase,
)


@dataclasses.dataclass(frozen=True)
class Rule(t.Generic[Case]):
    """One rule. The module's docstring is its page: what, why, source."""

    code: str
    severity: Severity
    title: str
    subject: type[Case]
    check: Callable[[Case], Iterator[Detail]]
    bad: Callable[[], Case]
    """Builds a case that it finds something in."""
    good: Callable[[], Case]
    """Builds a case that it is silent about, near to the bad one."""
    by_subject: bool = False
    """Whether it finds one thing of a subject, and words and hosts just follow the fleet: another
    run finds the same one, whatever these are then."""


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One finding as reports show it."""

    code: str
    severity: Severity
    title: str
    subject: str
    """``flavor NAME``, ``flavor NAME with image NAME``, ``host NAME`` (the first of its class),
    ``server NAME``, ``guest NAME``, ``waiver RULE`` or ``fleet``."""
    names: tuple[str, ...]
    """Hosts concerned, where hosts are."""
    what: str
    effect: str
    fix: str
    where: str
    waiver: Waiver | None = None
    """The waiver that it has, if any."""
    known: bool = False
    """Whether an earlier report has it, which this one is held against."""

    @property
    def counts(self) -> bool:
        """Whether the status heeds it: it is neither waived nor known."""
        return self.waiver is None and not self.known

    def as_dict(self) -> dict[str, t.Any]:
        """Show it as plain data."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        waiver = plain.pop("waiver")
        return {
            **plain,
            "severity": self.severity.value,
            "names": list(self.names),
            "waived": waiver
            and {
                "reason": waiver.reason,
                "owner": waiver.owner,
                "expires": waiver.expires.isoformat(),
            },
        }
