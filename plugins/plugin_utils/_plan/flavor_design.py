# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Extra specs for what a flavor is wished to be for, safe on every host that may take it.

What a wish leaves open is tried out: each way of settling it is scheduled on each class of hosts
and held against the rules. Hosts are taken to be empty, since a flavor outlives what is in use.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import itertools
import re
import typing as t

from ...module_utils._read.errors import InputError, quoted
from .._model.flavor import Flavor
from .._rules.audit import audit, changed, errors, findings, new_findings
from .._rules.cases import flavor_case, host_case
from .._rules.hosts import isolated
from .._rules.rule import FleetCase, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .._model.flavor_wish import FlavorWish
    from .._model.host import Fleet, HostClass, Scheduler
    from .._rules.rule import Finding, FlavorCase, HostCase

_Specs = dict[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Way:
    """One way of settling an extra spec: its value, "" to leave it out, and what speaks for it."""

    value: str
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Reason:
    """Why an extra spec has its value, or is not there."""

    key: str
    value: str
    """"" where the spec is left out."""
    why: str
    forced: bool = False
    """Whether something else is preferred, and was not to be had."""

    def as_dict(self) -> dict[str, str]:
        """Show it as plain data."""
        return {"key": self.key, "value": self.value, "why": self.why}


@dataclasses.dataclass(frozen=True, slots=True)
class Design:
    """A flavor as it was worked out."""

    wish: FlavorWish
    flavor: Flavor
    reasons: tuple[Reason, ...]
    """One for each extra spec that was settled, those left out too."""
    hosts: tuple[str, ...]
    """The hosts that take it when they are empty."""
    left: tuple[Finding, ...] = ()
    """What the audit of it still finds, none of it an error of the flavor alone."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Trial:
    """One way of settling all of a wish, with what comes of it."""

    case: FlavorCase
    order: tuple[int, ...]
    """Which way was taken of each extra spec; lower is preferred."""
    takers: frozenset[str]
    """Names of the hosts that take it."""
    faults: tuple[str, ...]
    """What makes it unsafe."""
    warnings: tuple[str, ...]


def design(wishes: tuple[FlavorWish, ...], fleet: Fleet) -> tuple[Design, ...]:
    """Work out the extra specs of all wishes, and audit them on the fleet as it is.

    Raises ``InputError`` for a wish that no extra specs make safe, with the reason.
    """
    groups: dict[tuple[str, ...], list[FlavorWish]] = {}
    for wish in wishes:
        groups.setdefault(wish.hosts, []).append(wish)
    made: dict[str, Design] = {}
    for patterns, group in groups.items():
        meant, others = _split(fleet, patterns)
        for pattern in patterns:
            if not any(
                fnmatch.fnmatchcase(name, pattern) for each in meant.classes for name in each.names
            ):
                raise _impossible(group[0], f"there is no host {quoted(pattern)}")
        if not meant.classes:
            raise _impossible(group[0], "there is no host for it")
        for each in _designed_together(group, meant):
            _refuse_strays(each, others, fleet.scheduler)
            made[each.wish.name] = each
    return tuple(made[wish.name] for wish in wishes)


def _split(fleet: Fleet, patterns: tuple[str, ...]) -> tuple[Fleet, tuple[HostClass, ...]]:
    """Keep the hosts that the patterns name, all of them without any; give the others too."""
    if not patterns:
        return fleet, ()
    form = re.compile("|".join(map(fnmatch.translate, patterns)))
    meant: list[HostClass] = []
    others: list[HostClass] = []
    for each in fleet.classes:
        for kept, wanted in ((meant, True), (others, False)):
            names = tuple(name for name in each.names if bool(form.fullmatch(name)) is wanted)
            if names:
                host = dataclasses.replace(each.host, name=names[0])
                kept.append(dataclasses.replace(each, host=host, names=names))
    return dataclasses.replace(fleet, classes=tuple(meant)), tuple(others)


def _refuse_strays(made: Design, others: tuple[HostClass, ...], scheduler: Scheduler) -> None:
    """Refuse a flavor that hosts take although it is not tied to them, by their traits.

    Hosts whose traits nobody told are not judged, nor is a flavor that an aggregate ties.
    """
    if any(key.startswith("aggregate") for key in made.flavor.extra_specs):
        return
    told = tuple(each for each in others if each.host.traits)
    case = flavor_case(made.flavor, scheduler=scheduler, hosts=_emptied(told))
    for host, outcome in zip(case.hosts, case.outcomes, strict=True):
        if outcome.boots:
            raise _impossible(made.wish, f"by its traits {host.names[0]} takes it too")


def _designed_together(wishes: list[FlavorWish], fleet: Fleet) -> Iterator[Design]:
    bare = dataclasses.replace(fleet, flavors=(), images=())
    hosts = _emptied(fleet.classes)
    known = _of_fleet(fleet.scheduler, hosts, ())
    made = [_designed(wish, fleet.scheduler, hosts, known) for wish in wishes]
    flavors = tuple(each.flavor for each in made)
    now = audit(bare)
    added = new_findings(now, audit(dataclasses.replace(bare, flavors=flavors)))
    for fault in errors(added):
        accepted = "a wish that is safe on the fleet as it is"
        raise InputError(f"{fault.code}: {fault.what}", accepted, fault.subject)
    if fleet.images:
        added = new_findings(now, audit(dataclasses.replace(fleet, flavors=flavors)))
    for each in made:
        yield dataclasses.replace(each, left=_about(each.flavor, added))


def _about(flavor: Flavor, added: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Keep the findings of a flavor, with images too, and those of the fleet."""
    own = f"flavor {flavor.name}"
    return tuple(
        each
        for each in added
        if each.subject in (own, "fleet") or each.subject.startswith(f"{own} with image ")
    )


def _emptied(classes: tuple[HostClass, ...]) -> tuple[HostCase, ...]:
    """Look at hosts as if nothing were in use there."""
    return tuple(
        host_case(each.host, each.names) for each in changed(classes, usage=(), allocated={})
    )


def _of_fleet(
    scheduler: Scheduler, hosts: tuple[HostCase, ...], cases: tuple[FlavorCase, ...]
) -> frozenset[tuple[str, str]]:
    """List the errors of rules that look at flavors and hosts together: code and text."""
    release = hosts[0].release if not cases else cases[0].release
    found = findings(FleetCase(scheduler, release, hosts, cases), "fleet")
    return frozenset((each.code, each.what) for each in errors(found))


def _designed(
    wish: FlavorWish,
    scheduler: Scheduler,
    hosts: tuple[HostCase, ...],
    known: frozenset[tuple[str, str]],
) -> Design:
    ways = _ways(wish)
    trials = {
        order: _tried(wish, ways, order, scheduler, hosts, known)
        for order in itertools.product(*(range(len(each)) for each in ways.values()))
    }
    takers = frozenset[str]().union(*(trial.takers for trial in trials.values()))
    best = min(trials.values(), key=lambda trial: _rank(trial, takers))
    if not best.takers:
        plain = max(trials.values(), key=lambda trial: (trial.case.refusal is None, trial.order))
        raise _impossible(wish, f"no host takes it: {_refusals(plain.case)}")
    if best.faults:
        raise _impossible(wish, best.faults[0])
    reasons = tuple(
        Reason(key, each[index].value, _why(key, each, index, place, best, trials), index > 0)
        for place, ((key, each), index) in enumerate(zip(ways.items(), best.order, strict=True))
    )
    names = tuple(name for host in hosts for name in host.names if name in best.takers)
    return Design(wish, best.case.flavor, reasons, names)


def _impossible(wish: FlavorWish, what: str) -> InputError:
    where = f"{wish.where}: {wish.name}" if wish.where else wish.name
    return InputError(what, "another wish, or a tie to hosts that suit it (hosts)", where)


def _rank(trial: _Trial, takers: frozenset[str]) -> tuple[t.Any, ...]:
    """Order trials: safe ones first, then those that keep most hosts, and have least warnings."""
    return (
        not trial.takers,
        bool(trial.faults),
        len(takers - trial.takers),
        len(trial.warnings),
        trial.order,
    )


def _tried(
    wish: FlavorWish,
    ways: Mapping[str, tuple[Way, ...]],
    order: tuple[int, ...],
    scheduler: Scheduler,
    hosts: tuple[HostCase, ...],
    known: frozenset[tuple[str, str]],
) -> _Trial:
    specs = {
        key: each[index].value
        for (key, each), index in zip(ways.items(), order, strict=True)
        if each[index].value
    }
    case = flavor_case(_flavor(wish, specs), scheduler=scheduler, hosts=hosts)
    found = findings(case, f"flavor {wish.name}")
    together = sorted(_of_fleet(scheduler, hosts, (case,)) - known)
    return _Trial(
        case,
        order,
        frozenset(
            name
            for host, outcome in zip(hosts, case.outcomes, strict=True)
            if outcome.boots
            for name in host.names
        ),
        (
            *_failing(case),
            *(f"{each.code}: {each.what}" for each in errors(found)),
            *(f"{code}: {what}" for code, what in together),
        ),
        (
            *(f"{each.code}: {each.what}" for each in found if each.severity is Severity.WARNING),
            *_piling(case),
        ),
    )


def _flavor(wish: FlavorWish, specs: _Specs) -> Flavor:
    return Flavor(
        wish.name,
        wish.vcpus,
        wish.memory_mb,
        {**specs, **wish.extra_specs},
        wish.disk_gb,
        wish.ephemeral_gb,
        wish.swap_mb,
        wish.id,
        wish.where,
    )


def _failing(case: FlavorCase) -> Iterator[str]:
    """List the hosts that the scheduler would choose and that fail then."""
    for host, outcome in zip(case.hosts, case.outcomes, strict=True):
        if outcome.stage in ("claim", "driver"):
            yield f"{host.names[0]} is chosen and fails at {outcome.stage}: {outcome.reason}"


def _piling(case: FlavorCase) -> Iterator[str]:
    """List the hosts on which shared emulator threads may pile up on one CPU.

    Source: the kernel's ``isolcpus``, which takes CPUs out of the balancing of load.
    """
    if case.spec("hw:emulator_threads_policy") != "share":
        return
    for host, outcome in zip(case.hosts, case.outcomes, strict=True):
        if outcome.boots and host.sets and host.sets.shared & isolated(host):
            yield f"{host.names[0]} has isolated CPUs in cpu_shared_set: threads may pile up on one"


def _refusals(case: FlavorCase) -> str:
    """Say in short which hosts refuse a flavor, and why."""
    if case.refusal:
        return f"the API refuses every boot: {case.refusal.text}"
    told: dict[str, str] = {}
    for host, outcome in zip(case.hosts, case.outcomes, strict=True):
        if not outcome.boots:
            told.setdefault(f"{outcome.stage}: {outcome.reason}", host.names[0])
    return "; ".join(f"{name} refuses at {reason}" for reason, name in list(told.items())[:3])


def _why(
    key: str,
    ways: tuple[Way, ...],
    index: int,
    place: int,
    best: _Trial,
    trials: Mapping[tuple[int, ...], _Trial],
) -> str:
    """Say what speaks for the way that was taken, and against each that is preferred to it."""
    parts = [ways[index].why]
    for other in range(index):
        trial = trials[(*best.order[:place], other, *best.order[place + 1 :])]
        name = ways[other].value or f"without {key}"
        parts.append(f"not {name}, for {_against(trial, best)}")
    return "; ".join(parts)


def _against(trial: _Trial, best: _Trial) -> str:
    """Say what is worse about a trial."""
    for host, outcome in zip(trial.case.hosts, trial.case.outcomes, strict=True):
        if host.names[0] in best.takers - trial.takers:
            return f"{host.names[0]} refuses at {outcome.stage}: {outcome.reason}"
    own = (text for text in (*trial.faults, *trial.warnings) if text not in best.warnings)
    return next(own, "it keeps fewer hosts")


def _ways(wish: FlavorWish) -> dict[str, tuple[Way, ...]]:
    """List the ways of settling each extra spec, the preferred one first."""
    ways: dict[str, tuple[Way, ...]] = dict(_FIXED[wish.intent])
    if wish.intent == "mixed":
        ways["hw:cpu_dedicated_mask"] = (
            Way(_mask(wish), f"pins all but {_ordinary(wish)}, floating over shared CPUs"),
        )
    if wish.intent == "pinned-realtime":
        ways["hw:cpu_realtime_mask"] = (
            Way(_mask(wish), f"all but {_ordinary(wish)}; with ^ all releases read it alike")
            if wish.ordinary_vcpus
            else Way("", "all vCPUs are realtime"),
        )
    if wish.intent == "numa" or wish.numa_cells > 1:
        ways["hw:numa_nodes"] = (Way(str(wish.numa_cells), _CELLS[wish.numa_cells > 1]),)
    ways["hw:mem_page_size"] = _wished(wish.page_size, _PAGES, _page_sizes(wish))
    ways["hw:cpu_thread_policy"] = _wished(wish.threads, _THREADS, ("",))
    realtime = wish.intent == "pinned-realtime"
    ways["hw:emulator_threads_policy"] = _wished(
        wish.emulator, _EMULATOR, ("share", "isolate", "") if realtime else ("",)
    )
    if realtime and "hw:pmu" not in wish.extra_specs:
        ways["hw:pmu"] = (
            Way("false", "its counters would be saved and restored at each exit"),
            Way("", "the release does not know the key"),
        )
    return ways


def _wished(value: str, texts: Mapping[str, str], open_ways: tuple[str, ...]) -> tuple[Way, ...]:
    if value == "auto":
        return tuple(Way(each, texts[each]) for each in open_ways)
    value = "" if value == "none" else value
    return (Way(value, f"as wished: {texts.get(value, _OF_THIS_SIZE)}"),)


def _page_sizes(wish: FlavorWish) -> tuple[str, ...]:
    """List page sizes; a floating guest takes what the host gives."""
    return ("",) if wish.intent == "numa" else ("large", "small", "")


def _mask(wish: FlavorWish) -> str:
    """Take the first vCPUs of each cell away. Cells stay alike: Nova misjudges unlike ones."""
    size = wish.vcpus // wish.numa_cells
    last = wish.ordinary_vcpus - 1
    spans = ((cell * size, cell * size + last) for cell in range(wish.numa_cells))
    return ",".join(f"^{low}" if low == high else f"^{low}-{high}" for low, high in spans)


def _ordinary(wish: FlavorWish) -> str:
    of_each = " of each cell" if wish.numa_cells > 1 else ""
    if wish.ordinary_vcpus == 1:
        return f"vCPU 0{of_each}"
    return f"vCPUs 0-{wish.ordinary_vcpus - 1}{of_each}"


_PINNED = (Way("dedicated", "each vCPU has a host CPU to itself"),)
_FIXED: dict[str, dict[str, tuple[Way, ...]]] = {
    "pinned": {"hw:cpu_policy": _PINNED},
    "pinned-realtime": {
        "hw:cpu_policy": _PINNED,
        "hw:cpu_realtime": (Way("yes", "vCPUs run with realtime priority, memory is locked"),),
    },
    "mixed": {"hw:cpu_policy": (Way("mixed", "some vCPUs are pinned, the others float"),)},
    "numa": {},
}
_CELLS = (
    "the guest stays within one host cell",
    "each of the guest's cells has a host cell to itself",
)
_OF_THIS_SIZE = "memory in pages of this size"
_PAGES = {
    "large": "memory in huge pages, which each host that takes it has",
    "small": "small pages are counted, and huge ones kept for others",
    "any": "the largest pages that are free",
    "": "pages of the host's choice",
}
_THREADS = {
    "": "Nova's default, prefer, suits hosts with and without SMT",
    "prefer": "thread siblings where there are any",
    "require": "thread siblings, so that no other guest is on the same core",
    "isolate": "whole cores, so hosts without SMT",
}
_EMULATOR = {
    "share": "emulator threads run on cpu_shared_set, which each host that takes it has",
    "isolate": "one host CPU more runs the emulator threads",
    "": "emulator threads run on the guest's own CPUs",
}
