# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import pathlib
import sys
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import HostConfig
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE, Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.goal import goal
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    Fleet,
    Host,
    HostClass,
    Scheduler,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import Allocation
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import path, release
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan import upgrade
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.clouds import cloud_of
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.steps import Kind
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.targets import targets
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import topology

TESTS = pathlib.Path(__file__).parents[4]
sys.path.insert(0, str(TESTS))

from populating import populated

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.cloud import Cloud
    from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.outcome import Outcome
    from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.schedule import HostView
    from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.steps import Plan, Step

PINNED = {"hw:cpu_policy": "dedicated"}
FLOATING = Flavor("floating", 2, 1024, {})
DEDICATED = Flavor("dedicated", 2, 1024, PINNED)
ISOLATE = Flavor("isolate", 2, 1024, {**PINNED, "hw:cpu_thread_policy": "isolate"})
EMULATOR = Flavor("emulator", 2, 1024, {**PINNED, "hw:emulator_threads_policy": "isolate"})
TWO_CELLS = Flavor("cells", 4, 1024, {**PINNED, "hw:numa_nodes": "2"})
FLAVORS = (FLOATING, DEDICATED, ISOLATE, EMULATOR, TWO_CELLS)

SMT = topology(cells=2, cores=4)
PLAIN = topology(cells=2, cores=6, threads=1)
PIN_SET = HostConfig(vcpu_pin_set="1-3,5-7,9-11,13-15")
TWO = ((SMT, PIN_SET), (SMT, PIN_SET))
WISH = {"housekeeping_cores": 1, "shared_cores": 1}


def a_fleet(
    *hosts: tuple[t.Any, HostConfig],
    on: Iterable[tuple[int, Flavor]] = (),
    nova: str = "27.5.1",
    flavors: tuple[Flavor, ...] = FLAVORS,
) -> Fleet:
    """Make a fleet of hosts ``cmp-0`` and on, by machine and options; ``on`` boots servers."""
    classes = tuple(
        HostClass(Host(name, nova, machine, config), (name,))
        for name, (machine, config) in ((f"cmp-{n}", host) for n, host in enumerate(hosts))
    )
    fleet = Fleet(Scheduler(nova), classes, flavors)
    return populated(fleet, ((f"cmp-{index}", flavor) for index, flavor in on))


def planned(fleet: Fleet, **wanted: t.Any) -> Plan:
    made = goal(
        {"hosts": [{"match": "*", "wish": WISH}], **wanted},
        [name for each in fleet.classes for name in each.names],
    )
    return upgrade.plan(fleet, made, targets(fleet, made))


def kinds(plan: Plan) -> list[str]:
    return [step.kind.name.lower() for step in plan.steps]


def constraints(plan: Plan) -> list[str]:
    return [each.constraint for each in plan.blockers]


# The plan carried out, by what the cloud itself does.


def right(outcome: Outcome | None, seen: HostView) -> bool:
    """Say whether a guest boots, and on the class of inventory that its host has for it."""
    if outcome is None or not outcome.boots:
        return False
    legacy = seen.sets is None or seen.sets.legacy
    return not outcome.pins or legacy or "PCPU" in outcome.allocation


def taker(cloud: Cloud, flavor: Flavor, without: Collection[str]) -> tuple[str, Outcome] | None:
    """Find a host that takes a guest."""
    chosen = cloud.select(cloud.ask(flavor, NO_IMAGE))
    return next(
        (
            (name, outcome)
            for name, outcome in chosen.outcomes.items()
            if name not in without and right(outcome, cloud.hosts[name])
        ),
        None,
    )


def check_room(cloud: Cloud, flavors: Iterable[Flavor], spare: int, out: Collection[str]) -> None:
    """Boot the spare guests of each flavor one after the other, beside the hosts that are out."""
    for flavor in flavors:
        back = cloud.snapshot()
        for number in range(spare):
            found = taker(cloud, flavor, out)
            assert found, f"no room for guest {number} of {flavor.name}"
            assert cloud.place(f"spare-{number}", cloud.ask(flavor, NO_IMAGE), *found).clean
        back()


def carry_out(cloud: Cloud, step: Step, spare: int, flavors: Iterable[Flavor]) -> None:
    """Do one step, all of its hosts at once, and hold against it what the plan promises."""
    if step.kind is Kind.CONTROL:
        assert step.release in path(cloud.scheduler.release, step.release)[:1]
        assert (cloud.oldest or 0) >= release(step.release).oldest_compute
        cloud.scheduler = dataclasses.replace(cloud.scheduler, release=step.release)
    if step.kind is Kind.FLIP:
        cloud.scheduler = dataclasses.replace(cloud.scheduler, disable_fallback_pcpu_query=True)
    if step.kind not in (Kind.UPGRADE, Kind.RECONFIGURE):
        return
    for move in (move for turn in step.turns for move in turn.moves):
        assert move.target not in step.hosts
        asked = cloud.ask(cloud.residents[move.source][move.server].flavor, NO_IMAGE)
        outcome = cloud.select(asked, (move.target,)).outcomes[move.target]
        assert right(outcome, cloud.hosts[move.target])
        cloud.depart(move.server, move.source)
        assert cloud.place(move.server, asked, move.target, outcome).clean
        cloud.confirm(move.server)
    check_room(cloud, flavors, spare, step.hosts)
    for turn in step.turns:
        host = cloud.hosts[turn.host].host
        changed = {"release": step.release} if step.release else {"config": turn.config}
        started = cloud.start(dataclasses.replace(host, **changed))
        assert started.clean
        assert started.seen.provider
        totals = {name: each.total for name, each in started.seen.provider.inventories.items()}
        assert turn.inventory.items() <= totals.items()
        assert len(started.moved) == turn.reshaped


def replay(fleet: Fleet, plan: Plan, spare: int) -> Cloud:
    """Carry a plan out on the fleet, step by step."""
    cloud = cloud_of(fleet)
    used = {server.flavor.name: server.flavor for server in fleet.servers} or {
        flavor.name: flavor for flavor in fleet.flavors
    }
    kept = [used[label] for label in plan.flavors]
    for step in plan.steps:
        carry_out(cloud, step, spare, kept)
        for flavor in kept:
            empty = cloud_of(dataclasses.replace(fleet, servers=()))
            for name, seen in cloud.hosts.items():
                empty.hosts[name] = empty.empty(seen.host)
            empty.scheduler = cloud.scheduler
            assert taker(empty, flavor, ()), f"step {step.number} leaves no host for {flavor.name}"
    there = {server for held in cloud.residents.values() for server in held}
    assert there == {server.id for server in fleet.servers}
    return cloud


CONFIGS = ((SMT, PIN_SET), (SMT, HostConfig()), (PLAIN, HostConfig()))


@given(
    st.lists(st.sampled_from(CONFIGS), min_size=2, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from(FLAVORS)), max_size=14),
    st.integers(1, 3),
    st.integers(0, 2),
    st.sampled_from(["", "29.4.0"]),
)
def test_every_step_of_a_plan_holds_when_it_is_carried_out(
    hosts: list[tuple[t.Any, HostConfig]],
    on: list[tuple[int, Flavor]],
    batch: int,
    spare: int,
    target: str,
) -> None:
    fleet = a_fleet(*hosts, on=[(index % len(hosts), flavor) for index, flavor in on])
    wanted: dict[str, t.Any] = {"batch_size": batch, "spare": spare}
    plan = planned(fleet, **wanted, **({"release": target} if target else {}))
    assert plan == planned(fleet, **wanted, **({"release": target} if target else {}))
    assert all(len(step.hosts) <= batch for step in plan.steps if step.kind is not Kind.CLEAN)
    cloud = replay(fleet, plan, spare)
    assert plan.complete or plan.blockers
    if plan.complete:
        assert plan.legacy_after == 0
        assert cloud.scheduler.disable_fallback_pcpu_query
        assert all(seen.release.name == (target or "27.5.1") for seen in cloud.hosts.values())
        pinned = [
            each for name in cloud.hosts for each in cloud.residents[name].values() if each.pinned
        ]
        assert all("VCPU" not in each.allocation for each in pinned)


def test_a_plan_leads_through_releases_sets_and_the_fallback() -> None:
    fleet = a_fleet((SMT, PIN_SET), (SMT, PIN_SET), on=[(0, DEDICATED), (1, FLOATING)])
    plan = planned(fleet, release="29.4.0")
    assert kinds(plan) == [
        "control",
        "upgrade",
        "upgrade",
        "reconfigure",
        "reconfigure",
        "flip",
        "clean",
    ]
    assert plan.complete
    assert (plan.legacy_before, plan.legacy_after) == (2, 0)
    configured = plan.steps[3].turns[0]
    assert configured.inventory == {"VCPU": 4, "PCPU": 8}
    assert configured.config
    assert configured.config.vcpu_pin_set is None
    assert plan.steps[-1].hosts == ("cmp-0", "cmp-1")


@pytest.mark.parametrize(
    ("start", "end", "hops"),
    [
        ("27.5.1", "34.0.0", ["29.4.0", "31.3.1", "33.0.2", "34.0.0"]),
        ("20.6.1", "22.4.0", ["21.2.4", "22.4.0"]),
        ("26.3.0", "27.5.1", ["27.5.1"]),
        ("27.1.0", "27.5.1", ["27.5.1"]),
    ],
)
def test_control_services_go_first_and_no_release_is_skipped(
    start: str, end: str, hops: list[str]
) -> None:
    fleet = a_fleet((PLAIN, HostConfig()), (PLAIN, HostConfig()), nova=start)
    plan = planned(fleet, release=end, hosts=[], batch_size=2)
    assert [(s.kind, s.release) for s in plan.steps if s.release] == [
        (kind, hop) for hop in hops for kind in (Kind.CONTROL, Kind.UPGRADE)
    ]


def test_the_way_from_20_to_34_is_carried_out() -> None:
    on = [(0, DEDICATED), (0, FLOATING), (1, EMULATOR)]
    fleet = a_fleet((SMT, PIN_SET), (PLAIN, HostConfig()), (SMT, PIN_SET), on=on, nova="20.4.1")
    plan = planned(fleet, release="34.0.0", spare=1)
    assert plan.complete
    assert {each.code for each in plan.advisories} >= {"1952941", "1869804"}
    assert {seen.release.name for seen in replay(fleet, plan, 1).hosts.values()} == {"34.0.0"}


def test_a_host_that_serves_nothing_is_put_right_first() -> None:
    broken = HostConfig(cpu_shared_set="0-1 # floating", cpu_dedicated_set="2-3")
    fleet = a_fleet((SMT, PIN_SET), (SMT, broken), flavors=(FLOATING, DEDICATED))
    plan = planned(fleet, release="29.4.0")
    assert plan.complete
    assert (plan.steps[0].kind, plan.steps[0].hosts) == (Kind.RECONFIGURE, ("cmp-1",))


def test_floating_servers_make_room_for_the_reshape() -> None:
    """It fails while they hold more VCPU than the shared CPUs give."""
    fleet = a_fleet(*TWO, on=[(0, DEDICATED), *[(0, FLOATING)] * 12])
    plan = planned(fleet)
    assert plan.complete
    names = {server.id: server.flavor.name for server in fleet.servers}
    assert "floating" in {names[m.server] for turn in plan.steps[0].turns for m in turn.moves}
    replay(fleet, plan, 0)


# What forbids to go on.


def unknown(fleet: Fleet, **changes: t.Any) -> Fleet:
    """Change what is known of the first server."""
    first = dataclasses.replace(fleet.servers[0], **changes)
    return dataclasses.replace(fleet, servers=(first, *fleet.servers[1:]))


def test_blocked_where_less_room_than_asked_for_is_left() -> None:
    fleet = a_fleet(*TWO, on=[(0, DEDICATED)])
    assert planned(fleet, spare=3).complete
    plan = planned(fleet, spare=7)
    assert constraints(plan) == ["spare"]
    assert set(plan.blockers[0].hosts) == {"cmp-0", "cmp-1"}
    assert not plan.steps


def test_blocked_where_a_flavor_would_lose_its_last_host() -> None:
    """Isolate is refused on new-style hosts with SMT from 20.4.1 on."""
    plan = planned(a_fleet(*TWO, flavors=(ISOLATE,)))
    assert [(b.constraint, b.hosts) for b in plan.blockers] == [("flavor", ("cmp-1",))]
    assert kinds(plan) == ["reconfigure"]
    assert plan.legacy_after == 1


def test_blocked_where_a_flavor_would_land_on_the_wrong_class() -> None:
    """Before 20.4.1 isolate gets onto new-style hosts with SMT, by the fallback query."""
    fleet = a_fleet(*TWO, on=[(0, ISOLATE)], nova="20.4.0")
    plan = planned(fleet)
    assert constraints(plan) == ["class"]
    assert not plan.steps
    assert planned(a_fleet(*TWO, (PLAIN, HostConfig()), on=[(0, ISOLATE)], nova="20.4.1")).complete


def test_hosts_that_are_stuck_are_tried_first() -> None:
    """An isolate server has to leave the host without SMT while legacy hosts take it, and to come
    back thereafter."""
    fleet = a_fleet(*TWO, (PLAIN, HostConfig()), on=[(2, ISOLATE)], nova="20.4.1")
    plan = planned(fleet)
    assert plan.complete
    assert plan.steps[0].hosts == ("cmp-2",)
    replay(fleet, plan, 0)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"places": None}, "pins of servers are unknown"),
        ({"status": "VERIFY_RESIZE"}, "is in VERIFY_RESIZE"),
    ],
)
def test_blocked_by_a_server(changes: dict[str, t.Any], text: str) -> None:
    plan = planned(unknown(a_fleet(*TWO, on=[(0, DEDICATED)]), **changes))
    assert [(b.constraint, b.hosts) for b in plan.blockers] == [("server", ("cmp-0",))]
    assert text in plan.blockers[0].text
    assert [step.hosts for step in plan.steps] == [("cmp-1",)]


def test_blocked_where_a_server_can_neither_stay_nor_go() -> None:
    big = Flavor("big", 6, 1024, PINNED)
    small = topology(cells=2, cores=3, threads=1)
    fleet = a_fleet((SMT, HostConfig()), (small, HostConfig()), on=[(0, big)], flavors=(big,))
    plan = planned(fleet)
    assert [(b.constraint, b.hosts) for b in plan.blockers] == [("server", ("cmp-0",))]
    assert "server-0 (big) cannot stay, and no host takes it" in plan.blockers[0].text
    assert [step.hosts for step in plan.steps] == [("cmp-1",)]


def test_blocked_where_nova_compute_would_die() -> None:
    """From 26 on it does where a class leaves the inventory that somebody still holds."""
    fleet = a_fleet(*TWO, flavors=(DEDICATED,))
    leak = Allocation("leak", "cmp-0", {"VCPU": 1})
    fleet = dataclasses.replace(fleet, allocations=(leak,))
    plan = planned(fleet, hosts=[{"match": "*", "sets": {"cpu_dedicated_set": "1-7,9-15"}}])
    assert [(b.constraint, b.hosts) for b in plan.blockers] == [("start", ("cmp-0",))]
    assert "VCPU leaves the inventory" in plan.blockers[0].text


def test_a_host_to_leave_may_stay_one_release_behind() -> None:
    plan = planned(a_fleet(*TWO), release="29.4.0", hosts=[], leave=["cmp-0"])
    assert [step.hosts for step in plan.steps if step.kind is Kind.UPGRADE] == [("cmp-1",)]


def test_blocked_by_computes_that_are_too_old_for_the_next_release() -> None:
    fleet = a_fleet(*TWO)
    first = fleet.classes[0]
    old = HostClass(dataclasses.replace(first.host, release="23.2.2"), first.names)
    fleet = dataclasses.replace(fleet, classes=(old, *fleet.classes[1:]))
    plan = planned(fleet, release="29.4.0", hosts=[], leave=["cmp-0"])
    assert [(b.constraint, b.hosts) for b in plan.blockers] == [("release", ("cmp-0",))]
    assert not plan.steps


def test_blocked_by_pinned_servers_on_a_host_to_leave() -> None:
    fleet = a_fleet(*TWO, on=[(0, DEDICATED), (1, DEDICATED)])
    plan = planned(fleet, leave=["cmp-1"])
    assert [(b.constraint, b.hosts) for b in plan.blockers] == [("fallback", ("cmp-1",))]
    assert kinds(plan) == ["reconfigure"]
    kept = planned(fleet, leave=["cmp-1"], disable_fallback=False)
    assert kept.complete
    assert (kinds(kept), kept.legacy_after) == (["reconfigure"], 1)


def test_the_fallback_stays_where_a_flavor_needs_it() -> None:
    fleet = a_fleet(*TWO, on=[(0, ISOLATE)])
    plan = planned(fleet, hosts=[])
    assert constraints(plan) == ["fallback", "fallback"]
    assert "without the fallback query no host is left for isolate" in plan.blockers[0].text


def test_a_flavor_that_no_host_takes_is_told_and_holds_nothing_up() -> None:
    huge = Flavor("huge", 64, 1024, PINNED)
    plan = planned(a_fleet(*TWO, flavors=(DEDICATED, huge)))
    assert plan.complete
    assert (plan.flavors, plan.unschedulable) == (("dedicated",), ("huge",))


def test_servers_move_once_and_to_hosts_that_had_their_turn() -> None:
    hosts = ((SMT, HostConfig()), (SMT, HostConfig()), (SMT, HostConfig()))
    fleet = a_fleet(*hosts, on=[(n % 3, DEDICATED) for n in range(6)])
    plan = planned(fleet)
    assert plan.complete
    done: set[str] = set()
    for step in plan.steps:
        if done:
            moves = [move for turn in step.turns for move in turn.moves]
            assert {move.target for move in moves} <= done
        done |= set(step.hosts)


def test_servers_that_the_reshape_gives_too_little_are_told() -> None:
    plan = planned(a_fleet(*TWO, on=[(0, EMULATOR)] * 4))
    turns = [turn for step in plan.steps for turn in step.turns]
    stayed = sum(turn.reshaped for turn in turns)
    assert sum(len(turn.short) for turn in turns) == stayed > 0


def test_a_flavor_that_nobody_uses_and_that_loses_its_last_host_is_told() -> None:
    unused = tuple(dataclasses.replace(ISOLATE, name=f"isolate.{size}") for size in "smlxt")
    plan = planned(a_fleet(*TWO, flavors=(DEDICATED, *unused), on=[(0, DEDICATED)]))
    assert plan.lost == tuple(flavor.name for flavor in unused)
    assert plan.complete


@pytest.mark.parametrize("status", ["SUSPENDED", "RESCUE", "ERROR", "PAUSED"])
def test_blocked_by_a_server_that_cannot_stay_nor_be_migrated(status: str) -> None:
    fleet = a_fleet(*TWO, on=[(0, EMULATOR)])
    servers = tuple(dataclasses.replace(each, status=status) for each in fleet.servers)
    plan = planned(dataclasses.replace(fleet, servers=servers))
    assert constraints(plan) == ["server"]
    assert status in plan.blockers[0].text


def test_a_host_that_a_migration_still_holds_is_blocked() -> None:
    fleet = a_fleet(*TWO, on=[(1, FLOATING)])
    servers = tuple(dataclasses.replace(each, status="VERIFY_RESIZE") for each in fleet.servers)
    held = (Allocation("migration", "cmp-0", {"VCPU": 2}),)
    plan = planned(dataclasses.replace(fleet, servers=servers, allocations=held))
    assert {name for each in plan.blockers for name in each.hosts} == {"cmp-0", "cmp-1"}


def test_stopped_servers_are_not_rebooted() -> None:
    fleet = a_fleet(*TWO, on=[(0, FLOATING)])
    running = planned(fleet)
    servers = tuple(dataclasses.replace(each, status="SHUTOFF") for each in fleet.servers)
    stopped = planned(dataclasses.replace(fleet, servers=servers))
    counts = [
        sum(len(turn.reboots) for step in plan.steps for turn in step.turns)
        for plan in (running, stopped)
    ]
    assert counts == [1, 0]


def test_floating_servers_leave_a_cell_that_loses_its_shared_cpus() -> None:
    cells = Flavor("small-pages", 2, 1024, {"hw:mem_page_size": "small"})
    fleet = a_fleet(*TWO, flavors=(cells,), on=[(0, cells)])
    sets = {"cpu_shared_set": "5-6,13-14", "cpu_dedicated_set": "1-3,9-11"}
    hosts = [{"match": "cmp-0", "sets": sets}]
    plan = planned(fleet, hosts=hosts, disable_fallback=False)
    (move,) = (move for step in plan.steps for turn in step.turns for move in turn.moves)
    assert (move.source, move.target) == ("cmp-0", "cmp-1")


def test_sets_that_are_only_spelled_otherwise_are_no_step() -> None:
    both = HostConfig(cpu_shared_set="1,9", cpu_dedicated_set="2,3,10,11")
    sets = {"cpu_shared_set": "1,9", "cpu_dedicated_set": "2-3,10-11"}
    plan = planned(a_fleet((SMT, both)), hosts=[{"match": "*", "sets": sets}])
    assert kinds(plan)[:1] != ["reconfigure"]


def test_a_class_in_use_that_the_options_lack_stops_the_upgrade() -> None:
    fleet = a_fleet(*TWO, on=[(0, DEDICATED)], nova="25.3.0")
    servers = tuple(dataclasses.replace(each, allocation={"PCPU": 2}) for each in fleet.servers)
    plan = planned(dataclasses.replace(fleet, servers=servers), release="26.3.0", hosts=[])
    assert not plan.complete


def test_hosts_before_train_are_judged_at_the_release_that_they_will_have() -> None:
    fleet = a_fleet(*TWO, nova="20.6.1", flavors=(DEDICATED,))
    old = tuple(
        dataclasses.replace(each, host=dataclasses.replace(each.host, release="19.0.0"))
        for each in fleet.classes
    )
    plan = planned(dataclasses.replace(fleet, classes=old), release="22.4.0")
    assert plan.complete
    assert plan.legacy_after == 0


def test_a_server_that_would_not_start_again_is_moved_not_rebooted() -> None:
    cells = Flavor("small-pages", 2, 1024, {"hw:mem_page_size": "small"})
    fleet = a_fleet(*TWO, flavors=(cells,), on=[(0, cells)])
    bare = {"cpu_shared_set": "5-6,13-14", "cpu_dedicated_set": "1-3,9-11"}
    first = fleet.classes[0]
    config = HostConfig(cpu_shared_set="5,13", cpu_dedicated_set="1-3,9-11")
    now = HostClass(dataclasses.replace(first.host, config=config), first.names)
    fleet = dataclasses.replace(fleet, classes=(now, *fleet.classes[1:]))
    hosts = [{"match": "cmp-0", "sets": bare}]
    plan = planned(fleet, hosts=hosts, disable_fallback=False)
    turns = [turn for step in plan.steps for turn in step.turns]
    assert [move.target for turn in turns for move in turn.moves] == ["cmp-1"]
    assert not any(turn.reboots for turn in turns)


def test_a_pinned_server_whose_flavor_asks_for_no_pins_is_not_moved() -> None:
    fleet = a_fleet(*TWO, on=[(0, EMULATOR), (1, FLOATING)])
    servers = tuple(
        dataclasses.replace(each, flavor=FLOATING) if each.host == "cmp-0" else each
        for each in fleet.servers
    )
    plan = planned(dataclasses.replace(fleet, servers=servers))
    assert "give its image" in plan.blockers[0].text


def test_floating_servers_move_live_only_where_nova_gives_them_new_cpus() -> None:
    for nova, live in (("29.4.0", False), ("30.3.0", True)):
        fleet = a_fleet(*TWO, nova=nova, on=[(0, FLOATING)])
        sets = {"cpu_dedicated_set": "1-7,9-15"}
        hosts = [{"match": "cmp-0", "sets": sets}]
        plan = planned(fleet, hosts=hosts, live=True, disable_fallback=False)
        moves = [move for step in plan.steps for turn in step.turns for move in turn.moves]
        assert [move.live for move in moves] == [live]
