# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import fractions
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import (
    ids,
    mask,
    parse_nova,
    to_text,
)
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import (
    HostConfig,
    StrayOption,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.topology import (
    Cpu,
    NumaCell,
    Topology,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.wish import (
    ExplicitSets,
    Wish,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.cpu_sets import (
    CpuRoles,
    derive,
    explicit,
    target_config,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import examples

Question = tuple[Topology, Wish, int, tuple[int, ...], int]
ROLES = ("shared", "dedicated", "host", "data_path", "left_out")


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Draw machines with any ids, offline threads and cells without CPUs; CPU 0 is online."""
    threads = draw(st.sampled_from([1, 2, 4, 8]))
    counts = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4).filter(any))
    total = sum(counts)
    step = draw(st.sampled_from([1, 3]))
    numbers = [step * number for number in range(total * threads)]
    if draw(st.booleans()):
        numbers = [0, *draw(st.permutations(numbers[1:]))]
    offline = set(draw(st.lists(st.sampled_from(numbers), max_size=4))) - {0}
    cells = []
    for index, count in enumerate(counts):
        cpus = []
        for _core in range(count):
            members, numbers = numbers[:threads], numbers[threads:]
            core = tuple(sorted(cpu for cpu in members if cpu not in offline))
            cpus += [Cpu(cpu, core) for cpu in core]
        cells.append(NumaCell(index, tuple(sorted(cpus, key=lambda cpu: cpu.id)), 1024))
    online = sum(cell.cpuset for cell in cells)
    return Topology(tuple(cells), online, online | mask(offline))


def some_of(cpus: int) -> st.SearchStrategy[int]:
    return st.lists(st.sampled_from(list(ids(cpus))), max_size=3).map(mask)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    topology = draw(topologies())
    fraction = draw(st.integers(0, 20).map(lambda part: part / 20))
    cores = draw(st.none() | st.integers(0, 2))
    wish = Wish(
        draw(st.integers(1, 2)),
        draw(st.booleans()),
        fraction,
        cores,
        draw(some_of(topology.online)),
    )
    data_path, later, pinned = (draw(some_of(topology.present)) for _part in range(3))
    return topology, wish, data_path, (later,), pinned & ~(1 | data_path | wish.leave_out)


@given(questions())
def test_the_laws_of_shared_out_cores(question: Question) -> None:
    topology, wish, data_path_cpus, _later, pinned = question
    try:
        roles = derive(*question)
    except InputError:
        return
    assert roles == derive(*question)
    sets = [getattr(roles, role) for role in ROLES]
    assert sum(sets) == topology.online
    assert all(sum(1 for cpus in sets if cpus & core) == 1 for core in topology.cores)
    assert not data_path_cpus & topology.online & ~roles.data_path
    assert not wish.leave_out & ~(roles.left_out | roles.data_path)
    assert not pinned & topology.online & ~roles.dedicated
    assert 1 & (roles.host | roles.data_path | roles.left_out)
    for cell in topology.cells:
        cores = [core for core in topology.cores if core & cell.cpuset]
        shared = sum(1 for core in cores if core & roles.shared)
        rest = shared + sum(1 for core in cores if core & roles.dedicated)
        own = sum(1 for core in cores if core & roles.host)
        if cores:
            assert own == wish.housekeeping_cores or not wish.housekeeping_in_each_cell
            if wish.shared_cores is not None:
                assert shared == wish.shared_cores
            else:
                share = fractions.Fraction(str(wish.shared_fraction)) * rest
                assert abs(shared - share) <= fractions.Fraction(1, 2)


@given(questions())
def test_a_second_run_changes_nothing(question: Question) -> None:
    topology, wish, data_path_cpus, _later, pinned = question
    try:
        roles = derive(*question)
    except InputError:
        return
    for still_pinned in (pinned, 0):
        again = derive(
            topology, wish, data_path_cpus, (roles.dedicated, roles.shared), still_pinned
        )
        assert again == roles


def listed(roles: CpuRoles) -> dict[str, str]:
    return {role: text for role in ROLES if (text := to_text(getattr(roles, role)))}


@pytest.mark.parametrize(
    ("wish", "more", "expected"),
    [
        (
            Wish(),
            {},
            {"dedicated": "1-3,5-7,9-11,13-15", "host": "0,4,8,12"},
        ),
        (
            Wish(shared_cores=1),
            {},
            {"shared": "1,5,9,13", "dedicated": "2-3,6-7,10-11,14-15", "host": "0,4,8,12"},
        ),
        (
            Wish(shared_fraction=1.0, housekeeping_in_each_cell=False),
            {},
            {"shared": "1-7,9-15", "host": "0,8"},
        ),
        (
            Wish(leave_out=1 << 5),
            {"data_path_cpus": 1 << 9},
            {
                "dedicated": "2-3,6-7,10-11,14-15",
                "host": "0,4,8,12",
                "data_path": "1,9",
                "left_out": "5,13",
            },
        ),
        (
            Wish(shared_cores=1),
            {"later": (1 << 1,), "must_stay_dedicated": 1 << 4},
            {"shared": "2,6,10,14", "dedicated": "1,3-4,7,9,11-12,15", "host": "0,5,8,13"},
        ),
    ],
)
def test_cores_are_shared_out(wish: Wish, more: dict[str, t.Any], expected: dict[str, str]) -> None:
    roles = derive(examples.topology(cells=2, cores=4), wish, **more)
    assert listed(roles) == expected


@pytest.mark.parametrize(
    ("wish", "more", "message"),
    [
        (
            Wish(housekeeping_cores=5),
            {},
            "cell 0: 5 cores are wished for the host, and 4 of its 4 cores",
        ),
        (
            Wish(shared_cores=3),
            {"data_path_cpus": parse_nova("4")},
            "cell 1: 3 cores are wished shared, and 2 of its 3 cores",
        ),
        (Wish(housekeeping_cores=4), {}, "no core is left for guests"),
        (Wish(), {"must_stay_dedicated": 1}, "guests are pinned to CPU 0"),
        (Wish(leave_out=2), {"must_stay_dedicated": 1 << 9}, "guests are pinned to CPU 9"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused(
    wish: Wish, more: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        derive(examples.topology(cells=2, cores=4), wish, **more)


def test_explicit_sets_are_taken_as_they_are() -> None:
    topology = examples.topology(cells=1, cores=4)
    roles = explicit(topology, ExplicitSets("1,5", "2,6"), parse_nova("3"))
    assert listed(roles) == {"shared": "1,5", "dedicated": "2,6", "host": "0,4", "data_path": "3,7"}


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (ExplicitSets(), "no CPU is for guests"),
        (ExplicitSets("x"), "cpu_shared_set: 'x' is neither"),
        (ExplicitSets("1", "2,^2"), "cpu_dedicated_set: the list names no CPU"),
    ],
)
def test_explicit_sets_without_cpus_are_refused(sets: ExplicitSets, message: str) -> None:
    with pytest.raises(InputError, match=message):
        explicit(examples.topology(), sets)


STRAY = StrayOption("cpu_dedicated_set", "DEFAULT", "nova.conf:3", "[compute] cpu_dedicated_set")
LEGACY = HostConfig(
    vcpu_pin_set="1-3", cpu_shared_set="0", reserved_host_cpus=2, file_backed_memory=1
)


@pytest.mark.parametrize(
    ("config", "phase", "expected"),
    [
        (
            dataclasses.replace(LEGACY, strays=(STRAY,), origins={"vcpu_pin_set": "nova.conf:2"}),
            "new",
            {"cpu_shared_set": "0", "cpu_dedicated_set": "1-2"},
        ),
        (
            LEGACY,
            "legacy",
            {"vcpu_pin_set": "1-3", "cpu_shared_set": "0", "reserved_host_cpus": 2},
        ),
        (
            HostConfig(cpu_shared_set="4", cpu_dedicated_set="5", file_backed_memory=1),
            "legacy",
            {"vcpu_pin_set": "0-2"},
        ),
    ],
)
def test_a_phase_decides_on_its_options_alone(
    config: HostConfig, phase: str, expected: dict[str, t.Any]
) -> None:
    found = target_config(config, CpuRoles(0b001, 0b110, 0), phase)
    assert found == HostConfig(**{"file_backed_memory": 1, **expected})


def test_a_set_without_cpus_is_left_out() -> None:
    assert target_config(HostConfig(), CpuRoles(0, 0b1, 0)) == HostConfig(cpu_dedicated_set="0")
