# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import CellPlace, Server
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.resident import (
    Resident,
    resident,
)
from ansible_collections.pinguard.nova.tests.unit.plugins.plugin_utils._nova.building import (
    server,
)

NEWEST = release("34.0.0")


def held(here: Resident) -> list[tuple[dict[int, int], int | None] | None]:
    assert here.holder is not None
    return [(dict(each.pins), each.reserved) if each else None for each in here.holder.pinnings()]


def test_pins_and_the_cpu_for_emulator_threads_are_taken_over() -> None:
    given = server("cpu_policy=dedicated emulator_threads_policy=isolate", 1, 5, reserved="2")
    here = resident(given, NEWEST)
    assert (here.pinned, set(here.policies), here.located) == (True, {"dedicated"}, True)
    assert held(here) == [({0: 1, 1: 5}, 2)]


def test_each_cell_keeps_its_own_place() -> None:
    places = (CellPlace(1, {0: 4}, page_size_kb=2048), CellPlace(0, {1: 0}, page_size_kb=2048))
    given = server("cpu_policy=dedicated numa_nodes=2 mem_page_size=2048", vcpus=2)
    here = resident(dataclasses.replace(given, places=places), NEWEST)
    assert here.holder is not None
    assert [(seat.cell, seat.page_size_kb) for seat in here.holder.seats] == [(1, 2048), (0, 2048)]
    assert held(here) == [({0: 4}, None), ({1: 0}, None)]


@pytest.mark.parametrize(
    ("given", "pinned", "located"),
    [
        (server(), False, True),
        (server("numa_nodes=1"), False, False),
        (dataclasses.replace(server("cpu_policy=dedicated", 0, 1), places=None), True, False),
        (server("cpu_policy=mixed cpu_dedicated_mask=1", vcpus=2), True, False),
        (server("cpu_policy=dedicated numa_nodes=2", 0, 1), True, False),
    ],
    ids=["plain", "floats in a cell", "nobody told", "mixed", "fewer places than cells"],
)
def test_where_a_server_sits_is_known_or_not(given: Server, pinned: bool, located: bool) -> None:
    here = resident(given, NEWEST)
    assert (here.pinned, here.located) == (pinned, located)


def test_a_floating_cell_holds_no_pins() -> None:
    given = dataclasses.replace(server("numa_nodes=1"), places=(CellPlace(0),))
    assert held(resident(given, NEWEST)) == [None]


def test_a_flavor_that_is_refused_today_does_not_unmake_its_server() -> None:
    given = server("cpu_policy=dedicated cpu_thread_policy=never", 2, 3)
    here = resident(given, NEWEST)
    assert (here.pinned, held(here)) == (True, [({0: 2, 1: 3}, None)])
    bare = resident(dataclasses.replace(given, places=None), NEWEST)
    assert (bare.guest, bare.pinned, set(bare.policies)) == (None, False, {None})


@pytest.mark.parametrize(("name", "policies"), [("21.2.4", {"dedicated"}), ("22.0.0", {"mixed"})])
def test_a_server_is_read_as_its_own_host_reads_it(name: str, policies: set[str]) -> None:
    given = server("cpu_policy=mixed cpu_dedicated_mask=1", vcpus=2)
    places = (CellPlace(0, {1: 3}),)
    here = resident(dataclasses.replace(given, places=places), release(name))
    assert (set(here.policies), here.pinned) == (policies, True)


def test_an_allocation_that_nobody_told_is_empty() -> None:
    assert resident(server(), NEWEST).allocation == {}
    assert resident(server(allocation={"VCPU": 2}), NEWEST).allocation == {"VCPU": 2}


def test_pins_count_more_than_a_flavor_that_asks_for_none() -> None:
    places = (CellPlace(0, {0: 1, 1: 5}),)
    here = resident(dataclasses.replace(server(vcpus=2), places=places), NEWEST)
    assert (here.pinned, here.located) == (True, True)
    assert held(here) == [({0: 1, 1: 5}, None)]


def test_pins_of_some_pinned_vcpus_alone_tell_nothing() -> None:
    given = server("cpu_policy=dedicated", vcpus=4)
    here = resident(dataclasses.replace(given, places=(CellPlace(0, {0: 1}),)), NEWEST)
    assert (here.pinned, here.located) == (True, False)
