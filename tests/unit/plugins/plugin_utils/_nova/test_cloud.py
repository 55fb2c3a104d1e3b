# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import to_text
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Scheduler
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import Allocation
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.cloud import Cloud
from ansible_collections.pinguard.nova.tests.unit.plugins.plugin_utils._nova.building import (
    flavor,
    host,
    server,
)

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host

LEGACY = {"vcpu_pin_set": "0-7"}
BOTH = {"cpu_shared_set": "0-1,4-5", "cpu_dedicated_set": "2-3,6-7"}
DEDICATED = "cpu_policy=dedicated"
ISOLATE = "cpu_policy=dedicated cpu_thread_policy=isolate"
MIXED = "cpu_policy=mixed cpu_dedicated_mask=1"


def named(name: str, release: str = "34.0.0", **options: t.Any) -> Host:
    return dataclasses.replace(host(release=release, **options), name=name)


def a_cloud(*hosts: Host, release: str = "34.0.0") -> Cloud:
    cloud = Cloud(Scheduler(release))
    for each in hosts:
        cloud.start(each)
    return cloud


def boot(cloud: Cloud, consumer: str, specs: str = "", name: str = "", vcpus: int = 2) -> str:
    """Boot a server on the named host, or the first that takes it; "" where none does."""
    asked = cloud.ask(flavor(specs, vcpus=vcpus, memory_mb=512), NO_IMAGE)
    selection = cloud.select(asked, (name,) if name else None)
    if not selection.hosts:
        return ""
    chosen = selection.hosts[0]
    assert cloud.place(consumer, asked, chosen, selection.outcomes[chosen]).clean
    return chosen


def state(cloud: Cloud) -> tuple[t.Any, ...]:
    """Give all that there is to know of a cloud; the order of servers is no part of it."""
    return cloud.scheduler, dict(cloud.hosts), dict(cloud.residents), dict(cloud.leaving)


def used(cloud: Cloud, name: str) -> dict[str, int]:
    provider = cloud.hosts[name].provider
    assert provider is not None
    return {key: amount for key, amount in provider.used.items() if key in ("VCPU", "PCPU")}


def pinned(cloud: Cloud, name: str) -> str:
    return to_text(sum(cell.pinned_cpus for cell in cloud.hosts[name].books or ()))


def test_servers_fill_a_host_until_it_is_full() -> None:
    cloud = a_cloud(named("a", **BOTH))
    cloud.scheduler = Scheduler("34.0.0", disable_fallback_pcpu_query=True)
    assert [boot(cloud, str(number), DEDICATED) for number in range(3)] == ["a", "a", ""]
    assert (used(cloud, "a"), pinned(cloud, "a")) == ({"PCPU": 4}, "2-3,6-7")
    cloud.remove("0", "a")
    assert used(cloud, "a") == {"PCPU": 2}
    assert boot(cloud, "3", DEDICATED) == "a"


def test_a_host_that_ran_for_a_while_holds_what_its_servers_and_others_hold() -> None:
    cloud = Cloud(Scheduler("34.0.0"))
    told = server(DEDICATED, 2, 6, name="told", allocation={"VCPU": 2})
    untold = server(DEDICATED, 3, 7, name="untold")
    cloud.settle_in(named("a", **BOTH), (told, untold), (Allocation("leak", "a", {"PCPU": 1}),))
    assert (used(cloud, "a"), pinned(cloud, "a")) == ({"VCPU": 2, "PCPU": 3}, "2-3,6-7")
    legacy = Cloud(Scheduler("34.0.0"))
    legacy.settle_in(named("a", **LEGACY), (untold,))
    assert used(legacy, "a") == {"VCPU": 2}


def test_a_restart_moves_the_allocations_of_servers_that_are_there_and_on_their_way() -> None:
    cloud = a_cloud(named("a", **LEGACY), named("b", **LEGACY))
    for consumer in ("stays", "leaves"):
        boot(cloud, consumer, DEDICATED, "a")
    cloud.depart("leaves", "a")
    boot(cloud, "leaves", DEDICATED, "b")
    cpus = pinned(cloud, "a")
    start = cloud.start(named("a", cpu_dedicated_set="0-7"))
    assert start.clean
    assert set(start.moved) == {"stays", "leaves"}
    assert (used(cloud, "a"), used(cloud, "b")) == ({"PCPU": 4}, {"VCPU": 2})
    assert pinned(cloud, "a") == cpus
    cloud.confirm("leaves")
    assert used(cloud, "a") == {"PCPU": 2}
    cloud.remove("stays", "a")
    assert (used(cloud, "a"), pinned(cloud, "a")) == ({}, "")


def test_a_host_whose_updates_fail_takes_what_the_old_record_lets_in_and_fails_it() -> None:
    cloud = a_cloud(named("a", **LEGACY))
    boot(cloud, "p", DEDICATED)
    first, second = (int(cpu) for cpu in pinned(cloud, "a").split(","))
    rest = to_text(255 & ~(1 << first | 1 << second))
    start = cloud.start(named("a", cpu_dedicated_set=rest, cpu_shared_set=f"{first},{second}"))
    assert start.failure is not None
    assert start.failure.name == "CPUPinningUnknown"
    asked = cloud.ask(flavor(DEDICATED, vcpus=2, memory_mb=512), NO_IMAGE)
    outcome = cloud.select(asked).outcomes["a"]
    assert (outcome.boots, outcome.query) == (True, "fallback")
    assert cloud.place("q", asked, "a", outcome).refusal is not None
    assert used(cloud, "a") == {"VCPU": 2}
    assert set(cloud.residents["a"]) == {"p"}
    assert cloud.start(named("a", **LEGACY)).clean
    cloud.remove("p", "a")
    assert cloud.update("a").clean


@pytest.mark.parametrize(("release", "error"), [("21.2.4", "api"), ("22.0.0", "")])
def test_policy_mixed_waits_for_the_last_compute(release: str, error: str) -> None:
    cloud = a_cloud(named("a", **BOTH), named("b", release, **BOTH))
    selection = cloud.select(cloud.ask(flavor(MIXED, vcpus=2, memory_mb=512), NO_IMAGE))
    assert (selection.refusal.stage if selection.refusal else "") == error
    if selection.refusal:
        assert selection.refusal.error == "MixedInstanceNotSupportByComputeService"
        cloud.start(named("b", **BOTH))
        assert boot(cloud, "m", MIXED) == "a"
        assert used(cloud, "a") == {"PCPU": 1, "VCPU": 1}


def test_the_owner_trait_is_asked_for_once_every_compute_has_it() -> None:
    cloud = a_cloud(named("a", **BOTH), named("b", "33.0.2", **BOTH))
    assert boot(cloud, "1", name="b") == "b"
    cloud.start(named("b", **BOTH))
    assert cloud.ask(flavor(), NO_IMAGE).scope.root_required == {"OWNER_NOVA"}
    assert boot(cloud, "2", name="b") == "b"


def test_a_host_that_is_down_takes_nobody() -> None:
    cloud = a_cloud(named("a", **BOTH))
    assert not cloud.start(named("a", **BOTH, **LEGACY)).clean
    assert boot(cloud, "1") == ""
    assert cloud.start(named("a", **BOTH)).clean
    assert boot(cloud, "1") == "a"


def test_hosts_with_equal_parts_are_worked_out_once() -> None:
    cloud = Cloud(Scheduler("34.0.0"))
    first = named("a", **BOTH)
    one, two = cloud.empty(first), cloud.empty(dataclasses.replace(first, name="b"))
    assert one.cells is two.cells
    assert two.host.name == "b"
    assert two.provider is not None
    assert two.provider.name == "b"


SPECS = st.sampled_from(("", DEDICATED, ISOLATE, f"{DEDICATED} emulator_threads_policy=isolate"))
FLEETS = st.lists(
    st.sampled_from((LEGACY, BOTH, {"cpu_dedicated_set": "0-7"}, {})), min_size=1, max_size=3
)


@st.composite
def clouds(draw: st.DrawFn) -> Cloud:
    """Draw a cloud with servers on it."""
    release = draw(st.sampled_from(("20.6.1", "25.3.0", "26.3.0", "34.0.0")))
    hosts = [named(f"h{n}", release, **options) for n, options in enumerate(draw(FLEETS))]
    cloud = a_cloud(*hosts, release=release)
    for index, specs in enumerate(draw(st.lists(SPECS, max_size=3))):
        boot(cloud, str(index), specs)
    return cloud


@given(cloud=clouds(), specs=SPECS, vcpus=st.integers(1, 4))
def test_a_server_that_boots_and_goes_leaves_no_trace(cloud: Cloud, specs: str, vcpus: int) -> None:
    before = state(cloud)
    chosen = boot(cloud, "guest", specs, vcpus=vcpus)
    if chosen:
        assert state(cloud) != before
        cloud.remove("guest", chosen)
    assert state(cloud) == before


@given(cloud=clouds(), there=st.sampled_from(("confirm", "revert", "stay")))
def test_a_move_ends_on_one_host(cloud: Cloud, there: str) -> None:
    source = boot(cloud, "guest", DEDICATED)
    if not source:
        return
    settled = state(cloud)
    here = cloud.residents[source]["guest"]
    assert cloud.depart("guest", source) is None
    assert cloud.hosts == settled[1]
    target = "" if there == "stay" else boot(cloud, "guest", DEDICATED)
    if not target:
        cloud.stay("guest")
        assert state(cloud) == settled
    elif there == "revert":
        assert cloud.revert("guest", target) == source
        assert state(cloud) == settled
    else:
        amount = sum(sum(used(cloud, name).values()) for name in cloud.hosts)
        cloud.confirm("guest")
        left = sum(sum(used(cloud, name).values()) for name in cloud.hosts)
        cpus = sum(here.allocation.get(name, 0) for name in ("VCPU", "PCPU"))
        assert (amount - left, cloud.leaving) == (cpus, {})
        assert "guest" in cloud.residents[target]


@given(cloud=clouds(), specs=SPECS)
def test_a_snapshot_brings_back_whatever_happened(cloud: Cloud, specs: str) -> None:
    before, back = state(cloud), cloud.snapshot()
    for _again in range(2):
        boot(cloud, "guest", specs)
        for name, residents in list(cloud.residents.items()):
            for consumer in residents:
                cloud.depart(consumer, name)
        cloud.start(named("h0", **BOTH))
        cloud.scheduler = Scheduler("34.0.0", disable_fallback_pcpu_query=True)
        back()
        assert state(cloud) == before


@given(cloud=clouds())
def test_an_update_of_a_host_that_is_well_changes_nothing(cloud: Cloud) -> None:
    before = state(cloud)
    for name in cloud.hosts:
        assert cloud.update(name).clean
    assert state(cloud) == before


def test_a_moved_server_that_is_deleted_at_once_leaves_its_pins_until_the_next_update() -> None:
    cloud = a_cloud(named("a", **BOTH), named("b", **BOTH))
    assert boot(cloud, "m", DEDICATED, name="a") == "a"
    cloud.depart("m", "a")
    assert boot(cloud, "m", DEDICATED, name="b") == "b"
    cloud.confirm("m")
    cloud.remove("m", "b")
    assert used(cloud, "b") == {}
    assert any(cell.pinned_cpus for cell in cloud.hosts["b"].cells or ())
    cloud.update("b")
    assert not any(cell.pinned_cpus for cell in cloud.hosts["b"].cells or ())


def test_a_server_does_not_leave_a_host_that_has_less_than_it_holds() -> None:
    cloud = a_cloud(named("a"), named("b"))
    assert boot(cloud, "f", vcpus=4, name="a") == "a"
    cloud.start(named("a", cpu_shared_set="0-2"))
    refusal = cloud.depart("f", "a")
    assert refusal is not None
    assert refusal.name == "NoValidHost"
    assert "f" in cloud.residents["a"]
