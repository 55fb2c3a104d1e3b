# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole cloud, step by step: hosts that start, servers that boot, move and go.

Which of the hosts that take a server gets it is the caller's word: that is the weighers' choice.
"""

from __future__ import annotations

import dataclasses
import typing as t

from . import compute
from .errors import NovaError
from .releases import release as release_of
from .resident import Leaving, Resident, resident
from .schedule import ENABLED, ask, view
from .selection import Selection, find, select

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from .._model.flavor import Flavor, Image
    from .._model.host import Host, Scheduler
    from .._model.server import Allocation, Server
    from .candidates import Scope
    from .compute import Start
    from .outcome import Outcome
    from .schedule import Asked, HostView


NUMA_LIVE_SERVICE_VERSION = 40


class Cloud:
    """The state of a cloud; the methods change it, the values in it do not change."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.hosts: dict[str, HostView] = {}
        self.residents: dict[str, dict[str, Resident]] = {}
        """Servers by host and consumer, in the order in which they came."""
        self.leaving: dict[str, Leaving] = {}
        """By consumer: servers whose move waits to be confirmed."""
        self.tracked: dict[str, frozenset[str]] = {}
        """By host: the servers that nova-compute knows for its own. Those that came by a move are
        known as moves there until the next update."""
        self._arrivals: dict[str, int] = {}
        self._empty: dict[t.Any, HostView] = {}

    @property
    def oldest(self) -> int | None:
        """The lowest service version of all computes; None where there is none."""
        return min((seen.release.service_version for seen in self.hosts.values()), default=None)

    def empty(self, host: Host) -> HostView:
        """Give a host as it is with no guest; what equal hosts share is worked out once."""
        # The view that is kept holds the parts that the key goes by.
        parts = id(host.topology), id(host.config), host.release, host.traits, host.aggregates
        if parts not in self._empty:
            self._empty[parts] = view(dataclasses.replace(host, usage=(), allocated={}))
        kept = self._empty[parts]
        named = dataclasses.replace(host, usage=(), allocated={})
        provider = kept.provider and dataclasses.replace(kept.provider, name=host.name)
        return dataclasses.replace(kept, host=named, provider=provider)

    def settle_in(
        self, host: Host, servers: Iterable[Server], strangers: Iterable[Allocation] = ()
    ) -> None:
        """Put a host with its servers in the cloud as it has run for a while.

        A server of unknown allocation is taken to hold what it would get there today.
        """
        release = release_of(host.release, host=True)
        fresh = self.empty(host)
        found = [self._accounted(resident(server, release), fresh, server) for server in servers]
        used: dict[str, int] = {}
        for other in strangers:
            for name, amount in other.resources.items():
                used[name] = used.get(name, 0) + amount
        self.hosts[host.name] = compute.established(fresh, found, used)
        self.residents[host.name] = {each.consumer: each for each in found}
        self.tracked[host.name] = frozenset(each.consumer for each in found)
        for each in found:
            self._arrivals[each.consumer] = len(self._arrivals)

    def _accounted(self, here: Resident, seen: HostView, server: Server) -> Resident:
        if server.allocation is not None or seen.provider is None:
            return here
        asked = ask(server.flavor, server.image, self.scheduler)
        for _name, query in asked.queries:
            wanted = query.resources.keys() & {"VCPU", "PCPU"}
            if wanted <= seen.provider.inventories.keys():
                return dataclasses.replace(here, allocation=query.resources)
        return here

    def start(self, host: Host) -> Start:
        """Start the nova-compute of a host, be it new, with new options or of a new release."""
        here = dict(self.residents.get(host.name, {}))
        before, leaving = self.hosts.get(host.name), self._leaving(host.name)
        result = compute.start(host, tuple(here.values()), before, leaving, self.empty(host))
        for consumer, amounts in result.moved.items():
            if consumer in here:
                here[consumer] = dataclasses.replace(here[consumer], allocation=amounts)
            else:
                one = self.leaving[consumer]
                old = dataclasses.replace(one.old, allocation=amounts)
                self.leaving[consumer] = one._replace(old=old)
        self.residents[host.name] = here
        self._noted(host.name, result)
        return result

    def update(self, name: str) -> Start:
        """Run the periodic update of a host."""
        here = tuple(self.residents[name].values())
        result = compute.update(self.hosts[name], here, self._leaving(name))
        self._noted(name, result)
        return result

    def _noted(self, name: str, result: Start) -> None:
        """Keep what a start or an update came to, and the servers that it has come to know."""
        self.hosts[name] = result.seen
        if result.refusal or result.seen.books is None:
            return
        known = list(self.residents[name])
        if result.failed_at in known:
            known = known[: known.index(result.failed_at) + 1]
        self.tracked[name] = frozenset(known)

    def _leaving(self, name: str) -> tuple[Leaving, ...]:
        """List the servers that a host keeps books of until their move is confirmed."""
        return tuple(each for each in self.leaving.values() if each.host == name)

    def ask(self, flavor: Flavor, image: Image, scope: Scope = ENABLED) -> Asked:
        """Put a boot request to the API."""
        return ask(flavor, image, self.scheduler, oldest=self.oldest, scope=scope)

    def select(self, asked: Asked, among: Iterable[str] | None = None) -> Selection:
        """Decide what becomes of a request on every host, or on those named."""
        names = self.hosts if among is None else among
        found = find(asked, (self.hosts[name] for name in names))
        return select(asked, found, self.hosts, self.scheduler)

    def place(self, consumer: str, asked: Asked, name: str, outcome: Outcome) -> Start:
        """Let a server in on the host that it was given, with its allocation.

        ``outcome`` is that of the host in the selection. A build that fails leaves no allocation.
        """
        new = Resident(
            consumer, asked.flavor, asked.image, asked.guest, outcome.fitted, outcome.allocation
        )
        if consumer in self.leaving:
            new = dataclasses.replace(new, status=self.leaving[consumer].old.status)
        seen = compute.allocated(self.hosts[name], outcome.allocation)
        result = compute.enter(seen, new)
        if result.refusal:
            self.hosts[name] = compute.allocated(result.seen, outcome.allocation, -1)
            return result
        self.hosts[name] = result.seen
        self._keep(name, new)
        if consumer in self.leaving:
            self.leaving[consumer] = self.leaving[consumer]._replace(now=new)
        else:
            self.tracked[name] = self.tracked.get(name, frozenset()) | {consumer}
        return result

    def remove(self, consumer: str, name: str) -> Start:
        """Delete a server.

        Of one that its nova-compute does not know for its own, only the allocation goes; one whose
        pins cannot be given back stays, allocation and all.

        Source: ``nova/compute/manager.py``, ``_complete_deletion``;
        ``nova/compute/resource_tracker.py``, ``_update_usage_from_instance``.
        """
        gone = self.residents[name][consumer]
        if consumer in self.tracked.get(name, ()):
            result = compute.leave(self.hosts[name], gone)
            self._untrack(name, consumer)
            if result.refusal:
                return result
        else:
            result = compute.Start(compute.allocated(self.hosts[name], gone.allocation, -1))
        self._drop(name, consumer)
        self.hosts[name] = result.seen
        return result

    def _untrack(self, name: str, consumer: str) -> None:
        self.tracked[name] = self.tracked.get(name, frozenset()) - {consumer}

    def live_refusal(self, here: Resident) -> NovaError | None:
        """Say what a live migration of a server fails with before any host is looked for.

        Source: ``nova/conductor/tasks/live_migrate.py``, ``_check_instance_has_no_numa``.
        """
        if here.guest is None or (self.oldest or 0) >= NUMA_LIVE_SERVICE_VERSION:
            return None
        return NovaError(
            "MigrationPreCheckError",
            "the server has a NUMA topology, and not every compute is Train or newer",
        )

    def depart(self, consumer: str, name: str) -> NovaError | None:
        """Begin to move a server off a host: that keeps its books until the move is confirmed.

        The migration takes over the allocation first. Where Placement does not give it that, since
        the host has less by now, nothing is begun, and the error is returned.

        Source: ``nova/conductor/tasks/migrate.py``, ``replace_allocation_with_migration``.
        """
        here, provider = self.residents[name][consumer], self.hosts[name].provider
        for each in compute.CPU_CLASSES:
            amount = here.allocation.get(each, 0)
            if not amount or provider is None:
                continue
            others = provider.used.get(each, 0) - amount
            found = provider.inventories.get(each)
            if found is None or not found.takes(amount, others):
                return NovaError("NoValidHost", f"its migration cannot take over {each} {amount}")
        self.leaving[consumer] = Leaving(name, self._drop(name, consumer))
        return None

    def stay(self, consumer: str) -> None:
        """End a move that found no host: the server is where it was."""
        back = self.leaving.pop(consumer)
        self._keep(back.host, back.old)

    def confirm(self, consumer: str) -> Start:
        """Confirm a move: the host that the server left forgets it."""
        left = self.leaving.pop(consumer)
        result = compute.leave(self.hosts[left.host], left.old)
        self._untrack(left.host, consumer)
        self.hosts[left.host] = result.seen
        return result

    def revert(self, consumer: str, name: str) -> str:
        """Revert a move to host ``name``; returns the host that the server is back on."""
        result = compute.leave(self.hosts[name], self._drop(name, consumer))
        self.hosts[name] = result.seen
        self._untrack(name, consumer)
        back = self.leaving[consumer].host
        self.stay(consumer)
        return back

    def snapshot(self) -> t.Callable[[], None]:
        """Remember the state; gives what brings it back."""
        names = ("hosts", "residents", "leaving", "tracked")
        scheduler, kept = self.scheduler, {name: dict(getattr(self, name)) for name in names}

        def back() -> None:
            self.scheduler = scheduler
            for name, value in kept.items():
                setattr(self, name, dict(value))

        return back

    def _keep(self, name: str, here: Resident) -> None:
        """Put a server among those of a host, in the order in which servers were made."""
        self._arrivals.setdefault(here.consumer, len(self._arrivals))
        kept = {**self.residents[name], here.consumer: here}
        order = sorted(kept, key=self._arrivals.__getitem__)
        self.residents[name] = {consumer: kept[consumer] for consumer in order}

    def _drop(self, name: str, consumer: str) -> Resident:
        left = dict(self.residents[name])
        gone = left.pop(consumer)
        self.residents[name] = left
        return gone
