# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One nova-compute and the servers on it: its start, its updates, guests that come and go.

Three parties keep books of a host, and they part once an update fails: nova-compute itself
(``HostView.books``), the record that the scheduler reads (``cells``), Placement (``provider``).

Source throughout: ``nova/compute/resource_tracker.py``, ``_update_available_resource``,
``_update``; ``nova/compute/manager.py``, ``init_host``.
"""

from __future__ import annotations

import dataclasses
import typing as t

from . import inventory, startup, usage
from .candidates import Provider
from .errors import NovaError, crash
from .schedule import HostView, view

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .._model.host import Host
    from .._model.host_cell import HostCell
    from .inventory import Inventory
    from .releases import Release
    from .resident import Leaving, Resident

Amounts = t.Mapping[str, int]

CPU_CLASSES = ("VCPU", "PCPU")

FATAL = ("ReshapeFailed", "PlacementPciException")
"""What nova-compute dies of when its first update fails with it; others are only logged."""


class Start(t.NamedTuple):
    """What becomes of a start, or of a later update, of nova-compute."""

    seen: HostView
    """The host thereafter; after a refused start still as the others knew it before."""
    refusal: NovaError | None = None
    """What nova-compute dies of."""
    failure: NovaError | None = None
    """What its update fails with, again and again, while the service runs on."""
    moved: Mapping[str, Amounts] = {}
    """Allocations that the reshape rewrote: consumer to amounts by resource class."""
    failed_at: str = ""
    """The server whose pins the update fails at."""

    @property
    def clean(self) -> bool:
        """Whether it runs and everybody's books hold."""
        return self.refusal is None and self.failure is None


def start(
    host: Host,
    residents: Sequence[Resident],
    before: HostView | None = None,
    leaving: Sequence[Leaving] = (),
    fresh: HostView | None = None,
) -> Start:
    """Start nova-compute with the options of ``host`` and the servers on it.

    ``before`` is how everybody knew the host until now; None for a new one. What consumers that
    are no servers hold there is in its provider. ``leaving`` are servers whose move away waits to
    be confirmed: they still count, but the options are not held against them. ``fresh`` is the
    view of the empty host, where it is known already.

    Raises ``InputError`` for a release that is not known.
    """
    fresh = fresh or view(dataclasses.replace(host, usage=(), allocated={}))
    try:
        inventory.reserved_pages(host.config)
        startup.check(host.config, fresh.release)
        check_residents(host, residents, fresh.release)
    except NovaError as refusal:
        return Start(dataclasses.replace(before or fresh, fault=refusal), refusal)
    return _updated(fresh, residents, before, leaving, at_start=True)


def update(seen: HostView, residents: Sequence[Resident], leaving: Sequence[Leaving] = ()) -> Start:
    """Run the periodic update of a host that runs."""
    fresh = view(dataclasses.replace(seen.host, usage=(), allocated={}))
    return _updated(fresh, residents, seen, leaving, at_start=False)


def established(fresh: HostView, residents: Sequence[Resident], strangers: Amounts) -> HostView:
    """Give a host that has run for a while: what it reports, what its servers hold.

    ``fresh`` is the empty host, ``strangers`` are the amounts that other consumers hold. Servers
    from the first on whose pins its options do not have, or that are held twice, are left out of
    the books, as they are where an update failed on them.
    """
    if fresh.provider is None:
        return fresh
    books, _failure, _at = _replayed(fresh.cells, residents, fresh.release)
    used = dict(strangers)
    for each in residents:
        used = _sum(used, each.allocation)
    provider = dataclasses.replace(fresh.provider, used=used)
    return dataclasses.replace(fresh, cells=books, books=books, provider=provider)


def misfits(fresh: HostView, before: HostView, residents: Sequence[Resident]) -> list[Resident]:
    """List the servers that keep nova-compute from starting clean; those that come first stay.

    ``fresh`` is the empty host with its new options, ``before`` the host as it runs now.
    """
    old = before.provider or Provider(fresh.host.name, {})
    offered = fresh.provider.inventories if fresh.provider else {}
    due = _reshape_due(dataclasses.replace(fresh, cells=before.cells), old)
    moved = reshaped(residents) if due else {}
    cells, found = fresh.cells, []
    used: Amounts = {}
    for each in residents:
        mine = moved.get(each.consumer, each.allocation)
        amounts = _sum(used, mine)
        try:
            check_residents(fresh.host, (each,), fresh.release)
            after = cells
            if cells is not None and each.holder is not None:
                after = usage.take(cells, each.holder, fresh.release)
            if any(mine.get(name) and name not in offered for name in CPU_CLASSES):
                raise NovaError("PlacementPciException", "a class that it holds is gone")
            if due and _overfull(offered, amounts, (each,), moved):
                raise NovaError("ReshapeFailed", "there is too little for it")
        except NovaError:
            found.append(each)
        else:
            cells, used = after, amounts
    return found


def enter(seen: HostView, resident: Resident) -> Start:
    """Let a server in that Placement has an allocation of already.

    Where the claim's own update fails, the build fails with it, and what it claimed stays in the
    books of nova-compute. Before the first update that reaches Placement there is nothing that the
    allocation could be looked up in, and the claim fails over that.

    Source: also ``_claim_resources``.
    """
    if seen.unreported:
        text = "no update has reached Placement since nova-compute started"
        return Start(seen, crash("AttributeError", text))
    return _noted(seen, resident, usage.take)


def leave(seen: HostView, resident: Resident) -> Start:
    """Let a server go, with its allocation."""
    return _noted(allocated(seen, resident.allocation, -1), resident, usage.give_back)


def _noted(
    seen: HostView, resident: Resident, change: Callable[..., tuple[HostCell, ...]]
) -> Start:
    try:
        if seen.books is not None and resident.holder is not None:
            books = change(seen.books, resident.holder, seen.release)
            seen = dataclasses.replace(seen, books=books)
        return _reported(seen, (), at_start=False)
    except NovaError as error:
        return Start(seen, error)


def allocated(seen: HostView, amounts: Amounts, sign: int = 1) -> HostView:
    """Enter an allocation in Placement's books of the host, or strike it."""
    if seen.provider is None:
        return seen
    used = _sum(seen.provider.used, amounts, sign)
    return dataclasses.replace(seen, provider=dataclasses.replace(seen.provider, used=used))


def check_residents(host: Host, residents: Sequence[Resident], release: Release) -> None:
    """Hold the options against the servers on the host, as nova-compute does when it starts.

    Raises ``InvalidConfiguration``. Pins outside the sets only give a warning there.

    Source: ``_validate_pinning_configuration`` (compute manager, from 34 on libvirt driver).
    """
    config = host.config
    if not release.dedicated_set:
        return
    for each in residents:
        if not each.pinned:
            if config.cpu_dedicated_set and not config.cpu_shared_set:
                raise _conflict(each, "floats", "there is cpu_dedicated_set but no cpu_shared_set")
            continue
        if config.cpu_shared_set and not config.cpu_dedicated_set and not config.vcpu_pin_set:
            raise _conflict(each, "is pinned", "there is cpu_shared_set but no cpu_dedicated_set")
        if "mixed" in each.policies:
            for name in ("cpu_shared_set", "cpu_dedicated_set"):
                if not getattr(config, name):
                    raise _conflict(each, "has policy mixed", f"{name} is not set")


def _conflict(resident: Resident, what: str, why: str) -> NovaError:
    return NovaError("InvalidConfiguration", f"server {resident.consumer} {what}, but {why}")


def _updated(
    fresh: HostView,
    residents: Sequence[Resident],
    before: HostView | None,
    leaving: Sequence[Leaving],
    *,
    at_start: bool,
) -> Start:
    """Count the usage anew, report it, save the record.

    Until it is saved, scheduler and Placement go by what they knew before.
    """
    known = before if before and before.provider else None
    unreported = at_start or before is None or before.unreported
    fresh = dataclasses.replace(fresh, unreported=unreported)
    if fresh.fault:
        stale = _stale(fresh, known)
        books = known.books if known and not at_start else None
        return Start(dataclasses.replace(stale, books=books), None, fresh.fault)
    charged = (*residents, *(each.old for each in leaving))
    books, failure, failed_at = _replayed(fresh.cells, charged, fresh.release)
    running = _stale(dataclasses.replace(fresh, books=books), known)
    if failure:
        return Start(running, None, failure, {}, failed_at)
    try:
        return _reported(running, residents, leaving, at_start=at_start)
    except NovaError as error:
        if at_start and error.name in FATAL:
            return Start(dataclasses.replace(known or fresh, fault=error), error)
        if error.name != "ResourceProviderSyncFailed":
            return Start(running, None, error)
        if known is None:
            running = dataclasses.replace(
                running, cells=books, provider=Provider(fresh.host.name, {})
            )
        return Start(dataclasses.replace(running, unreported=False), None, error)


def _stale(running: HostView, known: HostView | None) -> HostView:
    """Give a running host with the record and the provider that are known of it."""
    if known is None:
        return dataclasses.replace(running, cells=None, provider=None)
    return dataclasses.replace(running, fault=None, cells=known.cells, provider=known.provider)


def _replayed(
    cells: tuple[HostCell, ...] | None, residents: Sequence[Resident], release: Release
) -> tuple[tuple[HostCell, ...] | None, NovaError | None, str]:
    """Enter every server in empty books, up to the first that cannot be; tells of that."""
    for each in residents:
        if cells is None or each.holder is None:
            continue
        try:
            cells = usage.take(cells, each.holder, release)
        except NovaError as failure:
            return cells, failure, each.consumer
    return cells, None, ""


def _reported(
    seen: HostView,
    residents: Sequence[Resident],
    leaving: Sequence[Leaving] = (),
    *,
    at_start: bool,
) -> Start:
    """Report the inventory, reshaped where that is due, and save the record.

    Raises ``ReshapeNeeded`` where it is not the start, ``ReshapeFailed``,
    ``ResourceProviderSyncFailed`` for more reserved than there is, or (from 26 on)
    ``PlacementPciException`` for a class that is allocated and no longer there; before, the old
    inventory stays and everything else goes on.
    """
    old = seen.provider or Provider(seen.host.name, {})
    offered = _offered(seen, old)
    moved: dict[str, Amounts] = {}
    used: Amounts = old.used
    due = _reshape_due(seen, old)
    if due:
        if not at_start:
            raise NovaError("ReshapeNeeded", "allocations wait for a restart to move to PCPU")
        moved = reshaped(residents, leaving)
        held = [*residents, *(each.old for each in leaving)]
        for each in held:
            if each.consumer in moved:
                used = _sum(_sum(used, each.allocation, -1), moved[each.consumer])
        problem = _in_use(offered, used) or _overfull(offered, used, held, moved)
        if problem:
            raise NovaError("ReshapeFailed", problem)
    vcpus = offered.get("VCPU")
    if vcpus and vcpus.reserved > vcpus.total:
        text = f"{vcpus.reserved} VCPU are reserved, but there are {vcpus.total}"
        raise NovaError("ResourceProviderSyncFailed", text)
    problem = _in_use(offered, used)
    if problem and seen.release.dies_of_inventory_in_use:
        raise NovaError("PlacementPciException", problem)
    provider = Provider(
        seen.host.name,
        old.inventories if problem else offered,
        used,
        inventory.traits(seen.host, seen.release),
        seen.host.aggregates,
    )
    failure = NovaError("ResourceProviderSyncFailed", problem) if problem else None
    saved = dataclasses.replace(seen, cells=seen.books, provider=provider, unreported=False)
    return Start(saved, None, failure, moved)


def _offered(seen: HostView, old: Provider) -> dict[str, Inventory]:
    """List the inventory that the driver reports: a ratio once there stays unless it is set.

    Source: ``nova/virt/libvirt/driver.py``, ``_get_allocation_ratios``.
    """
    config = seen.host.config
    offered = inventory.inventories(seen.host, seen.release)
    for name, ratio in (
        ("VCPU", config.cpu_allocation_ratio),
        ("MEMORY_MB", config.ram_allocation_ratio),
    ):
        if name in offered and name in old.inventories and not ratio:
            kept = old.inventories[name].ratio
            offered[name] = dataclasses.replace(offered[name], ratio=kept)
    return offered


def _reshape_due(seen: HostView, old: Provider) -> bool:
    """Say whether allocations are to move from VCPU to PCPU.

    Source: ``nova/virt/libvirt/driver.py``, ``_update_provider_tree_for_pcpu``.
    """
    return bool(
        seen.release.dedicated_set
        and seen.host.config.cpu_dedicated_set
        and "PCPU" not in old.inventories
        and any(cell.pinned_cpus for cell in seen.cells or ())
    )


def reshaped(residents: Sequence[Resident], leaving: Sequence[Leaving] = ()) -> dict[str, Amounts]:
    """Rewrite the allocations that the reshape moves: amounts stay, however wrong they are.

    Of a server that is leaving, Nova looks at what it is on its new host.

    Source: ``nova/virt/libvirt/driver.py``, ``_update_provider_tree_for_pcpu``.
    """
    moved: dict[str, Amounts] = {}
    pairs = [(each, each) for each in residents]
    pairs += [(each.old, each.now or each.old) for each in leaving]
    for holder, judged in pairs:
        held = holder.allocation
        if "dedicated" in judged.policies and "VCPU" in held and "PCPU" not in held:
            kept = {name: amount for name, amount in held.items() if name != "VCPU"}
            moved[holder.consumer] = {**kept, "PCPU": held["VCPU"]}
    return moved


def _in_use(offered: Mapping[str, Inventory], used: Amounts) -> str:
    """Say which class Placement would not give up; "" for none. It has every class that is
    allocated, whatever the options of today say."""
    for name in CPU_CLASSES:
        if used.get(name) and name not in offered:
            return f"{name} leaves the inventory, but {used[name]} are allocated"
    return ""


def _overfull(
    offered: Mapping[str, Inventory],
    used: Amounts,
    residents: Sequence[Resident],
    moved: Mapping[str, Amounts],
) -> str:
    """Say what Placement would not take in a reshape, in which it checks every allocation anew;
    "" for nothing."""
    for name, found in offered.items():
        if name not in CPU_CLASSES:
            continue
        if used.get(name, 0) > (found.total - found.reserved) * found.ratio:
            return f"{used[name]} {name} are allocated, but there are {found.total}"
        for each in residents:
            amount = moved.get(each.consumer, each.allocation).get(name, 0)
            if amount > found.max_unit:
                return f"{each.consumer} holds {amount} {name}, but there are {found.total}"
    return ""


def _sum(held: Amounts, amounts: Amounts, sign: int = 1) -> dict[str, int]:
    found = dict(held)
    for name, amount in amounts.items():
        found[name] = max(0, found.get(name, 0) + sign * amount)
    return {name: amount for name, amount in found.items() if amount}
