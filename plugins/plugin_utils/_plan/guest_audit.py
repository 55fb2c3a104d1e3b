# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running guests held against what Nova writes for them, and what each of them needs."""

from __future__ import annotations

import dataclasses
import shlex
import typing as t

from ...module_utils._read.errors import InputError, quoted
from .._model.flavor import NO_IMAGE
from .._model.kernel import Libvirt
from .._nova.releases import release as release_of
from .._rules import guests
from .._rules.audit import WARNINGS, findings, ranked, status_of
from .._rules.cases import flavor_case, likeness
from .._rules.rule import Severity
from . import emulator, emulator_flavors
from .side_by_side import compared

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .._model.domain import Domain
    from .._model.domain_files import HostDomains
    from .._model.host import Fleet, Host, Scheduler
    from .._rules.rule import Finding, GuestCase, HostGuestsCase
    from .emulator import Better
    from .emulator_flavors import Option
    from .side_by_side import Line

_PROPOSED = 3
"""Descriptions of a domain before those that are proposed."""
NEEDS: tuple[guests.Remedy, ...] = ("migrate", "reboot", "look", "nothing")
"""What a guest can need; each does what those after it do."""
_TWIN = "host"
"""What is not known of a domain that several hosts have."""


@dataclasses.dataclass(frozen=True, slots=True)
class GuestLook:
    """What is found in one guest."""

    case: GuestCase
    findings: tuple[Finding, ...]
    needs: guests.Remedy
    better: Better | None
    """A better XML, from the predicted one, else from the present one; None without any."""
    wished: Better | None
    """For a guest in the form that users report, what they wish for: its emulator threads under
    FIFO on its own ordinary cores; else None."""
    policy: str
    """Policy of the emulator threads: share, isolate or ""."""
    options: tuple[Option, ...]
    """What a policy in the flavor would do for a realtime guest without one, best first."""
    left: tuple[str, ...]
    """Codes of the rules, other than about mere information, that have something to say of the XML
    that Nova would write too, worst first; for guests that it is to write anew."""
    differs: tuple[Line, ...]
    """Where the XML that is predicted, the live one, the persistent one, the better one and the
    one that is wished for differ; with a text for each."""

    @property
    def drifts(self) -> bool:
        """Whether it is not as predicted, now or at its next start outside Nova."""
        return any(len(set(line.texts[:_PROPOSED]) - {""}) > 1 for line in self.differs)

    @property
    def name(self) -> str:
        """Name of the server, or of the domain where Nova does not manage it."""
        return name_of(self.case.domain)

    @property
    def reported_form(self) -> bool:
        """Whether its emulator threads may run on the CPUs of all of its realtime vCPUs."""
        xml = self.case.domain.xml
        return xml is not None and emulator.is_reported_form(xml)

    @property
    def emulator(self) -> dict[str, int | None]:
        """CPUs of the emulator threads (bitmasks): predicted, live in the XML, as the threads have
        them, and proposed; None where that is not known."""
        domain, predicted = self.case.domain, self.case.predicted
        threads = None
        if domain.threads is not None:
            threads = 0
            for thread in guests.threads(domain, "emulator"):
                threads |= thread.cpus
        return {
            "predicted": predicted.emulator if predicted else None,
            "live": domain.xml.emulator if domain.xml else None,
            "threads": threads,
            "proposed": self.better.xml.emulator if self.better else None,
        }

    @property
    def unread(self) -> tuple[str, ...]:
        """What is not known of it, one line each."""
        return tuple(_unread(self.case))

    @property
    def commands(self) -> tuple[str, ...]:
        """What gives the guest what it needs; none where somebody has to look first."""
        server = shlex.quote(self.case.domain.id)
        if self.needs == "reboot":
            return (f"openstack server reboot --hard --wait {server}",)
        if self.needs == "migrate":
            return (
                f"openstack server migrate --wait {server}",
                f"openstack server migration confirm {server}",
            )
        return ()


@dataclasses.dataclass(frozen=True, slots=True)
class GuestAudit:
    """What is found in the guests of a fleet."""

    hosts: tuple[str, ...]
    unread: Mapping[str, tuple[str, ...]]
    """Host to what could not be read of it as a whole, for the hosts whose guests were told."""
    looks: tuple[GuestLook, ...]
    """By host, as they were given."""
    shared: tuple[Finding, ...]
    """What is found in the guests of a host together, and in the waivers."""
    unshared: tuple[str, ...] = ()
    """The hosts without ``cpu_shared_set``, on which realtime guests with share do not build."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is found, by severity, code and subject."""
        return ranked((*self.shared, *(each for look in self.looks for each in look.findings)))

    @property
    def untold(self) -> tuple[str, ...]:
        """The hosts whose guests nobody told."""
        return tuple(name for name in self.hosts if name not in self.unread)

    @property
    def status(self) -> int:
        """0 success, 1 warnings, 2 failure; what was not read is no success."""
        unread = self.untold or any(self.unread.values()) or any(look.unread for look in self.looks)
        return max(status_of((*self.shared, *self._own())), WARNINGS if unread else 0)

    def _own(self) -> Iterator[Finding]:
        return (finding for look in self.looks for finding in look.findings)


def audit_guests(fleet: Fleet, told: Mapping[str, HostDomains]) -> GuestAudit:
    """Audit the domains of a fleet, which are ``told`` by the names of their hosts.

    Raises ``InputError`` for a domain whose host is not in the fleet.
    """
    names = tuple(name for each in fleet.classes for name in each.names)
    strange = next((name for name in told if name not in {*names}), None)
    if strange is not None:
        raise InputError(
            f"nobody told about host {quoted(strange)}",
            "facts of each host with guests",
            next((domain.where for domain in told[strange].domains), "guests"),
        )
    domains = list(_with_twins([domain for each in told.values() for domain in each.domains]))
    together = tuple(guests.host_guests_cases(fleet, domains))
    uses = {each.name: _use(each, told[each.name].libvirt) for each in together}
    advisor = _Advisor(fleet.scheduler)
    return GuestAudit(
        names,
        {name: each.unread for name, each in told.items()},
        tuple(
            _look(case, uses[case.domain.host], advisor)
            for case in guests.guest_cases(fleet, domains)
        ),
        tuple(found for each in together for found in findings(each, f"host {each.name}")),
        tuple(name for each in fleet.classes if _refuses_share(each.host) for name in each.names),
    )


def _refuses_share(host: Host) -> bool:
    """Say whether realtime guests with policy share do not build on a host.

    Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``.
    """
    release = release_of(host.release, host=True)
    return release.literal_realtime_mask and not host.config.cpu_shared_set


def _with_twins(domains: Sequence[Domain]) -> Iterator[Domain]:
    """Add to each domain on which other hosts it is too: what it is to become is not known then.

    A live migration has it on both of its hosts; one that failed may leave it behind.
    """
    hosts: dict[str, list[str]] = {}
    for domain in domains:
        hosts.setdefault(domain.id, []).append(domain.host)
    for domain in domains:
        others = [name for name in hosts[domain.id] if name != domain.host]
        if others:
            where = ", ".join(map(quoted, others[:3]))
            what = f"{_TWIN}: {where} has this domain too; it moves just now, or was left behind"
            yield dataclasses.replace(domain, unread=(*domain.unread, what))
        else:
            yield domain


def name_of(domain: Domain) -> str:
    """Name the server of a domain, or the domain itself where Nova does not manage it."""
    return (domain.nova.name if domain.nova else "") or domain.name


def _unread(case: GuestCase) -> Iterator[str]:
    """Say what nobody read, also where the source does not say so itself, as plain XML cannot."""
    domain = case.domain
    yield from domain.unread
    told = {line.partition(":")[0] for line in domain.unread}
    realtime = domain.xml is not None and domain.xml.realtime
    bare = domain.live is not None and domain.threads is None and domain.locked_kb is None
    for part, lacks in (
        ("live", domain.running and domain.live is None),
        ("threads", domain.running and domain.threads is None),
        ("memory", domain.running and realtime and domain.locked_kb is None),
    ):
        if lacks and part not in told:
            yield f"{part}: {'only XML was given' if bare and part != 'live' else 'not given'}"
    if case.unpredicted and domain.nova is not None:
        yield f"what Nova writes for it: {case.unpredicted}"


class _Use(t.NamedTuple):
    """Host CPUs that the guests of one host take (bitmasks)."""

    realtime: int
    ordinary: int
    """Those of pinned vCPUs without realtime."""
    floating: int
    libvirt: str | None
    """Version of libvirt, where the guest facts tell it."""


def _use(case: HostGuestsCase, libvirt: str | None) -> _Use:
    realtime = ordinary = floating = 0
    for domain in case.domains:
        pinned, own = guests.pinned_cpus(domain, case.host), guests.realtime_cpus(domain)
        realtime |= own
        ordinary |= pinned & ~own
        if domain.xml is not None:
            for cpus in domain.xml.vcpu_pins.values():
                floating |= cpus & ~pinned & ~own
            floating |= 0 if domain.xml.vcpu_pins else domain.xml.cpuset or 0
    return _Use(realtime, ordinary, floating, libvirt)


class _Advisor:
    """Proposes policies for flavors; those of equal flavors on equal hosts once."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._known: dict[t.Any, tuple[Option, ...]] = {}

    def options(self, case: GuestCase) -> tuple[Option, ...]:
        """List the policies for the flavor of a realtime guest that has none."""
        flavor, image, xml = case.flavor, case.image or NO_IMAGE, case.domain.xml
        if flavor is None or case.domain.nova is None or not (xml and xml.realtime):
            return ()
        key = (case.host.host.name, flavor.name, likeness(flavor, image))
        if key not in self._known:
            asked = flavor_case(flavor, image, self._scheduler, (case.host,))
            self._known[key] = emulator_flavors.flavor_options(asked).get(0, ())
        return self._known[key]


def _look(case: GuestCase, use: _Use, advisor: _Advisor) -> GuestLook:
    domain = case.domain
    found = findings(case, f"guest {name_of(domain)} ({domain.id})")
    guest = guests.guest_of(case)
    better = _better(case, use)
    reported = domain.xml is not None and emulator.is_reported_form(domain.xml)
    wished = _better(case, use, wish_scheduling=True) if reported else None
    sides = (better.xml if better else None, wished.xml if wished else None)
    needs = _need(case, found)
    return GuestLook(
        case,
        found,
        needs,
        better,
        wished,
        (guest.emulator_threads_policy if guest else None) or "",
        advisor.options(case),
        _left(case) if needs in ("migrate", "reboot") else (),
        compared((case.predicted, domain.live, domain.persistent, *sides)),
    )


def _better(case: GuestCase, use: _Use, *, wish_scheduling: bool = False) -> Better | None:
    xml, host = case.predicted or case.domain.xml, case.host.host
    if xml is None or case.domain.nova is None:
        return None
    if use.libvirt and not (host.libvirt and host.libvirt.version):
        libvirt = dataclasses.replace(host.libvirt or Libvirt(), version=use.libvirt)
        host = dataclasses.replace(host, libvirt=libvirt)
    return emulator.better(
        xml,
        host,
        realtime_pins=use.realtime,
        ordinary_pins=use.ordinary,
        floating=use.floating,
        wish_scheduling=wish_scheduling,
    )


def _left(case: GuestCase) -> tuple[str, ...]:
    """Name the rules that speak of the guest as Nova would write it, with its pins of now."""
    predicted, own = case.predicted, case.domain.id
    if predicted is None:
        return ()
    domain = dataclasses.replace(
        case.domain,
        live=predicted,
        persistent=predicted,
        threads=None,
        memory_kb=None,
        locked_kb=None,
        swapped_kb=None,
    )
    again = dataclasses.replace(
        case,
        domain=domain,
        pinned={**case.pinned, own: guests.pinned_cpus(domain, case.host)},
        realtime={**case.realtime, own: guests.realtime_cpus(domain)},
    )
    return codes(findings(again, ""))


def codes(found: Iterable[Finding]) -> tuple[str, ...]:
    """Name the rules of findings, other than mere information, worst first."""
    told = (each.code for each in ranked(found) if each.severity is not Severity.INFO)
    return tuple(dict.fromkeys(told))


def _need(case: GuestCase, found: Iterable[Finding]) -> guests.Remedy:
    """Choose what does all that the findings ask for.

    Only a look helps where Nova does not manage the guest, or another host has it too. One that
    does not run needs no reboot: its start writes the XML anew. Where Nova would write other CPUs
    for the emulator threads, a reboot comes before all that there is to decide.
    """
    domain = case.domain
    asked = {guests.remedy(each.code, case) for each in found if each.severity is not Severity.INFO}
    needs = next((need for need in NEEDS if need in asked), NEEDS[-1])
    twins = any(line.startswith(f"{_TWIN}: ") for line in domain.unread)
    if (domain.nova is None or twins) and needs != "nothing":
        return "look"
    if needs == "look" and guests.edited(case):
        needs = "reboot"
    if needs == "reboot" and not domain.running:
        return "nothing"
    return needs
