# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Image
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor_wish import (
    FlavorWish,
    wishes,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    CellUsage,
    Fleet,
    HostClass,
    Scheduler,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.flavor_design import (
    Design,
    design,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import examples
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import audit
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import (
    HostCase,
    Severity,
)

PAGES = examples.topology(huge_pages=8192)


def fleet(*cases: HostCase, release: str = "34.0.0", **other: t.Any) -> Fleet:
    hosts = tuple(
        HostClass(dataclasses.replace(case.host, name=f"cmp-{number}"), (f"cmp-{number}",))
        for number, case in enumerate(cases, 1)
    )
    return Fleet(Scheduler(release), hosts, **other)


def designed(
    *cases: HostCase, release: str = "34.0.0", images: tuple[Image, ...] = (), **wish: t.Any
) -> Design:
    given_ = {"name": "x", "intent": "pinned", "vcpus": 4, "ram": 4096, **wish}
    (made,) = design(wishes([given_]), fleet(*cases, release=release, images=images))
    return made


def why(made: Design, key: str) -> str:
    (found,) = [each.why for each in made.reasons if each.key == key]
    return found


def test_each_extra_spec_has_its_reason() -> None:
    made = designed(examples.new_style(machine=PAGES), intent="pinned-realtime")
    assert made.flavor.extra_specs == {
        "hw:cpu_policy": "dedicated",
        "hw:cpu_realtime": "yes",
        "hw:cpu_realtime_mask": "^0",
        "hw:mem_page_size": "large",
        "hw:emulator_threads_policy": "share",
        "hw:pmu": "false",
    }
    assert {each.key for each in made.reasons} == {*made.flavor.extra_specs, "hw:cpu_thread_policy"}
    assert all(each.why for each in made.reasons)
    assert [each.code for each in made.left] == ["FL-24"]


def test_share_needs_a_shared_set_on_every_host() -> None:
    both = examples.new_style(), examples.a_host(cpu_dedicated_set="1-15,17-31")
    made = designed(*both, intent="pinned-realtime")
    assert made.flavor.extra_specs["hw:emulator_threads_policy"] == "isolate"
    assert "not share, for cmp-2 refuses at driver" in why(made, "hw:emulator_threads_policy")
    with pytest.raises(
        InputError, match=r"x: cmp-2 is chosen and fails at driver: .*cpu_shared_se"
    ):
        designed(*both, intent="pinned-realtime", emulator="share")
    with pytest.raises(InputError, match="x: HC-16: cmp-2 has no cpu_shared_set"):
        designed(*both, emulator="share")


def test_emulator_threads_are_kept_off_isolated_shared_cpus() -> None:
    machine = dataclasses.replace(examples.topology(), isolated=2**32 - 2)
    made = designed(examples.new_style(machine=machine), intent="pinned-realtime")
    assert made.flavor.extra_specs["hw:emulator_threads_policy"] == "isolate"
    assert "not share, for cmp-1 has isolated CPUs" in why(made, "hw:emulator_threads_policy")
    kept = designed(examples.new_style(machine=machine), intent="pinned-realtime", emulator="share")
    assert kept.flavor.extra_specs["hw:emulator_threads_policy"] == "share"


def test_pages_are_asked_for_where_hosts_have_them() -> None:
    with_pages, without = examples.new_style(machine=PAGES), examples.new_style()
    assert designed(with_pages).flavor.extra_specs["hw:mem_page_size"] == "large"
    made = designed(with_pages, without)
    assert made.flavor.extra_specs["hw:mem_page_size"] == "small"
    assert "not large, for cmp-2 refuses" in why(made, "hw:mem_page_size")
    assert designed(with_pages, without, page_size="large").hosts == ("cmp-1",)
    odd = designed(with_pages, ram=4095)
    assert odd.flavor.extra_specs["hw:mem_page_size"] == "small"


def test_a_thread_policy_is_not_pretended() -> None:
    smt, plain = examples.new_style(), examples.no_smt()
    assert "hw:cpu_thread_policy" not in designed(smt, plain).flavor.extra_specs
    assert designed(smt, plain, threads="require").hosts == ("cmp-1",)
    assert designed(smt, plain, threads="isolate").hosts == ("cmp-2",)
    with pytest.raises(InputError, match="no host takes it"):
        designed(smt, threads="isolate")
    one_thread = examples.new_style(cpu_shared_set="0,8", cpu_dedicated_set="1-7,9-15")
    with pytest.raises(InputError, match="FL-49"):
        designed(one_thread, plain, vcpus=2, threads="isolate")


def test_masks_leave_cells_alike() -> None:
    made = designed(examples.new_style(), intent="mixed", vcpus=8, numa_cells=2, ordinary_vcpus=2)
    assert made.flavor.extra_specs["hw:cpu_dedicated_mask"] == "^0-1,^4-5"


def test_old_releases_are_minded() -> None:
    old = examples.new_style(release="21.0.0")
    with pytest.raises(InputError, match="the API refuses every boot"):
        designed(old, release="21.0.0", intent="mixed")
    with pytest.raises(InputError, match="API refuses"):
        designed(old, release="21.0.0", intent="pinned-realtime", ordinary_vcpus=0)
    made = designed(old, release="21.0.0", intent="pinned-realtime")
    assert made.flavor.extra_specs["hw:cpu_realtime_mask"] == "^0"


def test_all_vcpus_may_be_realtime_where_something_else_carries_the_emulator() -> None:
    made = designed(examples.new_style(), intent="pinned-realtime", ordinary_vcpus=0)
    assert "hw:cpu_realtime_mask" not in made.flavor.extra_specs
    assert made.flavor.extra_specs["hw:emulator_threads_policy"] == "share"


def test_only_the_hosts_that_it_is_tied_to_count() -> None:
    tied: dict[str, t.Any] = {
        "extra_specs": {"aggregate_instance_extra_specs:rt": "1"},
        "hosts": ["*-1"],
    }
    made = designed(examples.new_style(), examples.a_host(), intent="pinned-realtime", **tied)
    assert made.hosts == ("cmp-1",)
    with pytest.raises(InputError, match="there is no host 'other'"):
        designed(examples.new_style(), **{**tied, "hosts": ["*-1", "other"]})
    with pytest.raises(InputError, match="there is no host for it"):
        designed()


def test_a_trait_that_other_hosts_have_too_is_no_tie() -> None:
    rt = examples.new_style(traits=frozenset(["CUSTOM_RT"]))
    other = examples.new_style(traits=frozenset(["CUSTOM_X"]))
    tied: dict[str, t.Any] = {"extra_specs": {"trait:CUSTOM_RT": "required"}, "hosts": ["cmp-1"]}
    assert designed(rt, other, **tied).hosts == ("cmp-1",)
    with pytest.raises(InputError, match="by its traits cmp-2 takes it too"):
        designed(rt, rt, **tied)


def test_hosts_in_use_count_as_empty_unless_nothing_is_left() -> None:
    full = examples.new_style(
        usage=(CellUsage(0, 0x00FE00FE), CellUsage(1, 0xFE00FE00)), allocated={"PCPU": 28}
    )
    assert designed(full, examples.new_style()).hosts == ("cmp-1", "cmp-2")
    with pytest.raises(InputError, match="flavor x: FL-46"):
        designed(full)


def test_an_image_refuses_nothing_but_is_told_of() -> None:
    image = Image("odd", {"hw_cpu_policy": "dedicated"})
    made = designed(examples.new_style(), intent="mixed", images=(image,))
    assert ("FL-42", "flavor x with image odd") in {(each.code, each.subject) for each in made.left}


RELEASES = ["21.2.4", "22.0.0", "25.3.0", "27.1.0", "29.2.1", "34.0.0"]


@st.composite
def hosts(draw: st.DrawFn) -> HostCase:
    """Draw a host of any style, with any pages and with some of it in use."""
    machine = examples.topology(
        draw(st.sampled_from([1, 2, 2])),
        draw(st.sampled_from([2, 8, 8])),
        draw(st.sampled_from([1, 2])),
        draw(st.sampled_from([0, 0, 8192, 30000])),
    )
    cores = list(machine.cores)
    shared = draw(st.integers(0, min(2, len(cores) - 1)))
    sets = {
        "new": {"cpu_shared_set": cores[:shared], "cpu_dedicated_set": cores[shared:-1]},
        "dedicated": {"cpu_dedicated_set": cores[1:]},
        "shared": {"cpu_shared_set": cores[1:]},
        "legacy": {"vcpu_pin_set": cores[1:]},
        "bare": {},
    }[draw(st.sampled_from(["new", "new", "new", "dedicated", "shared", "legacy", "bare"]))]
    options = {
        key: ",".join(str(cpu) for cpu in range(64) if any(core >> cpu & 1 for core in given_))
        for key, given_ in sets.items()
        if given_
    }
    allocated = draw(st.sampled_from([{}, {}, {"PCPU": 1}, {"PCPU": 6, "MEMORY_MB": 60000}]))
    release = draw(st.sampled_from(RELEASES))
    return examples.a_host(machine, release=release, allocated=allocated, **options)


@st.composite
def wished(draw: st.DrawFn) -> FlavorWish:
    """Draw a wish."""
    cells = draw(st.sampled_from([1, 1, 2]))
    intent = draw(st.sampled_from(["pinned", "pinned-realtime", "mixed", "numa"]))
    given_: dict[str, t.Any] = {
        "name": "x",
        "intent": intent,
        "vcpus": cells * draw(st.integers(2, 4)),
        "ram": cells * draw(st.sampled_from([512, 1023, 2048, 4096])),
        "numa_cells": cells,
        "page_size": draw(st.sampled_from(["auto"] * 5 + ["none", "small", "large", "any"])),
        "threads": draw(st.sampled_from(["auto"] * 5 + ["prefer", "require", "isolate"])),
        "emulator": draw(st.sampled_from(["auto"] * 4 + ["none", "share", "isolate"])),
    }
    if intent == "pinned-realtime":
        given_["ordinary_vcpus"] = draw(st.integers(0, 1))
    (made,) = wishes([given_])
    return made


@given(st.lists(hosts(), min_size=1, max_size=3), wished(), st.sampled_from(RELEASES))
def test_what_is_made_boots_and_has_no_error(
    cases: list[HostCase], wish: FlavorWish, release: str
) -> None:
    given_ = fleet(*cases, release=release)
    try:
        (made,) = design((wish,), given_)
    except InputError:
        return
    bare = {(each.code, each.subject) for each in audit(given_).findings}
    found = audit(dataclasses.replace(given_, flavors=(made.flavor,)))
    (row,) = found.rows
    assert any(outcome.boots for outcome in row.outcomes)
    assert not any(outcome.stage in ("claim", "driver") for outcome in row.outcomes)
    added = [each for each in found.findings if (each.code, each.subject) not in bare]
    assert not [each for each in added if each.severity is Severity.ERROR]
    taken = {
        host.host.name
        for host, outcome in zip(found.hosts, row.outcomes, strict=True)
        if outcome.boots
    }
    assert taken <= set(made.hosts)
    for value, key in (
        (wish.page_size, "hw:mem_page_size"),
        (wish.threads, "hw:cpu_thread_policy"),
        (wish.emulator, "hw:emulator_threads_policy"),
    ):
        if value != "auto":
            assert made.flavor.extra_specs.get(key, "none") == value
