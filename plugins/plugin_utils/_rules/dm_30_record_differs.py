# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nova's record of pinned CPUs and the domains differ.

Races of a resize, a revert or an evacuation leave CPUs in the record that no guest has, or guests
on CPUs that the record has as free. The former are lost for new guests, the latter are given away
twice, and the next guest to leave fails.

Source: ``nova/virt/hardware.py``, ``numa_usage_from_instance_numa``; ``nova/objects/numa.py``,
``NUMACell.unpin_cpus``; Launchpad bugs 1879878, 1944759, 1953359, 1952915.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.domain import Domain
from .._model.host import CellUsage
from .._model.server import Server
from . import guests, host_sets
from .examples import a_domain, a_guests_case, no_smt
from .rule import Detail, HostGuestsCase, Rule, Severity
from .servers import MOVING

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostGuestsCase) -> Iterator[Detail]:
    if not case.host.host.usage:
        return
    record = host_sets.pinned_cpus(case.host)
    held, possible = _held(case)
    unrecorded, stale = held & ~record, record & ~possible
    waiting = [server for server in case.servers if _waits(server, case.domains)]
    if any(server.places is None for server in waiting):
        stale = 0
    for server in waiting:
        for place in server.places or ():
            stale &= ~(place.reserved | sum(1 << cpu for cpu in set(place.pins.values())))
    rows = [
        f"{what} {to_text(cpus)}"
        for what, cpus in (
            ("the record holds CPUs that no domain is pinned to:", stale),
            ("domains are pinned to CPUs that the record has as free:", unrecorded),
        )
        if cpus
    ]
    if rows:
        yield Detail(
            f"host {case.name}: {'; '.join(rows)}",
            "the next update of its resources, or the next guest that comes or leaves, may fail "
            "with CPUPinningInvalid or CPUUnpinningInvalid"
            + ("; a new guest may be pinned beside one that is there" if unrecorded else ""),
            "first see to it that no guest is on the move and no resize waits to be confirmed:\n"
            "openstack server migration list --host "
            f"{case.name}\nthen restart nova-compute there, which counts its guests anew, and move "
            "guests away whose pins Nova does not know:\nopenstack server migrate SERVER",
        )


def _held(case: HostGuestsCase) -> tuple[int, int]:
    """List the CPUs that Nova's domains hold for certain, and those that they may hold: the
    siblings of pins too where thread policy isolate takes them (bitmasks)."""
    held = possible = 0
    for domain in case.domains:
        if domain.nova is not None:
            own = case.pinned[domain.id] | guests.reserved_cpus(domain)
            held |= own
            isolates = _may_isolate(domain, case.servers)
            possible |= host_sets.whole_cores(case.host.host.topology, own) if isolates else own
    return held, possible


def _may_isolate(domain: Domain, servers: tuple[Server, ...]) -> bool:
    """Say whether a domain has thread policy isolate, or nobody told."""
    server = next((each for each in servers if each.id == domain.id), None)
    flavor = domain.flavor or (server.flavor if server else None)
    image = domain.image or (server.image if server else None)
    wishes = (
        flavor.extra_specs.get("hw:cpu_thread_policy") if flavor else "isolate",
        image.properties.get("hw_cpu_thread_policy") if image else None,
    )
    return "isolate" in wishes


def _waits(server: Server, domains: tuple[Domain, ...]) -> bool:
    """Say whether a server may hold CPUs without a domain that shows them."""
    return server.status in MOVING or all(domain.id != server.id for domain in domains)


RULE = Rule(
    code="DM-30",
    severity=Severity.ERROR,
    title="Nova's record of pinned CPUs and the domains differ",
    subject=HostGuestsCase,
    check=_check,
    bad=lambda: a_guests_case(
        no_smt(usage=(CellUsage(0, pinned_cpus=0b11110, cpu_usage=4),)), a_domain(no_smt(), 1, 2)
    ),
    good=lambda: a_guests_case(
        no_smt(usage=(CellUsage(0, pinned_cpus=0b110, cpu_usage=2),)), a_domain(no_smt(), 1, 2)
    ),
)
