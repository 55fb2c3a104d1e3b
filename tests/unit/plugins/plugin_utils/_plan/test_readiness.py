# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import (
    NO_IMAGE,
    Flavor,
    Image,
)
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
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.schedule import ask
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.clouds import cloud_of
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.readiness import (
    Point,
    readiness,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import examples

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import HostCase

DEDICATED = {"hw:cpu_policy": "dedicated"}
ISOLATE = {**DEDICATED, "hw:cpu_thread_policy": "isolate"}
NEWEST = "34.0.0"


def flavor(name: str, specs: dict[str, str], vcpus: int = 2) -> Flavor:
    return Flavor(name, vcpus, 1024, specs)


def fleet(
    hosts: dict[str, HostCase], *flavors: Flavor, release: str = NEWEST, **other: t.Any
) -> Fleet:
    """Make a fleet of hosts; the key ``a b`` stands for two that are equal."""
    classes = tuple(
        HostClass(dataclasses.replace(case.host, name=names.split()[0]), tuple(names.split()))
        for names, case in hosts.items()
    )
    fields = {field.name for field in dataclasses.fields(Fleet)}
    control = {name: other.pop(name) for name in set(other) - fields}
    return Fleet(Scheduler(release, **control), classes, flavors, **other)


def told(points: tuple[Point, ...]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [((*point.flavors, *point.servers), point.hosts) for point in points]


@pytest.mark.parametrize(
    ("hosts", "specs", "blocked", "status"),
    [
        (["new_style"], DEDICATED, False, 0),
        (["legacy"], DEDICATED, True, 2),
        (["legacy"], {}, False, 0),
        (["legacy"], {"resources:PCPU": "2"}, False, 0),
        (["legacy", "new_style"], DEDICATED, False, 1),
        (["legacy", "new_style"], ISOLATE, True, 2),
        (["legacy", "no_smt"], ISOLATE, False, 1),
        (["no_smt"], ISOLATE, False, 0),
    ],
)
def test_who_cannot_do_without_the_fallback(
    hosts: list[str], specs: dict[str, str], blocked: bool, status: int
) -> None:
    made = {name: getattr(examples, name)() for name in hosts}
    found = readiness(fleet(made, flavor("f", specs)))
    assert (bool(found.blockers), found.may_turn_off) == (blocked, not blocked)
    assert found.status == status


def test_a_blocker_names_the_hosts_that_mend_it() -> None:
    hosts = {"a b": examples.legacy(), "c": examples.a_host(examples.topology(1, 2, 1))}
    found = readiness(fleet(hosts, flavor("small", DEDICATED), flavor("large", DEDICATED, 8)))
    (blocker,) = found.blockers
    assert (blocker.flavors, blocker.hosts) == (("small", "large"), ("a", "b"))
    assert blocker.fix.startswith("set cpu_shared_set and cpu_dedicated_set on one")
    assert blocker.effect == "boots nowhere, once it is off"


def test_isolate_on_smt_hosts_is_not_mended_by_both_sets() -> None:
    found = readiness(fleet({"a": examples.legacy()}, flavor("f", ISOLATE)))
    (blocker,) = found.blockers
    assert "forbidden trait HW_CPU_HYPERTHREADING" in blocker.what
    assert blocker.fix.startswith("cpu_dedicated_set on a host without SMT")


def test_an_image_that_pins_is_told_of() -> None:
    images = (Image("pins", {"hw_cpu_policy": "dedicated"}), Image("idle", {"os_type": "linux"}))
    found = readiness(fleet({"a": examples.legacy()}, flavor("f", {}), images=images))
    assert [reach.name for reach in found.reaches] == ["f with image pins"]
    assert told(found.blockers) == [(("f with image pins",), ("a",))]


@pytest.mark.parametrize(
    ("release", "options", "why"),
    [
        ("20.4.0", {}, "lacks the guard"),
        ("21.1.0", {}, "lacks the guard"),
        ("20.4.1", {}, ""),
        ("34.0.0", {}, ""),
        (
            "34.0.0",
            {"cpu_shared_set": "0,8", "cpu_dedicated_set": "1-7,9-15"},
            "one thread of each core",
        ),
    ],
)
def test_isolate_that_lands_on_dedicated_cpus(
    release: str, options: dict[str, str], why: str
) -> None:
    hosts = {"a": examples.new_style(release=release, **options)}
    found = readiness(fleet(hosts, flavor("f", ISOLATE), release=release))
    assert [why in point.what for point in found.hazards] == ([True] if why else [])
    assert bool(found.blockers) == bool(why)


def test_pcpu_that_leaked_lets_in_with_vcpu() -> None:
    host = examples.new_style()
    leak = (Allocation("gone", "a", {"PCPU": 27}),)
    made = fleet(
        {"a b": host}, flavor("two", DEDICATED), flavor("one", DEDICATED, 1), allocations=leak
    )
    (hazard,) = readiness(made).hazards
    assert (hazard.flavors, hazard.hosts) == (("two",), ("a",))
    assert hazard.what == "27 PCPU are allocated that no pinned guest has"
    assert readiness(made).status == 0


@pytest.mark.parametrize(
    ("scheduler", "filtered", "crashes"),
    [("22.0.0", True, True), ("22.0.0", False, False), ("21.2.4", True, False)],
)
def test_a_host_from_before_train_fells_the_request(
    scheduler: str, filtered: bool, crashes: bool
) -> None:
    hosts = {
        "old": examples.legacy(release="19.0.0"),
        "new": examples.new_style(release=scheduler),
    }
    found = readiness(
        fleet(hosts, flavor("f", DEDICATED), release=scheduler, numa_topology_filter=filtered)
    )
    assert [point.hosts for point in found.hazards if "before Train" in point.what] == (
        [("old",)] if crashes else []
    )
    assert found.may_turn_off


def test_placement_may_hide_legacy_hosts() -> None:
    hosts = {"a b": examples.legacy(), "c": examples.new_style()}
    made = fleet(hosts, flavor("f", DEDICATED))
    assert not any("lists up to" in point.what for point in readiness(made, 3).hazards)
    assert any("lists up to 3 hosts" in point.what for point in readiness(made, 2).hazards)


def server(name: str, host: str, pins: tuple[int, ...], specs: t.Any, **held: int) -> Server:
    places = (CellPlace(0, dict(enumerate(pins))),)
    return Server(
        f"id-{name}", name, host, flavor("f", specs, len(pins)), places=places, allocation=held
    )


def test_servers_that_only_legacy_hosts_take() -> None:
    hosts = {"a b": examples.legacy(), "c": examples.new_style()}
    servers = (
        server("stays", "a", (1, 2), ISOLATE, VCPU=2),
        server("moves", "a", (3, 4), DEDICATED, VCPU=2),
    )
    found = readiness(fleet(hosts, servers=servers))
    assert told(found.blockers) == [(("stays",), ("a", "b"))]
    assert "cannot migrate" in found.blockers[0].effect
    assert not any(point.servers for point in found.losses)


def test_a_full_host_counts_for_those_that_no_other_takes() -> None:
    leak = (Allocation("gone", "b", {"VCPU": 448}),)
    servers = (server("stays", "a", (1, 2), ISOLATE, VCPU=2),)
    found = readiness(fleet({"a b": examples.legacy()}, servers=servers, allocations=leak))
    assert [point.servers for point in found.blockers] == [("stays",)]


def test_a_server_on_the_only_host_that_takes_it_loses_nothing() -> None:
    servers = (server("s", "a", (1, 2), ISOLATE, VCPU=2),)
    found = readiness(fleet({"a": examples.legacy()}, servers=servers))
    assert found.status == 0


def test_servers_without_room_elsewhere() -> None:
    full = (*range(1, 8), *range(17, 24)), (*range(9, 16), *range(25, 32))
    fills = tuple(
        dataclasses.replace(
            server(f"fills-{cell}", "c", pins, DEDICATED, PCPU=14),
            places=(CellPlace(cell, dict(enumerate(pins))),),
        )
        for cell, pins in enumerate(full)
    )
    here = server("waits", "a", (1, 2), DEDICATED, VCPU=2)
    hosts = {"a b": examples.legacy(), "c": examples.new_style()}
    found = readiness(fleet(hosts, servers=(here, *fills)))
    assert not found.blockers
    assert [point.servers for point in found.losses] == [("waits", "fills-0", "fills-1")]


def test_servers_that_hold_the_wrong_class() -> None:
    servers = (server("s", "a", (1, 2), DEDICATED, VCPU=2),)
    found = readiness(fleet({"a b": examples.new_style()}, servers=servers))
    assert told(found.losses) == [(("s",), ("a",))]
    assert found.status == 1


def test_a_fallback_that_is_off_already() -> None:
    made = fleet({"a": examples.legacy()}, flavor("f", DEDICATED), disable_fallback_pcpu_query=True)
    found = readiness(made)
    assert found.is_off
    assert [point.effect for point in found.blockers] == ["boots nowhere, now"]


HOSTS = {
    "legacy": examples.legacy(),
    "plain": examples.a_host(),
    "new": examples.new_style(),
    "flat": examples.no_smt(),
    "one thread": examples.new_style(cpu_shared_set="0,8", cpu_dedicated_set="1-7,9-15"),
    "shared": examples.a_host(cpu_shared_set="1-15"),
    "leaked": examples.new_style(release="21.1.0"),
    "old": examples.legacy(release="19.0.0"),
}


@given(
    st.lists(st.sampled_from(sorted(HOSTS)), min_size=1, max_size=4, unique=True),
    st.fixed_dictionaries(
        {"hw:cpu_policy": st.sampled_from(["dedicated", "shared"])},
        optional={
            "hw:cpu_thread_policy": st.sampled_from(["isolate", "require", "prefer"]),
            "hw:emulator_threads_policy": st.sampled_from(["isolate", "share"]),
            "hw:numa_nodes": st.just("2"),
        },
    ),
    st.sampled_from([2, 4, 8, 28]),
    st.sampled_from(["21.1.0", "21.2.4", "34.0.0"]),
)
def test_what_blocks_is_what_a_whole_cloud_refuses_without_the_fallback(
    names: list[str], specs: dict[str, str], vcpus: int, release: str
) -> None:
    wanted = flavor("f", specs, vcpus)
    made = fleet({name.replace(" ", "-"): HOSTS[name] for name in names}, wanted, release=release)
    cloud = cloud_of(made)

    def taken(off: bool) -> set[str]:
        control = dataclasses.replace(made.scheduler, disable_fallback_pcpu_query=off)
        return set(cloud.select(ask(wanted, NO_IMAGE, control)).hosts)

    found = readiness(made)
    crashes = any(reach.crashes for reach in found.reaches)
    assert crashes <= (not taken(off=False))
    if not crashes:
        assert bool(found.blockers) == (bool(taken(off=False)) and not taken(off=True))
    lost = {name for reach in found.reaches for name in _named(made, reach.legacy, reach.wrong)}
    assert crashes or lost == taken(off=False) - taken(off=True)


def _named(made: Fleet, *places: tuple[int, ...]) -> t.Iterator[str]:
    for place in (place for part in places for place in part):
        yield from made.classes[place].names
