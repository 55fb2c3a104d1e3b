# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.tuned import tuned

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree

    Attempt = Callable[..., t.Any]
    Plant = Callable[[Mapping[str, str]], Tree]

ACTIVE = "etc/tuned/active_profile"


@pytest.mark.parametrize("profile", ["cpu-partitioning", "realtime", "realtime-virtual-host"])
def test_a_profile_with_its_cores(plant: Plant, profile: str) -> None:
    variables = "# isolated_cores=1\nisolated_cores = 2-7,^3  # guests\nno_balance_cores=5\n"
    files = {ACTIVE: f"{profile}\n", f"etc/tuned/{profile}-variables.conf": variables}
    assert tuned(plant(files)) == {
        "profile": profile,
        "isolated_cores": "2-7,^3",
        "no_balance_cores": "5",
    }


@pytest.mark.parametrize("folder", ["etc/tuned", "etc/tuned/profiles", "usr/lib/tuned"])
def test_a_profile_that_includes_another(plant: Plant, folder: str) -> None:
    files = {
        ACTIVE: "site\n",
        f"{folder}/site/tuned.conf": "[main]\nsummary=x\ninclude = latency , realtime\n",
        "etc/tuned/site-variables.conf": "no_balance_cores=7\n",
        "etc/tuned/realtime-variables.conf": "isolated_cores=2\nno_balance_cores=8\n",
        "etc/tuned/cpu-partitioning-variables.conf": "isolated_cores=9\n",
    }
    assert tuned(plant(files)) == {
        "profile": "site",
        "isolated_cores": "2",
        "no_balance_cores": "7",
    }


@pytest.mark.parametrize(
    "text", ["", "# isolated_cores=2\n", "isolated_cores=\n", "isolated_cores=${f:calc:1}\n"]
)
def test_a_profile_without_listed_cores(plant: Plant, text: str) -> None:
    files = {ACTIVE: "realtime\n", "etc/tuned/realtime-variables.conf": text}
    assert tuned(plant(files)) == {"profile": "realtime"}


def test_the_last_list_counts(plant: Plant) -> None:
    text = "isolated_cores=1\nisolated_cores=2\n"
    files = {ACTIVE: "a b\n", "etc/tuned/b-variables.conf": text}
    assert tuned(plant(files)) == {"profile": "a b", "isolated_cores": "2"}


def test_several_profiles_are_looked_at_from_the_last(plant: Plant) -> None:
    files = {
        ACTIVE: "a b\n",
        "etc/tuned/a-variables.conf": "isolated_cores=1\n",
        "etc/tuned/b-variables.conf": "isolated_cores=2\n",
    }
    assert tuned(plant(files)) == {"profile": "a b", "isolated_cores": "2"}


@pytest.mark.parametrize("files", [{}, {ACTIVE: "\n"}])
def test_no_active_profile(plant: Plant, files: dict[str, str]) -> None:
    assert tuned(plant(files)) is None


def test_profiles_that_include_each_other(plant: Plant) -> None:
    files = {
        ACTIVE: "a\n",
        "etc/tuned/a/tuned.conf": "include=b\n",
        "etc/tuned/b/tuned.conf": "include=a\n",
    }
    assert tuned(plant(files)) == {"profile": "a"}


def test_more_profiles_than_a_host_has_are_refused(plant: Plant) -> None:
    with pytest.raises(InputError, match="names very many profiles"):
        tuned(plant({ACTIVE: "a " * 5000}))


def test_a_name_is_no_path(plant: Plant) -> None:
    files = {ACTIVE: "../x\n", "etc/x-variables.conf": "isolated_cores=1\n"}
    assert tuned(plant(files)) == {"profile": "../x"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(active=st.text(max_size=10), text=st.text(max_size=30))
def test_any_files_give_a_profile_or_a_refusal_of_one_line(
    attempt: Attempt, plant: Plant, active: str, text: str
) -> None:
    files = {ACTIVE: active, "etc/tuned/a-variables.conf": f"isolated_cores={text}"}
    found = attempt(tuned, plant(files))
    assert found is None or found["profile"] == " ".join(active.split())
