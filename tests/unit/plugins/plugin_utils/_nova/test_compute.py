# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import mask, parse_nova
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import compute
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.compute import Start
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.resident import Leaving, resident
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.schedule import HostView, view
from ansible_collections.pinguard.nova.tests.unit.plugins.plugin_utils._nova.building import (
    host,
    server,
)

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import Server

LEGACY: dict[str, t.Any] = {"vcpu_pin_set": "0-7"}
BOTH: dict[str, t.Any] = {"cpu_shared_set": "0,4", "cpu_dedicated_set": "1-3,5-7"}
DEDICATED = "cpu_policy=dedicated"
ISOLATE = "cpu_policy=dedicated cpu_thread_policy=isolate"
EMULATOR = "cpu_policy=dedicated emulator_threads_policy=isolate"


def running(options: dict[str, t.Any], *servers: Server, name: str = "34.0.0") -> HostView:
    """Give a host that has run for a while with its servers."""
    here = [resident(each, release(name, host=True)) for each in servers]
    return compute.established(view(host(release=name, **options)), here, {})


def restarted(
    before: dict[str, t.Any],
    after: dict[str, t.Any],
    *servers: Server,
    name: str = "34.0.0",
    then: str = "",
) -> Start:
    """Restart a host with other options, and perhaps of another release."""
    here = [resident(each, release(then or name, host=True)) for each in servers]
    now = running(before, *servers, name=name)
    return compute.start(host(release=then or name, **after), here, now)


def pinned(seen: HostView) -> int:
    return sum(cell.pinned_cpus for cell in seen.books or ())


def used(seen: HostView) -> dict[str, int]:
    assert seen.provider is not None
    return dict(seen.provider.used)


def offered(seen: HostView) -> dict[str, int]:
    assert seen.provider is not None
    found = seen.provider.inventories
    return {name: found[name].total for name in ("VCPU", "PCPU") if name in found}


def test_a_new_host_reports_what_its_options_say() -> None:
    start = compute.start(host(**BOTH), ())
    assert start.clean
    assert offered(start.seen) == {"VCPU": 2, "PCPU": 6}


@pytest.mark.parametrize(
    ("specs", "pins", "reserved", "held"),
    [
        (DEDICATED, (1, 5), "", "1,5"),
        (EMULATOR, (1, 5), "2", "1-2,5"),
        (ISOLATE, (1, 2), "", "1-2,5-6"),
    ],
    ids=["plain", "emulator threads", "isolate"],
)
def test_the_reshape_moves_amounts_as_they_are(
    specs: str, pins: tuple[int, ...], reserved: str, held: str
) -> None:
    guest = server(specs, *pins, reserved=reserved, allocation={"VCPU": 2, "MEMORY_MB": 512})
    floating = server(name="f", allocation={"VCPU": 2})
    start = restarted(LEGACY, BOTH, guest, floating)
    assert start.clean
    assert start.moved == {"s": {"PCPU": 2, "MEMORY_MB": 512}}
    assert used(start.seen) == {"PCPU": 2, "VCPU": 2, "MEMORY_MB": 512}
    assert pinned(start.seen) == parse_nova(held)


def test_the_reshape_comes_once_and_passes_mixed_servers_over() -> None:
    late = server(DEDICATED, 1, 5, allocation={"VCPU": 2})
    mixed = server("cpu_policy=mixed cpu_dedicated_mask=1", 1, vcpus=2, allocation={"VCPU": 2})
    assert restarted(BOTH, {**BOTH, "cpu_shared_set": "0"}, late).moved == {}
    assert restarted({}, BOTH, mixed).moved == {}


def test_a_reshape_that_placement_does_not_take_kills_at_any_release() -> None:
    guest = server(DEDICATED, 1, 5, allocation={"VCPU": 2})
    both = server(DEDICATED, 2, 6, name="b", allocation={"VCPU": 2, "PCPU": 1})
    for name in ("20.6.1", "34.0.0"):
        start = restarted(LEGACY, {"cpu_dedicated_set": "1-3,5-7"}, guest, both, name=name)
        assert start.refusal is not None
        assert start.refusal.name == "ReshapeFailed"
        assert offered(start.seen) == {"VCPU": 8}


def test_an_update_does_not_reshape() -> None:
    guest = resident(server(DEDICATED, 1, 5, allocation={"VCPU": 2}), release("34.0.0"))
    seen = running(BOTH, server(DEDICATED, 1, 5, allocation={"VCPU": 2}))
    assert seen.provider is not None
    old = {"VCPU": seen.provider.inventories["VCPU"]}
    late = dataclasses.replace(seen, provider=dataclasses.replace(seen.provider, inventories=old))
    update = compute.update(late, [guest])
    assert update.failure is not None
    assert update.failure.name == "ReshapeNeeded"


@pytest.mark.parametrize(
    ("options", "servers", "error"),
    [
        ({"cpu_dedicated_set": "1-7"}, [server()], "InvalidConfiguration"),
        ({"cpu_shared_set": "0-7"}, [server(DEDICATED, 1, 5)], "InvalidConfiguration"),
        (
            {"cpu_dedicated_set": "1-7"},
            [server("cpu_policy=mixed cpu_dedicated_mask=1", 1, vcpus=2)],
            "InvalidConfiguration",
        ),
        ({**BOTH, "cpu_shared_set": "0-1"}, [], "InvalidConfiguration"),
        ({**BOTH, **LEGACY}, [], "InvalidConfiguration"),
        ({"cpu_dedicated_set": "1-"}, [], "Invalid"),
    ],
    ids=["floating", "pinned", "mixed", "overlap", "old and new", "unreadable"],
)
def test_a_refused_start_leaves_the_host_as_it_was_known(
    options: dict[str, t.Any], servers: list[Server], error: str
) -> None:
    before = running(LEGACY, *servers)
    here = [resident(each, release("34.0.0")) for each in servers]
    start = compute.start(host(**options), here, before)
    assert start.refusal is not None
    assert start.refusal.name == error
    assert start.seen == dataclasses.replace(before, fault=start.refusal)


def test_a_server_that_is_told_of_is_named() -> None:
    start = restarted(LEGACY, {"cpu_dedicated_set": "1-7"}, server(name="db-1"))
    assert "server db-1 floats" in str(start.refusal)


@pytest.mark.parametrize("options", [{"cpu_dedicated_set": "1-7"}, {"cpu_shared_set": "0-7"}])
def test_servers_are_not_held_against_options_before_train(options: dict[str, str]) -> None:
    servers = server(), server(DEDICATED, 1, 5, name="p")
    assert restarted({}, options, *servers, name="19.3.2").refusal is None


@pytest.mark.parametrize(
    ("options", "guest", "error"),
    [
        (
            {**BOTH, "cpu_dedicated_set": "1-3,6-7"},
            server(DEDICATED, 1, 5, allocation={"VCPU": 2}),
            "CPUPinningUnknown",
        ),
        (
            {"cpu_shared_set": "0,4-5", "cpu_dedicated_set": "1-3,6-7"},
            server(ISOLATE, 1, 2, allocation={"VCPU": 2}),
            "CPUPinningUnknown",
        ),
        ({**BOTH, "cpu_shared_set": "0,9"}, server(name="f"), "Invalid"),
    ],
    ids=["pins outside", "siblings shared", "a CPU that is not there"],
)
def test_a_failing_update_runs_on_and_everything_known_grows_old(
    options: dict[str, str], guest: Server, error: str
) -> None:
    start = restarted(LEGACY, options, guest)
    before = running(LEGACY, guest)
    assert start.refusal is None
    assert start.failure is not None
    assert start.failure.name == error
    assert (start.seen.cells, start.seen.provider) == (before.cells, before.provider)
    assert start.seen.books != before.books
    assert start.moved == {}


def test_a_cpu_that_two_servers_have_fails_the_update() -> None:
    servers = server(DEDICATED, 1, 5), server(DEDICATED, 5, 6, name="other")
    start = restarted(BOTH, BOTH, *servers)
    assert start.failure is not None
    assert start.failure.name == "CPUPinningInvalid"
    assert pinned(start.seen) == parse_nova("1,5")


@pytest.mark.parametrize(
    ("name", "runs", "error"),
    [("25.3.0", True, "ResourceProviderSyncFailed"), ("26.0.0", False, "PlacementPciException")],
)
def test_a_class_that_is_allocated_does_not_leave_the_inventory(
    name: str, runs: bool, error: str
) -> None:
    guest = server(DEDICATED, 1, 5, allocation={"PCPU": 2})
    start = restarted(BOTH, LEGACY, guest, name=name)
    fault = start.failure if runs else start.refusal
    assert fault is not None
    assert fault.name == error
    assert offered(start.seen) == {"VCPU": 2, "PCPU": 6}
    assert used(start.seen) == {"PCPU": 2}


def test_a_ratio_stays_until_it_is_set() -> None:
    def ratio(start: Start) -> float:
        assert start.seen.provider is not None
        return start.seen.provider.inventories["VCPU"].ratio

    assert ratio(compute.start(host(release="26.3.0", **BOTH), ())) == 16.0
    assert ratio(compute.start(host(release="27.0.0", **BOTH), ())) == 4.0
    assert ratio(restarted(BOTH, BOTH, name="26.3.0", then="27.0.0")) == 16.0
    assert ratio(restarted(BOTH, {**BOTH, "cpu_allocation_ratio": 3.0})) == 3.0


def test_servers_that_leave_count_but_do_not_hold_the_options() -> None:
    old = resident(server(DEDICATED, 1, 5, allocation={"PCPU": 2}), release("34.0.0"))
    gone = Leaving("h", old)
    floats = Leaving("h", resident(server(name="f"), release("34.0.0")))
    only_shared = host(cpu_shared_set="0-7")
    only_dedicated = host(cpu_dedicated_set="1-7")
    assert compute.start(only_shared, [], None, [gone]).refusal is None
    assert compute.start(only_dedicated, [], None, [floats]).clean
    start = compute.start(host(**BOTH), [], None, [gone])
    assert pinned(start.seen) == parse_nova("1,5")


def test_a_build_that_fails_keeps_its_claim_in_the_books_of_nova_compute_alone() -> None:
    guest = server(DEDICATED, 1, 5, allocation={"VCPU": 2})
    stale = restarted(LEGACY, {**BOTH, "cpu_dedicated_set": "1-3,6-7"}, guest).seen
    doomed = resident(server(DEDICATED, 2, 6, name="d"), release("34.0.0"))
    silent = compute.enter(stale, doomed)
    assert silent.refusal is not None
    assert (silent.refusal.name, silent.seen) == ("AttributeError", stale)
    known = dataclasses.replace(stale, unreported=False)
    build = compute.enter(known, doomed)
    assert build.refusal is not None
    assert build.refusal.name == "ReshapeNeeded"
    assert pinned(build.seen) == parse_nova("2,6")
    assert (build.seen.cells, build.seen.provider) == (stale.cells, stale.provider)


def test_a_reshape_checks_every_allocation_anew() -> None:
    pins = server(DEDICATED, 1, 5, allocation={"VCPU": 2})
    floats = server(name="f", allocation={"VCPU": 3})
    wide, narrow = ({**BOTH, "cpu_shared_set": cpus} for cpus in ("0,4,7", "0,4"))
    wide, narrow = ({**each, "cpu_dedicated_set": "1-3,5-6"} for each in (wide, narrow))
    assert restarted(LEGACY, wide, pins, floats).clean
    start = restarted(LEGACY, narrow, pins, floats)
    assert start.refusal is not None
    assert start.refusal.name == "ReshapeFailed"
    assert restarted(LEGACY, narrow, floats).clean


@st.composite
def guests(draw: st.DrawFn) -> list[Server]:
    """Draw servers that fit a host of four cores together."""
    found = []
    for core in draw(st.permutations(range(4)))[: draw(st.integers(0, 4))]:
        shapes = [(DEDICATED, (core, core + 4)), (DEDICATED, (core,)), (ISOLATE, (core,))]
        specs, pins = draw(st.sampled_from(shapes))
        found.append(server(specs, *pins, name=f"p{core}", allocation={"VCPU": len(pins)}))
    if draw(st.booleans()):
        found.append(server(name="f", allocation={"VCPU": 2}))
    return found


RELEASES = st.sampled_from(("20.6.1", "25.3.0", "26.3.0", "34.0.0"))


@given(servers=guests(), name=RELEASES)
def test_a_restart_with_the_same_options_changes_nothing(servers: list[Server], name: str) -> None:
    start = restarted(LEGACY, LEGACY, *servers, name=name)
    assert start.clean
    assert start.seen == running(LEGACY, *servers, name=name)


@given(servers=guests(), name=RELEASES)
def test_who_comes_and_goes_leaves_no_trace(servers: list[Server], name: str) -> None:
    empty = running(LEGACY, name=name)
    here = [resident(each, release(name)) for each in servers]
    seen = empty
    for each in here:
        entered = compute.enter(compute.allocated(seen, each.allocation), each)
        assert entered.clean
        seen = entered.seen
    assert used(seen).get("VCPU", 0) == sum(each.allocation["VCPU"] for each in here)
    for each in reversed(here):
        seen = compute.leave(seen, each).seen
    assert seen == empty


@given(servers=guests(), shared=st.sets(st.integers(0, 7)).map(mask), name=RELEASES)
def test_the_reshape_loses_no_amount(servers: list[Server], shared: int, name: str) -> None:
    options = {
        key: ",".join(str(cpu) for cpu in range(8) if cpus >> cpu & 1)
        for key, cpus in {"cpu_shared_set": shared, "cpu_dedicated_set": 255 & ~shared}.items()
        if cpus
    }
    before = running(LEGACY, *servers, name=name)
    start = restarted(LEGACY, options, *servers, name=name)
    assert sum(used(start.seen).values()) == sum(used(before).values())
    if not start.clean:
        assert used(start.seen) == used(before)
