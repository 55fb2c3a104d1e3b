# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A boot request before one host: API, both queries, filter, claim.

Source throughout: ``nova/scheduler/manager.py``, ``select_destinations``;
``nova/scheduler/filters/numa_topology_filter.py``; ``nova/compute/claims.py``.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from .._model.host import Scheduler
from . import (
    candidates,
    constraints,
    guest_xml,
    image_properties,
    inventory,
    request,
    startup,
    usage,
)
from .candidates import ANYWHERE, BadQuery, Provider, Scope
from .errors import NovaError
from .fit import Limits, fit
from .image_properties import HYPERTHREADING
from .outcome import Outcome
from .releases import NEWEST
from .releases import release as release_of
from .request import Group, Request

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._model.flavor import Flavor, Image
    from .._model.guest import Guest
    from .._model.host import Host
    from .._model.host_cell import HostCell
    from .fit import Fitted
    from .inventory import CpuSets
    from .outcome import Query, Stage
    from .releases import Release

JUDGED = ("VCPU", "PCPU", "MEMORY_MB")
"""The resource classes that a host's facts tell the inventory of; others are taken for granted."""

NEWEST_SCHEDULER = Scheduler(f"{NEWEST}.0.0")
"""A control plane of the newest release, with Nova's defaults and the NUMA filter."""

ENABLED = Scope(root_forbidden=frozenset(("COMPUTE_STATUS_DISABLED",)))
"""What every request asks of a provider.

Source: ``nova/scheduler/request_filter.py``, ``compute_status_filter``."""

MIXED_SERVICE_VERSION, OWNER_SERVICE_VERSION = 52, 73


@dataclasses.dataclass(frozen=True, slots=True)
class HostView:
    """A host with everything that follows from it alone; made once for many requests."""

    host: Host
    release: Release
    fault: NovaError | None = None
    """What nova-compute fails with, at its start or when it reports its resources."""
    sets: CpuSets | None = None
    cells: tuple[HostCell, ...] | None = None
    """Its NUMA cells as the scheduler knows them."""
    books: tuple[HostCell, ...] | None = None
    """The same as its nova-compute knows them: equal, unless an update failed."""
    provider: Provider | None = None
    limits: Limits = dataclasses.field(default_factory=Limits)
    unreported: bool = False
    """No update of its nova-compute got as far as Placement since it started: until one does, no
    claim succeeds there."""

    @property
    def known_traits(self) -> bool:
        """Whether anybody told the host's traits beyond those that follow from its CPUs."""
        return bool(self.host.traits)


def view(host: Host) -> HostView:
    """Work out what a host reports, or why it reports nothing.

    Raises ``InputError`` for a release that is not known.
    """
    release = release_of(host.release, host=True)
    try:
        startup.check(host.config, release)
        sets = inventory.cpu_sets(host.config, host.topology, release)
        cells = inventory.host_cells(host, release)
        inventories = inventory.inventories(host, release)
    except NovaError as error:
        return HostView(host, release, fault=error)
    provider = Provider(
        host.name,
        inventories,
        host.allocated,
        inventory.traits(host, release),
        host.aggregates,
    )
    limits = Limits(*inventory.ratios(host.config, release))
    return HostView(host, release, None, sets, cells, cells, provider, limits)


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """A boot request with everything that follows from flavor, image and scheduler alone."""

    flavor: Flavor
    image: Image
    refusal: NovaError | None = None
    """What the API answers, if it refuses."""
    guest: Guest | None = None
    primary: Request | None = None
    fallback: Request | None = None
    bad_query: str = ""
    """Why Placement answers a query with 400."""
    scope: Scope = ANYWHERE
    """What the request filters add to both queries."""

    @property
    def queries(self) -> Iterator[tuple[Query, Request]]:
        """The queries that are sent, in order."""
        if self.primary:
            yield "primary", self.primary
        if self.fallback:
            yield "fallback", self.fallback


def ask(
    flavor: Flavor,
    image: Image,
    scheduler: Scheduler,
    *,
    oldest: int | None = None,
    scope: Scope = ENABLED,
) -> Asked:
    """Put a boot request to the API and build its queries.

    ``oldest`` is the lowest service version of all computes, which some features wait for; None
    where that is not to be judged.

    Source: also ``nova/scheduler/request_filter.py``, ``owner_nova_filter``.
    """
    release = release_of(scheduler.release)
    if release.owner_trait and oldest is not None and oldest >= OWNER_SERVICE_VERSION:
        owned = scope.root_required | {inventory.OWNER}
        scope = dataclasses.replace(scope, root_required=owned)
    try:
        constraints.check_api(flavor, image, release)
        _gate(flavor, image, release, oldest)
        guest = constraints.guest(flavor, image, release)
        primary, fallback = request.queries(flavor, image, scheduler)
    except NovaError as error:
        return Asked(flavor, image, refusal=error)
    bad = ""
    for query in (fallback, primary):
        try:
            if query is not None:
                candidates.check(query)
        except BadQuery as error:
            bad = str(error)
    return Asked(flavor, image, None, guest, primary, fallback, bad, scope)


def _gate(flavor: Flavor, image: Image, release: Release, oldest: int | None) -> None:
    """Refuse what not every compute knows yet.

    Source: ``nova/compute/api.py``, ``_check_compute_service_for_mixed_instance``.
    """
    if oldest is None or oldest >= MIXED_SERVICE_VERSION or not release.mixed_policy:
        return
    properties = image_properties.read(image, release)
    if constraints.cpu_policy(flavor, properties, release) == "mixed":
        raise NovaError(
            "MixedInstanceNotSupportByComputeService",
            "policy mixed waits until every compute is Victoria or newer",
        )


def decide(flavor: Flavor, image: Image, host: Host, scheduler: Scheduler) -> Outcome:
    """Decide what becomes of a boot request that finds one host alone.

    Raises ``InputError`` for a release that is not known.
    """
    return settle(ask(flavor, image, scheduler), view(host), scheduler)


def settle(asked: Asked, seen: HostView, scheduler: Scheduler) -> Outcome:
    """Decide what becomes of a request on a host.

    The guest takes the allocation of the first query that brings the host: the primary's, if both
    do. Classes other than :data:`JUDGED` are taken for granted, and so are traits where the host's
    are not known.
    """
    if asked.refusal:
        return _refused("api", asked.refusal.text, asked.refusal.name)
    if seen.fault or seen.provider is None:
        fault = seen.fault or NovaError("Invalid", "reports nothing")
        return _refused("startup", fault.text, fault.name)
    query, reason = _placed(asked, seen, seen.provider)
    if query is None:
        return _refused("placement", reason)
    return settle_from(query, asked, seen, scheduler)


def settle_from(query: Query, asked: Asked, seen: HostView, scheduler: Scheduler) -> Outcome:
    """Decide what becomes of a request on a host that a query has brought."""
    if seen.fault:
        return _refused("startup", seen.fault.text, seen.fault.name)
    if asked.guest and scheduler.numa_topology_filter:
        refusal = _filtered(asked, seen, scheduler, asked.guest)
        if refusal:
            return refusal
    if seen.unreported and seen.books is None:
        text = "its nova-compute could not read the host since it started"
        return _refused("startup", text, "ComputeResourcesUnavailable")
    if asked.guest is None:
        return _built(query, asked, seen, None)
    return _claimed(query, asked, seen, scheduler, asked.guest)


def _refused(stage: Stage, reason: str, error: str = "") -> Outcome:
    return Outcome(stage=stage, reason=reason, error=error)


def _placed(asked: Asked, seen: HostView, provider: Provider) -> tuple[Query | None, str]:
    """Find the query that brings the host, or say why none does."""
    if asked.bad_query:
        return None, f"Placement answers 400: {asked.bad_query}"
    reasons = []
    for name, query in asked.queries:
        reason = unlisted(query, asked, seen, provider)
        if reason is None:
            return name, ""
        reasons.append(f"{name} query: host {reason}")
    return None, "; ".join(reasons)


def unlisted(query: Request, asked: Asked, seen: HostView, provider: Provider) -> str | None:
    """Say why a query does not list a host as a candidate; None where it does."""
    return candidates.refusal(provider, _judged(query, seen.known_traits), asked.scope)


def _judged(query: Request, known_traits: bool) -> Request:
    """Keep of a query what the host's facts can answer."""

    def traits(names: frozenset[str]) -> frozenset[str]:
        return names if known_traits else names & {HYPERTHREADING}

    return dataclasses.replace(
        query,
        groups=tuple(
            Group(
                group.suffix,
                {name: group.resources[name] for name in JUDGED if name in group.resources},
                traits(group.required),
                traits(group.forbidden),
            )
            for group in query.groups
        ),
    )


def _filtered(asked: Asked, seen: HostView, scheduler: Scheduler, guest: Guest) -> Outcome | None:
    """Hold the host against NUMATopologyFilter; None where it passes."""
    release = release_of(scheduler.release)
    if breaks_filter(seen, release):
        return _refused(
            "filter",
            "NUMATopologyFilter crashes on the record of a compute from before Train",
            "NotImplementedError",
        )
    if seen.cells is None:
        return _refused("filter", "the host has no NUMA topology")
    if _wants_siblings(asked) and not any(
        len(core) > 1 for cell in seen.cells for core in cell.siblings
    ):
        return _refused("filter", "thread policy require, and no core has two usable threads")
    try:
        fitted = fit(seen.cells, guest, release, seen.limits)
    except NovaError as error:
        return _refused("filter", error.text, error.name)
    return None if fitted else _refused("filter", misfit(seen.cells, guest, release))


def breaks_filter(seen: HostView, release: Release) -> bool:
    """Say whether a scheduler's filter crashes on a host's record, and with it every request that
    the host is a candidate of."""
    return not seen.release.dedicated_set and release.needs_pcpuset


def _wants_siblings(asked: Asked) -> bool:
    """Read the policies as the filter does: the texts of flavor and image, unsettled."""
    specs, properties = asked.flavor.extra_specs, asked.image.properties
    policies = (specs.get("hw:cpu_policy"), properties.get("hw_cpu_policy"))
    threads = (specs.get("hw:cpu_thread_policy"), properties.get("hw_cpu_thread_policy"))
    return "dedicated" in policies and "require" in threads


def _claimed(
    query: Query, asked: Asked, seen: HostView, scheduler: Scheduler, guest: Guest
) -> Outcome:
    """Claim the host's CPUs, as its nova-compute does with its own release and options."""
    if seen.books is None:
        return _booted(query, asked, None)
    limits = seen.limits if scheduler.numa_topology_filter else None
    packs = seen.host.config.packing_host_numa_cells_allocation_strategy
    try:
        fitted = fit(seen.books, guest, seen.release, limits, packs)
        if fitted is None:
            return _refused(
                "claim", misfit(seen.books, guest, seen.release), "ComputeResourcesUnavailable"
            )
        usage.check(seen.books, fitted, seen.release)
    except NovaError as error:
        return _refused("claim", error.text, error.name)
    return _built(query, asked, seen, fitted)


def _built(query: Query, asked: Asked, seen: HostView, fitted: Fitted | None) -> Outcome:
    """Build a guest that has claimed its place."""
    seats = fitted.cells if fitted else ()
    problem = unbuildable(asked.guest, asked.flavor, asked.image, seen, seats)
    if problem:
        return _refused("driver", problem.text, problem.name)
    return _booted(query, asked, fitted)


def unbuildable(
    guest: Guest | None, flavor: Flavor, image: Image, seen: HostView, seats: Sequence[int]
) -> NovaError | None:
    """Say what the driver fails with when it builds the guest, or libvirt when it defines it.

    ``seats`` are the ids of the host cells that the guest's cells are on, as far as known.
    Computes from before Train are not judged: their sets were not read at start either.
    """
    if not seen.release.dedicated_set:
        return None
    try:
        properties = image_properties.read(image, seen.release)
        guest_xml.check(flavor, properties, guest, seen.host, seen.release)
        refusal = guest_xml.refused_by_libvirt(flavor, properties, guest, seen.host, seen.release)
        refusal = refusal or guest_xml.floating_nowhere(guest, seats, seen.cells)
    except NovaError as error:
        return error
    return NovaError("libvirtError", refusal) if refusal else None


def _booted(query: Query, asked: Asked, fitted: Fitted | None) -> Outcome:
    request_ = asked.primary if query == "primary" else asked.fallback
    return Outcome(query=query, fitted=fitted, allocation=request_.resources if request_ else {})


def misfit(cells: tuple[HostCell, ...], guest: Guest, release: Release) -> str:
    """Say in a few words why a guest that was refused does not fit."""
    if len(guest.cells) > len(cells):
        return f"{len(guest.cells)} guest cells, the host has {len(cells)}"
    reserve = guest.emulator_threads_policy == "isolate"
    index, cell = max(enumerate(guest.cells), key=lambda row: row[1].pinned_count)
    extra = int(reserve and cell.pinned and index == 0)
    need = cell.pinned_count + extra
    checks: tuple[tuple[bool, str], ...] = (
        (
            need > max(host.dedicated_count for host in cells),
            f"needs {need} dedicated CPUs in one cell, the largest has "
            f"{max(host.dedicated_count for host in cells)}",
        ),
        (
            need > max(host.free_count for host in cells),
            f"needs {need} free dedicated CPUs in one cell, "
            f"{max(host.free_count for host in cells)} at most are free",
        ),
        (
            cell.floating_count > max(host.shared_count for host in cells),
            f"needs {cell.floating_count} shared CPUs in one cell, the largest has "
            f"{max(host.shared_count for host in cells)}",
        ),
    )
    for failed, text in checks:
        if failed:
            return text
    return _misfit_of_threads(cells, guest, cell, need, release)


def _misfit_of_threads(
    cells: tuple[HostCell, ...], guest: Guest, cell: t.Any, need: int, release: Release
) -> str:
    plain = dataclasses.replace(
        guest,
        cells=tuple(dataclasses.replace(each, cpu_thread_policy=None) for each in guest.cells),
    )
    if cell.cpu_thread_policy in ("isolate", "require") and fit(cells, plain, release):
        if cell.cpu_thread_policy == "require":
            return f"require: no cell has {need} threads free in whole cores"
        if any(host.threads > 1 and host.pcpuset != host.cpuset for host in cells):
            return "isolate: the host has SMT and separate dedicated CPUs"
        return f"isolate: no cell has {need} whole cores free"
    bare = dataclasses.replace(
        guest,
        cells=tuple(
            dataclasses.replace(each, memory_mb=0, page_size_kb=None) for each in guest.cells
        ),
    )
    if fit(cells, bare, release):
        size_kb = cell.page_size_kb
        pages = f" in pages of {_page_text(size_kb)}" if size_kb else ""
        return f"no cell has {cell.memory_mb} MiB{pages} for it"
    return "no cell takes it"


@functools.cache
def _page_text(size_kb: int) -> str:
    words = {constraints.SMALL: "small", constraints.LARGE: "large", constraints.ANY: "any"}
    return f"{words[size_kb]} size" if size_kb in words else f"{size_kb} KiB"
