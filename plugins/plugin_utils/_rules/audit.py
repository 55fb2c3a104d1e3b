# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every rule and every decision over a fleet.

Hosts are looked at by class, flavors by what they ask for: neither the number of hosts nor that of
equal flavors costs decisions.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import typing as t

from .._model.flavor import NO_IMAGE
from .._model.host import HostClass
from .._nova.releases import release as release_of
from .cases import flavor_case, host_case, likeness, telling
from .catalog import RULES
from .flavors import image_command
from .rule import (
    AllocationCase,
    Finding,
    FlavorCase,
    FleetCase,
    GuestCase,
    HostCase,
    HostGuestsCase,
    RestartCase,
    ServerCase,
    Severity,
    WaiverCase,
)

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from .._model.flavor import Flavor, Image
    from .._model.host import Fleet, Host, Scheduler
    from .rule import Case, Detail, Rule

    Progress = Callable[[int, int], None]

SUCCESS, WARNINGS, FAILURE = 0, 1, 2
"""What an audit ends with, as Nova's own upgrade check has it."""

NAME = re.compile(r"\w(?:[\w.-]*\w)?")
"""What may be the name of a host in a text."""

BY_SUBJECT = frozenset(rule.code for rule in RULES if rule.by_subject)
"""Rules whose findings are told apart by their subjects alone."""

_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


@dataclasses.dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found."""

    scheduler: Scheduler
    hosts: tuple[HostCase, ...]
    """One for each class of equal hosts."""
    rows: tuple[FlavorCase, ...]
    """One for each flavor alone, and one for each of its images that makes a difference."""
    findings: tuple[Finding, ...]
    """By severity, code and subject."""

    @property
    def status(self) -> int:
        """0 success, 1 warnings, 2 failure."""
        return status_of(self.findings)


def status_of(found: Iterable[Finding]) -> int:
    """Give the status that findings make which count: 0 success, 1 warnings, 2 failure."""
    severities = {finding.severity for finding in found if finding.counts}
    if Severity.ERROR in severities:
        return FAILURE
    return WARNINGS if Severity.WARNING in severities else SUCCESS


def audit(fleet: Fleet, progress: Progress | None = None) -> Audit:
    """Audit flavors and hosts of a fleet.

    ``progress`` is called with the number of flavors done and that of all of them.

    Raises ``InputError`` for a release that is not known.
    """
    release = release_of(fleet.scheduler.release)
    hosts = tuple(host_case(each.host, each.names) for each in fleet.classes)
    namer = _Namer(hosts)
    rows: list[FlavorCase] = []
    findings = [
        finding for case in hosts for finding in _found(case, f"host {case.host.name}", namer)
    ]
    decided: dict[t.Any, FlavorCase] = {}
    idle = {image.name: image for image in fleet.images}
    for index, flavor in enumerate(fleet.flavors):
        alone = _decided(flavor, NO_IMAGE, fleet.scheduler, hosts, decided)
        rows.append(alone)
        own = list(_found(alone, f"flavor {flavor.name}", namer))
        findings += own
        for image in telling(flavor, fleet.images, fleet.scheduler):
            idle.pop(image.name, None)
            case = _decided(flavor, image, fleet.scheduler, hosts, decided)
            rows.append(case)
            subject = f"flavor {flavor.name} with image {image.name}"
            found = _new(_found(case, subject, namer), own)
            findings += found if alone.refusal else map(_of_image(case), found)
        if progress:
            progress(index + 1, len(fleet.flavors))
    findings += _of_idle(idle.values(), rows, fleet.scheduler, namer)
    everything = FleetCase(fleet.scheduler, release, hosts, tuple(rows))
    findings += _found(everything, "fleet", namer)
    return Audit(fleet.scheduler, hosts, tuple(rows), ranked(findings))


def audit_hosts(fleet: Fleet) -> Audit:
    """Audit the hosts of a fleet alone.

    Raises ``InputError`` for a release that is not known.
    """
    release_of(fleet.scheduler.release)
    hosts = tuple(host_case(each.host, each.names) for each in fleet.classes)
    namer = _Namer(hosts)
    findings = [
        finding for case in hosts for finding in _found(case, f"host {case.host.name}", namer)
    ]
    return Audit(fleet.scheduler, hosts, (), ranked(findings))


def upgraded(fleet: Fleet, release: str) -> Fleet:
    """Make the fleet in which API, scheduler and every nova-compute run ``release``.

    Raises ``InputError`` for a release that is not known.
    """
    name = release_of(release).name
    return dataclasses.replace(
        fleet,
        scheduler=dataclasses.replace(fleet.scheduler, release=name),
        classes=changed(fleet.classes, release=name),
    )


def changed(classes: Iterable[HostClass], **fields: t.Any) -> tuple[HostClass, ...]:
    """Change fields of all hosts; classes that are equal then become one."""
    found: list[tuple[Host, list[str]]] = []
    for each in classes:
        host = dataclasses.replace(each.host, **fields)
        names = next((names for other, names in found if _equal(host, other)), None)
        if names is None:
            found.append((host, list(each.names)))
        else:
            names.extend(each.names)
    return tuple(HostClass(host, tuple(names)) for host, names in found)


def _equal(host: Host, other: Host) -> bool:
    return dataclasses.replace(host, name=other.name) == other


def new_findings(now: Audit, then: Audit) -> tuple[Finding, ...]:
    """List the findings of ``then`` that ``now`` lacks, about the hosts that it lacks."""
    known: dict[tuple[str, str], set[str]] = {}
    for finding in now.findings:
        known.setdefault(_about(finding), set()).update(finding.names)
    parts = (parted(finding, known.get(_about(finding))) for finding in then.findings)
    return tuple(fresh for _known, fresh in parts if fresh)


def parted(
    finding: Finding, known: Collection[str] | None
) -> tuple[Finding | None, Finding | None]:
    """Take a finding apart: what is known of it, and what is new.

    ``known`` are the hosts that it is known of; None where it is not known at all.
    """
    if known is None:
        return None, finding
    if finding.code in BY_SUBJECT:
        return finding, None
    shared = frozenset(known).intersection(finding.names)
    if not shared and finding.names:
        return None, finding
    return split(finding, shared)


def split(finding: Finding, names: Collection[str]) -> tuple[Finding, Finding | None]:
    """Take a finding about hosts apart: of those that are named, and of the others."""
    taken, rest = _divided(finding.names, frozenset(names))
    if not rest:
        return finding, None
    return _of_hosts(finding, taken), _of_hosts(finding, rest)


@functools.lru_cache(maxsize=256)
def _divided(
    names: tuple[str, ...], taken: frozenset[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Part names; findings about the same hosts go on to share the parts."""
    return (
        tuple(name for name in names if name in taken),
        tuple(name for name in names if name not in taken),
    )


def _of_hosts(finding: Finding, names: tuple[str, ...]) -> Finding:
    """Let a finding be about some of its hosts; words that name the first one name another."""
    kind, _rest, _name = finding.subject.partition(" ")
    if kind not in ("host", "fleet"):
        return dataclasses.replace(finding, names=names)
    others = frozenset(finding.names).difference(names)

    def renamed(text: str) -> str:
        return NAME.sub(lambda found: names[0] if found[0] in others else found[0], text)

    return dataclasses.replace(
        finding,
        names=names,
        subject=f"host {names[0]}" if kind == "host" else finding.subject,
        what=renamed(finding.what),
        effect=renamed(finding.effect),
        fix=renamed(finding.fix),
    )


def _about(finding: Finding) -> tuple[str, str]:
    """Tell by what a finding is the same one; hosts are told by its names."""
    kind, _rest, _name = finding.subject.partition(" ")
    return finding.code, kind if kind == "host" else finding.subject


def _decided(
    flavor: Flavor,
    image: Image,
    scheduler: Scheduler,
    hosts: tuple[HostCase, ...],
    decided: dict[t.Any, FlavorCase],
) -> FlavorCase:
    """Decide on a flavor and an image, or take over what was decided on an equal flavor."""
    key = likeness(flavor, image)
    if key not in decided:
        decided[key] = flavor_case(flavor, image, scheduler, hosts)
    return dataclasses.replace(decided[key], flavor=flavor)


def _new(found: Iterable[Finding], known: list[Finding]) -> Iterator[Finding]:
    """Leave out what is found about the flavor without the image too."""
    seen = {(finding.code, finding.what, finding.names) for finding in known}
    for finding in found:
        if (finding.code, finding.what, finding.names) not in seen:
            yield finding


def _of_image(case: FlavorCase) -> Callable[[Finding], Finding]:
    """Make the change that mends the image where the flavor alone has no such finding."""

    def mended(finding: Finding) -> Finding:
        if "openstack flavor " not in finding.fix:
            return finding
        return dataclasses.replace(finding, fix=image_command(case))

    return mended


def _of_idle(
    images: Iterable[Image], rows: list[FlavorCase], scheduler: Scheduler, namer: _Namer
) -> Iterator[Finding]:
    """Find what is wrong with images that make no difference, such as a misspelled property."""
    if not rows:
        return
    alone = rows[0]
    known = list(_found(alone, "", namer))
    for image in images:
        case = dataclasses.replace(alone, image=image)
        yield from _new(_found(case, f"image {image.name}", namer), known)


def errors(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Keep the findings that are errors."""
    return tuple(each for each in found if each.severity is Severity.ERROR)


def findings(case: Case, subject: str) -> tuple[Finding, ...]:
    """Run every rule about a case that stands alone."""
    return ranked(_found(case, subject, _Namer(())))


def _found(case: Case, subject: str, namer: _Namer) -> Iterator[Finding]:
    """Run every rule about such a case."""
    for rule in RULES:
        if rule.subject is type(case):
            for detail in rule.check(case):
                yield _finding(rule, detail, case, subject, namer)


def _finding(
    rule: Rule[t.Any], detail: Detail, case: t.Any, subject: str, namer: _Namer
) -> Finding:
    where = detail.where
    names = namer.names(detail.hosts)
    if isinstance(case, HostCase):
        names = names or case.names
        where = where or "nova.conf"
    elif isinstance(case, FlavorCase):
        where = where or (case.image.where if subject.startswith("image ") else case.flavor.where)
    elif isinstance(case, ServerCase):
        names = names or (case.seen.host.name,)
        where = where or case.server.where
    elif isinstance(case, RestartCase):
        names = names or (case.host.name,)
    elif isinstance(case, AllocationCase):
        names = names or (case.allocation.host,)
    elif isinstance(case, GuestCase):
        names = names or (case.domain.host,)
        where = where or case.domain.where
    elif isinstance(case, HostGuestsCase):
        names = names or (case.name,)
    elif isinstance(case, WaiverCase):
        where = where or case.waiver.where
    return Finding(
        rule.code,
        detail.severity or rule.severity,
        rule.title,
        subject,
        names,
        detail.what,
        detail.effect,
        detail.fix,
        where,
    )


class _Namer:
    """Names of hosts by their classes; findings about the same classes share one tuple."""

    def __init__(self, hosts: tuple[HostCase, ...]) -> None:
        self._hosts = hosts
        self._classes = {case.host.name: index for index, case in enumerate(hosts)}
        self._made: dict[tuple[int, ...], tuple[str, ...]] = {}
        self._unlisted = False

    def names(self, given: tuple[str, ...]) -> tuple[str, ...]:
        """List the hosts of the classes that the given hosts are of."""
        if not given:
            return ()
        if not self._unlisted and any(name not in self._classes for name in given):
            self._unlisted = True
            self._classes = {
                name: index for index, case in enumerate(self._hosts) for name in case.names
            }
        key = tuple(sorted({self._classes[name] for name in given if name in self._classes}))
        if key not in self._made:
            self._made[key] = tuple(name for index in key for name in self._hosts[index].names)
        return self._made[key]


def ranked(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings by severity, code and subject, each once."""
    return tuple(
        sorted(
            dict.fromkeys(findings),
            key=lambda found: (_ORDER[found.severity], found.code, found.subject),
        )
    )
