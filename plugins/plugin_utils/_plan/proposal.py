# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host is to become: its options, its isolation, and what speaks against it."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.cpu_list import to_text
from ...module_utils._read.errors import InputError
from .._model.host import HostClass, Isolation
from .._model.schema import within
from .._model.wish import Wish
from .._nova.resident import resident
from .._rules import hosts
from .._rules.audit import errors, findings
from .._rules.cases import host_case
from .._rules.host_sets import pinned_cpus
from .._rules.restarts import own_cpus
from .cpu_sets import CpuRoles, derive, explicit, target_config
from .restart import refusals

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .._model.host import Host
    from .._model.server import Server
    from .._model.wish import ExplicitSets
    from .._rules.rule import Finding, HostCase

INTENTS = ("pinned", "realtime")
"""``pinned``: tuned keeps the host's tasks off the CPUs of pinned guests, the kernel balances as
ever. ``realtime``: the kernel's arguments isolate them too."""


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """What hosts are to become."""

    wanted: Wish | ExplicitSets
    phase: str = "new"
    intent: str = "pinned"


@dataclasses.dataclass(frozen=True, slots=True)
class Proposal:
    """One class of equal hosts, as it is and as it is to be."""

    now: Host
    then: Host
    names: tuple[str, ...]
    isolated: int
    """CPUs that the host's own tasks are to be kept off (bitmask)."""
    realtime: bool
    """Whether the kernel's arguments are to isolate them."""


def propose(
    each: HostClass, target: Target, servers: Mapping[str, Sequence[Server]] | None = None
) -> Proposal:
    """Work out what a class of hosts becomes; ``servers`` are those on each host, by its name.

    CPUs that servers on any of the hosts are pinned to become dedicated on all of them.

    Raises ``InputError`` for a wish that cannot be met, and for what nova-compute or a rule at
    ``error`` refuses.
    """
    case = host_case(each.host)
    residents = {
        name: [resident(server, case.release) for server in servers[name]]
        for name in each.names
        if servers and name in servers
    }
    pinned = pinned_cpus(case)
    for found in residents.values():
        for held in found:
            pinned |= own_cpus(held)
    with within(f"host {each.host.name}"):
        roles = _roles(case, target.wanted, pinned)
    isolated = roles.dedicated | roles.data_path if target.phase == "new" else 0
    realtime = target.intent == "realtime" and bool(isolated)
    then = dataclasses.replace(
        each.host,
        config=target_config(each.host.config, roles, target.phase),
        **(_isolation(each.host, isolated) if realtime else {}),
    )
    with within(f"host {each.host.name}"):
        _refuse(HostClass(then, each.names), pinned)
    for name in residents:
        now, new = (dataclasses.replace(host, name=name) for host in (each.host, then))
        with within(f"host {name}"):
            _refuse_errors(refusals(now, new, (servers or {})[name]))
    return Proposal(each.host, then, each.names, isolated, realtime)


def _roles(case: HostCase, wanted: Wish | ExplicitSets, pinned: int) -> CpuRoles:
    host = case.host
    if not isinstance(wanted, Wish):
        return explicit(host.topology, wanted, host.data_path_cpus)
    asleep = (case.sets.dedicated if case.sets else 0) & ~host.topology.online
    if asleep:
        raise InputError(
            f"dedicated CPU {to_text(asleep)} is offline, so that its cell and core are not known",
            "facts gathered while all CPUs are online, or explicit sets",
        )
    # CPUs stay what they are where the wish lets them: a second run changes nothing.
    today = () if case.sets is None or case.sets.legacy else (case.sets.dedicated, case.sets.shared)
    later = (*today, hosts.isolated(case))
    return derive(host.topology, wanted, host.data_path_cpus, later, pinned)


def _isolation(host: Host, isolated: int) -> dict[str, t.Any]:
    """Give the fields of a host that booted with the arguments of the intent ``realtime``."""
    return {
        "topology": dataclasses.replace(host.topology, isolated=isolated),
        "isolation": Isolation(isolated, isolated, None, isolated, tuned_isolated=isolated),
    }


def _refuse(then: HostClass, pinned: int) -> None:
    case = host_case(then.host, then.names)
    _refuse_errors(errors(findings(case, f"host {then.host.name}")))
    if case.fault is not None:
        raise InputError(f"nova-compute would fail: {case.fault}", "other sets")
    lost = pinned & ~hosts.pinnable(case)
    if lost:
        raise InputError(
            f"guests are pinned to CPU {to_text(lost)}, which would be in no set for them",
            "sets with these CPUs, or a host whose guests have moved off them",
        )


def _refuse_errors(found: Iterable[Finding]) -> None:
    told = "; ".join(f"{each.code} {each.what}" for each in found)
    if told:
        raise InputError(f"rules refuse this: {told}", "other sets, another wish or intent")
