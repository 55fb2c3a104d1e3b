# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import (
    LATEST,
    OLDEST,
    SERIES,
    SLURP,
    Release,
    affected,
    older,
    path,
    release,
)


@pytest.mark.parametrize(
    ("behaviour", "without", "with_it"),
    [
        ("isolate_guard", "20.0.0 20.4.0 21.0.0 21.1.0", "20.4.1 20.6.1 21.1.1 22.0.0 34.0.0"),
        ("image_shared_policy", "20.0.0 20.1.1", "20.2.0 21.0.0 34.0.0"),
        ("digits_page_size", "20.3.0 21.0.0", "20.4.0 21.1.0 22.0.0"),
        ("mixed_policy", "20.6.1 21.2.4", "22.0.0 34.0.0"),
        ("policy_first", "21.2.4", "22.0.0"),
        ("mixed_counts_shared", "22.4.0", "23.0.0"),
        ("threads_from_pinning", "23.1.0 24.0.0 34.0.0", "20.0.0 22.4.0 23.0.2"),
        ("packing_option", "24.2.1", "25.0.0 26.0.0"),
        ("packs_by_default", "24.2.1 26.0.0 34.0.0", "25.0.0 25.3.0"),
        ("fit_caches", "25.3.0", "26.0.0 34.0.0"),
        ("lean_initial_ratios", "26.3.0", "27.0.0"),
        ("power_management", "26.3.0", "27.0.0"),
        ("empty_pinning", "27.0.0 26.3.0", "27.1.0 28.0.0"),
        ("power_management_without_dedicated", "27.0.0 27.1.0 28.0.0", "27.2.0 28.0.1 29.0.0"),
        ("powers_emulator_cpu", "27.2.0 28.0.1", "27.3.0 28.1.0 29.0.0"),
        ("pinned_memory_by_pages", "29.4.0", "30.0.0 34.0.0"),
        ("max_topology_validator", "30.2.0 31.1.0", "30.3.0 31.2.0 32.0.0"),
        ("encryption_in_constraints", "33.0.2", "34.0.0"),
        ("runs_on_old_python", "21.0.0", "20.6.1"),
    ],
)
def test_when_a_behaviour_changes(behaviour: str, without: str, with_it: str) -> None:
    for text in without.split():
        assert not getattr(release(text), behaviour), text
    for text in with_it.split():
        assert getattr(release(text), behaviour), text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("27.1.0", "27.1.0"),
        ("27.1", "27.1.0"),
        ("27", "27.0.0"),
        ("2023.1", "27.0.0"),
        ("Antelope", "27.0.0"),
        ("stable/2025.1", "31.0.0"),
        (" yoga ", "25.0.0"),
        ("master", "34.0.0"),
    ],
)
def test_what_names_a_release(text: str, name: str) -> None:
    assert release(text).name == name


def test_every_series_is_known() -> None:
    for major, names in SERIES.items():
        for name in names:
            assert release(name, host=True).name == f"{major}.0.0"


@pytest.mark.parametrize(
    "text",
    ["", "19.0.0", "stein", "35.0.0", "27.x", "banana", "1.2.3.4", "27.1.0.1", "-27", "2\n7"],
)
def test_other_texts_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError) as caught:
        release(text)
    assert "\n" not in str(caught.value)
    assert "20.0.0 to 34.0.0" in str(caught.value)


def test_a_host_may_be_older_than_its_control_plane() -> None:
    stein = release("stein", host=True)
    assert (stein.name, stein.dedicated_set, stein.shared_set) == ("19.0.0", False, True)
    assert not release("queens", host=True).shared_set
    with pytest.raises(InputError):
        release("12.0.0", host=True)


def test_every_behaviour_is_seen_in_some_release_and_missed_in_another() -> None:
    every = [release(name, host=True) for names in SERIES.values() for name in names]
    for field in dataclasses.fields(Release):
        if field.metadata:
            assert {getattr(one, field.name) for one in every} == {True, False}, field.name


@pytest.mark.parametrize(
    ("current", "target", "way"),
    [
        ("25.0.0", "27.1.0", "26.3.0 27.1.0"),
        ("27.1.0", "29.0.0", "29.0.0"),
        ("27.1.0", "28.0.0", "28.0.0"),
        ("27.1.0", "30.0.0", "29.4.0 30.0.0"),
        ("28.0.0", "31.0.0", "29.4.0 31.0.0"),
        ("27.1.0", "27.5.1", "27.5.1"),
        ("antelope", "epoxy", "29.4.0 31.0.0"),
        ("27.1.0", "27.1.0", ""),
    ],
)
def test_an_upgrade_skips_only_from_slurp_to_slurp(current: str, target: str, way: str) -> None:
    assert path(current, target) == tuple(way.split())


def test_there_is_no_way_back() -> None:
    with pytest.raises(InputError, match=r"Nova 27\.1\.0 is older than 27\.5\.1; accepted: no"):
        path("27.5.1", "27.1.0")


MAJORS = st.sampled_from(range(OLDEST, 35))


@given(current=MAJORS, target=MAJORS)
def test_every_hop_is_one_that_nova_supports(current: int, target: int) -> None:
    current, target = sorted((current, target))
    way = path(f"{current}.0.0", f"{target}.0.0")
    majors = [current, *(int(name.split(".")[0]) for name in way)]
    for here, there in itertools.pairwise(majors):
        assert there == here + 1 or (there == here + 2 and {here, there} <= SLURP)
        assert release(f"{there}.0.0").oldest_compute <= release(LATEST[here]).service_version
    assert majors[-1] == target
    assert all(name in LATEST.values() for name in way[:-1])


@given(first=MAJORS, second=MAJORS)
def test_age_is_an_order(first: int, second: int) -> None:
    one, other = f"{first}.0.0", f"{second}.0.0"
    assert older(one, other) is (first < second)
    assert older("19.3.2", one)
    assert older(one, f"{first}.0.1")


def test_what_came_and_went_affects_the_releases_between() -> None:
    for text, found in {
        "27.1.0": False,
        "27.2.0": True,
        "27.3.0": False,
        "28.0.0": False,
        "28.0.1": True,
        "29.0.0": False,
        "33.0.2": False,
    }.items():
        assert affected(text, ("27.2.0", "28.0.1"), ("27.3.0", "29.0.0")) is found
