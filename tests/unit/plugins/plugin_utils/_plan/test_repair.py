# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import typing as t

import pytest
from hypothesis import given, strategies

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import mask
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Image
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    Fleet,
    HostClass,
    Scheduler,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import (
    Allocation,
    CellPlace,
    Server,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.clouds import cloud_of
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.repair import (
    AllocationAudit,
    Repair,
    audit_allocations,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import (
    a_guest,
    legacy,
    new_style,
    no_smt,
)

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import HostCase

HOME = "compute-1"
LEAK = "9a1d2b00-0000-4000-8000-000000000000"


def audited(
    hosts: dict[str, HostCase],
    *servers: Server,
    leaks: tuple[Allocation, ...] = (),
    **control: bool,
) -> AllocationAudit:
    classes = tuple(
        HostClass(dataclasses.replace(each.host, name=name), (name,))
        for name, each in hosts.items()
    )
    scheduler = Scheduler("34.0.0", **control)
    return audit_allocations(Fleet(scheduler, classes, servers=servers, allocations=leaks))


def codes(found: AllocationAudit) -> list[str]:
    return [damage.finding.code for damage in found.damages]


def repair(found: AllocationAudit) -> Repair:
    (damage,) = found.damages
    return damage.repair


LANDED = a_guest(1, 2, allocation={"VCPU": 2, "MEMORY_MB": 1024})
ISOLATED = a_guest(1, 2, allocation={"VCPU": 2, "MEMORY_MB": 1024}, cpu_thread_policy="isolate")


def test_a_server_moves_to_hosts_that_give_it_the_right_class_the_new_style_ones_first() -> None:
    found = repair(audited({HOME: new_style(), "old": legacy(), "b": new_style()}, LANDED))
    assert (found.way, found.hosts, found.host_count) == ("migrate", ("b", "old"), 2)
    assert found.commands[0].endswith(f"server migrate --wait --host b {LANDED.id}")
    assert found.commands[1] == f"openstack server migration confirm {LANDED.id}"


def test_an_isolate_server_goes_where_no_siblings_are_kept_or_to_a_legacy_host() -> None:
    hosts = {HOME: new_style(), "b": new_style(), "old": legacy(), "bare": no_smt()}
    assert repair(audited(hosts, ISOLATED)).hosts == ("bare", "old")


def test_a_host_that_gives_vcpu_again_is_none_and_the_report_says_so() -> None:
    leak = Allocation(LEAK, "b", {"PCPU": 28})
    found = audited({HOME: new_style(), "b": new_style()}, LANDED, leaks=(leak,))
    assert codes(found) == ["FU-10", "FU-13"]
    refusals = found.damages[0].repair.refusals
    assert found.damages[0].repair.way == "heal"
    assert [hosts for _reason, hosts in refusals] == [("b",)]
    assert "FU-10" in refusals[0][0]


def test_servers_do_not_share_the_room_that_one_of_them_is_given() -> None:
    policy: dict[str, t.Any] = {"cpu_thread_policy": "isolate"}
    pair = (
        a_guest(1, 2, name="1", allocation={"VCPU": 2}, **policy),
        a_guest(3, 4, name="2", allocation={"VCPU": 2}, **policy),
    )
    found = audited({HOME: new_style(), "b": no_smt(cpu_dedicated_set="1-2")}, *pair)
    assert [damage.repair.way for damage in found.damages] == ["migrate", "none"]
    assert found.damages[1].repair.refusals == (
        ("has room, which other servers of this report are given", ("b",)),
    )


def test_without_the_fallback_query_no_legacy_host_takes_a_pinned_server() -> None:
    hosts = {HOME: new_style(), "old": legacy()}
    found = repair(audited(hosts, ISOLATED, disable_fallback_pcpu_query=True))
    assert (found.way, found.hosts) == ("none", ())
    assert found.refusals[0][1] == ("old",)


def test_a_flavor_that_is_the_cause_is_mended_and_the_server_resized() -> None:
    plain = a_guest(allocation={"PCPU": 2, "MEMORY_MB": 1024})
    trick = dataclasses.replace(plain.flavor, extra_specs={"resources_cpu:PCPU": "2"})
    found = audited({HOME: new_style(), "b": new_style()}, dataclasses.replace(plain, flavor=trick))
    assert codes(found) == ["FU-14"]
    assert repair(found).way == "resize"
    create, resize, _confirm = repair(found).commands
    assert "hw:cpu_policy=dedicated" in create
    assert "resources" not in create
    assert "--flavor example.pinned" in resize


@pytest.mark.parametrize(
    ("status", "first"),
    [
        ("ACTIVE", ()),
        ("VERIFY_RESIZE", (f"openstack server migration confirm {LANDED.id}  # or revert",)),
        ("PAUSED", ("bring the server from PAUSED to ACTIVE or SHUTOFF",)),
    ],
)
def test_what_a_server_waits_for_is_told(status: str, first: tuple[str, ...]) -> None:
    server = dataclasses.replace(LANDED, status=status)
    assert repair(audited({HOME: new_style(), "b": new_style()}, server)).first == first


PINNED_BY_IMAGE = dataclasses.replace(
    a_guest(1, 2, allocation={"VCPU": 2}, cpu_policy=""),
    image=Image("pins", {"hw_cpu_policy": "dedicated"}),
)
EMULATOR = a_guest(1, 2, reserved="3", allocation={"PCPU": 2}, emulator_threads_policy="isolate")


@pytest.mark.parametrize(
    ("host", "server", "told"),
    [
        (new_style(), LANDED, "PCPU 2, which is right here"),
        (new_style(), EMULATOR, "PCPU 3, which is right here"),
        (new_style(), ISOLATED, "wrong here: the server occupies 4 host CPUs"),
        (legacy(), dataclasses.replace(LANDED, allocation={}), "409, the host reports no PCPU"),
        (new_style(), PINNED_BY_IMAGE, "VCPU 2 (it does not know the image), which is wrong"),
    ],
)
def test_what_heal_allocations_would_do_is_told(host: HostCase, server: Server, told: str) -> None:
    assert told in repair(audited({HOME: host}, server)).heal


def test_healing_needs_room_beside_the_others() -> None:
    leak = Allocation(LEAK, HOME, {"PCPU": 28})
    found = audited({HOME: new_style()}, LANDED, leaks=(leak,))
    assert "409, there is not that much free" in found.damages[0].repair.heal


def test_a_lost_allocation_is_healed_where_that_gives_the_right_one() -> None:
    server = a_guest(allocation={})
    found = repair(audited({HOME: new_style(), "b": new_style()}, server))
    assert found.commands == (f"nova-manage placement heal_allocations --instance {server.id}",)


def test_an_orphan_is_deleted_after_it_was_looked_for() -> None:
    leak = Allocation(LEAK, HOME, {"PCPU": 2})
    found = repair(audited({HOME: new_style()}, leaks=(leak,)))
    assert found.commands == (f"openstack resource provider allocation delete {LEAK}",)
    assert [step.partition("  #")[0].split()[1:3] for step in found.first] == [
        ["server", "show"],
        ["--os-compute-api-version", "2.59"],
        ["placement", "audit"],
    ]


def test_what_a_server_left_behind_is_taken_off_that_host_alone() -> None:
    server = a_guest(1, 2, allocation={"PCPU": 2})
    left = Allocation(server.id, "b", {"PCPU": 2})
    found = repair(audited({HOME: new_style(), "b": new_style()}, server, leaks=(left,)))
    assert found.way == "unset"
    assert "--name b " in found.commands[0]
    assert found.commands[0].endswith(server.id)


def test_a_move_under_way_accounts_for_one_consumer() -> None:
    moving = dataclasses.replace(a_guest(1, 2, allocation={"PCPU": 2}), status="VERIFY_RESIZE")
    leaks = tuple(Allocation(f"{LEAK}{n}", "b", {"VCPU": 2, "MEMORY_MB": 1024}) for n in (1, 2))
    hosts = {HOME: new_style(), "b": legacy()}
    assert codes(audited(hosts, moving, leaks=leaks[:1])) == []
    assert codes(audited(hosts, moving, leaks=leaks)) == ["FU-13"]


def test_a_server_on_its_way_holds_its_allocation_where_it_goes() -> None:
    server = dataclasses.replace(a_guest(1, 2, allocation={}), status="MIGRATING")
    there = Allocation(server.id, "b", {"PCPU": 2, "MEMORY_MB": 1024})
    here = Allocation(LEAK, HOME, {"PCPU": 2, "MEMORY_MB": 1024})
    found = audited({HOME: new_style(), "b": new_style()}, server, leaks=(there, here))
    assert codes(found) == []


def test_pins_that_the_host_lacks_come_back_before_the_server_leaves() -> None:
    server = a_guest(0, 1, allocation={"PCPU": 2})
    found = repair(audited({HOME: new_style(), "b": new_style()}, server))
    assert found.way == "migrate"
    assert found.first[0].startswith("put CPU 0 back")


def test_servers_with_what_they_are_due_are_left_alone() -> None:
    hosts = {HOME: new_style(), "old": legacy()}
    sound = (
        a_guest(1, 2, name="1", allocation={"PCPU": 2}),
        a_guest(
            3, 4, name="2", reserved="5", allocation={"PCPU": 3}, emulator_threads_policy="isolate"
        ),
        a_guest(name="3", allocation={"VCPU": 2}),
        a_guest(6, 7, name="4"),
        dataclasses.replace(a_guest(1, 2, name="5", allocation={"VCPU": 2}), host="old"),
    )
    found = audited(hosts, *sound)
    assert (codes(found), found.servers, found.untold, found.status) == ([], 5, 1, 0)


KINDS = {"new": new_style(), "old": legacy(), "bare": no_smt()}
POLICIES: tuple[dict[str, t.Any], ...] = (
    {},
    {"cpu_policy": "dedicated"},
    {"cpu_policy": "dedicated", "cpu_thread_policy": "isolate"},
    {"cpu_policy": "dedicated", "emulator_threads_policy": "isolate"},
)


def moved(fleet: Fleet, found: AllocationAudit) -> Fleet:
    """Carry out the moves of an audit, and confirm them all."""
    cloud = cloud_of(fleet)
    servers = {server.id: server for server in fleet.servers}
    for damage in found.damages:
        if damage.repair.way != "migrate":
            continue
        server, name = servers[damage.id], damage.repair.hosts[0]
        asked = cloud.ask(server.flavor, server.image)
        outcome = cloud.select(asked, [name]).outcomes[name]
        assert cloud.place(server.id, asked, name, outcome).refusal is None
        places = (
            [
                CellPlace(
                    seat.cell,
                    pinning.pins,
                    mask(() if pinning.reserved is None else (pinning.reserved,)),
                )
                for seat, pinning in zip(
                    outcome.fitted.seats, outcome.fitted.pinnings(), strict=True
                )
                if pinning
            ]
            if outcome.fitted
            else []
        )
        servers[server.id] = dataclasses.replace(
            server, host=name, allocation=outcome.allocation, places=tuple(places)
        )
    return dataclasses.replace(fleet, servers=tuple(servers.values()))


@given(
    hosts=strategies.lists(strategies.sampled_from(sorted(KINDS)), min_size=2, max_size=5),
    drawn=strategies.lists(
        strategies.tuples(
            strategies.integers(0, 4),
            strategies.sampled_from(POLICIES),
            strategies.sampled_from(({"VCPU": 2}, {"PCPU": 2}, {"PCPU": 1}, {})),
        ),
        max_size=8,
    ),
)
def test_nothing_is_found_in_a_server_that_was_moved_as_told(
    hosts: list[str], drawn: list[tuple[int, dict[str, t.Any], dict[str, int]]]
) -> None:
    classes = tuple(
        HostClass(dataclasses.replace(KINDS[kind].host, name=f"h{index}"), (f"h{index}",))
        for index, kind in enumerate(hosts)
    )
    servers = tuple(
        dataclasses.replace(
            a_guest(name=str(index), allocation=held, **policies), host=f"h{place % len(hosts)}"
        )
        for index, (place, policies, held) in enumerate(drawn)
    )
    fleet = Fleet(Scheduler("34.0.0"), classes, servers=servers)
    found = audit_allocations(fleet)
    gone = {damage.id for damage in found.damages if damage.repair.way == "migrate"}
    left = {damage.id for damage in audit_allocations(moved(fleet, found)).damages}
    assert not gone & left
    assert left == {damage.id for damage in found.damages} - gone
