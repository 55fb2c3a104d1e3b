# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Emulator threads by flavor: where they run today, and what the flavor can say to move them.

All of it for one guest of the flavor on an empty host: one possible placement.

Source: ``nova/virt/hardware.py``, ``get_emulator_thread_policy_constraint``;
``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.cpu_list import mask, to_text
from .._nova import compute, schedule
from .._nova.resident import Resident
from .._rules import flavors, hosts
from .._rules.cases import emptied, host_case, written
from .._rules.host_sets import whole_cores
from .._rules.policies import KEY, POLICIES, with_policy
from .._rules.shared_cpus import near, with_shared_set

if t.TYPE_CHECKING:
    from .._model.guest_xml import GuestXml
    from .._nova.outcome import Outcome
    from .._nova.schedule import Asked, HostView
    from .._rules.rule import FlavorCase, HostCase

MOST_GUESTS = 512
"""Guests after which counting ends."""


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where the threads of one guest of a flavor run on an empty host."""

    xml: GuestXml
    emulator: int
    """CPUs of the emulator threads (bitmask)."""
    kind: str
    """What these CPUs are, in a few words."""
    realtime: dict[int, int]
    """Realtime vCPU to its host CPU."""


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """One change of a flavor, on one class of hosts."""

    policy: str
    command: str
    """Sets the policy."""
    conf: str
    """What ``nova.conf`` of the hosts must say first; "" for nothing."""
    now: GuestXml | None
    """The XML today; None where the flavor does not boot."""
    then: GuestXml | None
    """The XML with the change; None where it does not boot then."""
    refusal: str
    """Why it does not boot then: stage and reason."""
    resource: str
    """The class that Placement allocates its vCPUs from: PCPU, or VCPU by the fallback query."""
    cost: int
    """How much more of it a guest is allocated than today."""
    fits_now: int
    fits_then: int
    """Guests of the flavor that an empty host takes."""
    notes: tuple[str, ...] = ()


def in_question(case: FlavorCase) -> bool:
    """Say whether it matters where the emulator threads of a flavor run: realtime, or a policy."""
    return flavors.realtime(case) or (flavors.pinned(case) and bool(case.spec(KEY)))


def place(case: FlavorCase, index: int) -> Place | None:
    """Tell where the threads run on the class of hosts at ``index``; None where none boots."""
    host, outcome = case.hosts[index], case.outcomes[index]
    xml = written(case.flavor, case.image, case.guest, host, outcome)
    if xml is None or xml.emulator is None:
        return None
    realtime = xml.realtime
    return Place(
        xml,
        xml.emulator,
        kind(case, host, xml),
        {vcpu: cpu for vcpu, cpu in sorted(xml.pins.items()) if realtime >> vcpu & 1},
    )


def flavor_options(case: FlavorCase) -> dict[int, tuple[Option, ...]]:
    """Propose policies for a realtime flavor without one, by the place of the class of hosts.

    A class on which the flavor boots neither today nor with a change has none.
    """
    if not flavors.realtime(case) or case.spec(KEY):
        return {}
    asked = {
        policy: schedule.ask(with_policy(case.flavor, policy), case.image, case.scheduler)
        for policy in POLICIES
    }
    today = schedule.ask(case.flavor, case.image, case.scheduler)
    found: dict[int, tuple[Option, ...]] = {}
    for index, host in enumerate(case.hosts):
        if host.fault:
            continue
        empty = emptied(host)
        outcome = schedule.settle(today, empty.view, case.scheduler)
        now = written(case.flavor, case.image, today.guest, empty, outcome)
        room = _room(today, empty.view, case) if outcome.boots else 0
        options = tuple(
            _option(policy, case, empty, asked[policy], _Today(outcome, now, room))
            for policy in POLICIES
        )
        if now or any(option.then for option in options):
            found[index] = options
    return found


class _Today(t.NamedTuple):
    outcome: Outcome
    xml: GuestXml | None
    room: int


def _option(policy: str, case: FlavorCase, host: HostCase, asked: Asked, now: _Today) -> Option:
    conf, then_host = "", host
    notes: list[str] = []
    if policy == "share" and not host.host.config.cpu_shared_set:
        config, conf, notes = with_shared_set(host, now.xml.host_cells if now.xml else 0)
        then_host = host_case(dataclasses.replace(host.host, config=config), host.names)
    outcome = schedule.settle(asked, then_host.view, case.scheduler)
    then = written(asked.flavor, case.image, asked.guest, then_host, outcome)
    if then:
        notes += _traps(policy, then_host, then, outcome)
    if then_host is not host:
        notes.append(_without_set(host))
    room = _room(asked, then_host.view, case) if outcome.boots else 0
    return Option(
        policy,
        flavors.set_command(case, {KEY: policy}),
        conf,
        now.xml,
        then,
        _refusal(outcome, then),
        "VCPU" if outcome.query == "fallback" else "PCPU",
        _cpus(outcome) - _cpus(now.outcome) if now.outcome.boots and outcome.boots else 0,
        now.room,
        room,
        tuple(notes),
    )


def _refusal(outcome: Outcome, then: GuestXml | None) -> str:
    if not outcome.boots:
        return f"{outcome.stage}: {outcome.reason}"
    return "" if then else "driver: no XML can be written"


def _cpus(outcome: Outcome) -> int:
    return outcome.allocation.get("PCPU", 0) + outcome.allocation.get("VCPU", 0)


def kind(case: FlavorCase, host: HostCase, xml: GuestXml) -> str:
    """Say in a few words what the CPUs of the emulator threads are."""
    policy = case.guest.emulator_threads_policy if case.guest else None
    if policy == "isolate":
        return "a CPU of its own"
    if policy == "share" and host.host.config.cpu_shared_set:
        return "cpu_shared_set"
    realtime = xml.realtime
    ordinary = mask(vcpu for vcpu in xml.vcpu_pins if not realtime >> vcpu & 1)
    if not realtime:
        return "CPUs of all its vCPUs"
    return f"CPUs of vCPU {to_text(ordinary)}" if ordinary else "no vCPU is without realtime"


def _room(asked: Asked, seen: HostView, case: FlavorCase) -> int:
    """Count the guests that a host takes until one is refused."""
    for count in range(MOST_GUESTS):
        outcome = schedule.settle(asked, seen, case.scheduler)
        if not outcome.boots:
            return count
        new = Resident(
            str(count), asked.flavor, asked.image, asked.guest, outcome.fitted, outcome.allocation
        )
        entered = compute.enter(compute.allocated(seen, outcome.allocation), new)
        if entered.refusal:
            return count
        seen = entered.seen
    return MOST_GUESTS


def _traps(policy: str, host: HostCase, then: GuestXml, outcome: Outcome) -> list[str]:
    """Say what is to be known of a change that boots."""
    topology, emulator = host.host.topology, then.emulator or 0
    if policy == "isolate":
        beside = whole_cores(topology, mask(outcome.reserved)) & then.realtime_cpus
        if not beside:
            return []
        told = (
            f"CPU {to_text(emulator)} is the thread sibling of the realtime CPU {to_text(beside)}: "
            "an even number of vCPUs, or hosts without SMT"
        )
        return [told]
    close, found = near(host, then.host_cells), []
    if emulator & ~close:
        found.append(
            f"share takes all of cpu_shared_set, also CPU {to_text(emulator & ~close)} in cells "
            "that the guest is not in"
        )
    if emulator & hosts.isolated(host):
        found.append(
            f"CPU {to_text(emulator & hosts.isolated(host))} of cpu_shared_set is isolated: the "
            "kernel balances nothing there"
        )
    beside = whole_cores(topology, then.realtime_cpus) & emulator
    if beside:
        found.append(f"CPU {to_text(beside)} of cpu_shared_set shares a core with a realtime vCPU")
    if host.sets and not host.sets.legacy:
        found.append("floating guests run on cpu_shared_set too")
    return found


def _without_set(host: HostCase) -> str:
    if host.release.literal_realtime_mask:
        return "without cpu_shared_set realtime guests with share fail to build on the host"
    return "without cpu_shared_set share changes nothing"
