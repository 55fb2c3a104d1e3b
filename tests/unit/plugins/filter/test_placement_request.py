# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.filter.placement_request import placement_request

NOTHING: dict[str, t.Any] = {"groups": {}, "group_policy": None}


def test_a_pinned_flavor_has_two_queries(pinned: dict[str, t.Any]) -> None:
    pinned["extra_specs"]["hw:cpu_thread_policy"] = "isolate"
    assert placement_request(pinned) == {
        "primary": {
            "resources": {"PCPU": 2, "MEMORY_MB": 1024},
            "required": [],
            "forbidden": ["HW_CPU_HYPERTHREADING"],
            **NOTHING,
        },
        "fallback": {
            "resources": {"VCPU": 2, "MEMORY_MB": 1024},
            "required": [],
            "forbidden": [],
            **NOTHING,
        },
        "error": None,
    }


@pytest.mark.parametrize("option", [True, False])
def test_the_scheduler_can_leave_the_fallback_out(pinned: dict[str, t.Any], option: bool) -> None:
    result = placement_request(pinned, disable_fallback_pcpu_query=option)
    assert (result["fallback"] is None) == option


def test_groups_with_a_suffix_stand_apart() -> None:
    flavor = {
        "name": "two",
        "vcpus": 2,
        "ram": 64,
        "extra_specs": {"resources1:CUSTOM_A": "1", "group_policy": "isolate"},
    }
    primary = placement_request(flavor)["primary"]
    assert primary["groups"] == {
        "1": {"resources": {"CUSTOM_A": 1}, "required": [], "forbidden": []}
    }
    assert primary["group_policy"] == "isolate"
    assert primary["resources"] == {"VCPU": 2, "MEMORY_MB": 64}


def test_an_image_can_pin_too(pinned: dict[str, t.Any]) -> None:
    image = {"name": "image", "properties": {"hw_cpu_policy": "dedicated"}}
    del pinned["extra_specs"]
    primary = placement_request(pinned, image)["primary"]
    assert primary["resources"] == {"PCPU": 2, "MEMORY_MB": 1024}


def test_what_nova_refuses_is_an_answer(pinned: dict[str, t.Any]) -> None:
    pinned["extra_specs"]["hw:cpu_policy"] = "pinned"
    result = placement_request(pinned)
    assert result["primary"] is result["fallback"] is None
    assert result["error"]["name"] == "InvalidCPUAllocationPolicy"
    assert result["error"]["crash"] is False


@pytest.mark.parametrize(
    ("flavor", "options", "message"),
    [
        ("pinned", {}, "flavor: 'pinned' is no flavor; accepted: a mapping that is one flavor"),
        ({"name": "a", "vcpus": 1}, {}, "flavor: the flavor has no ram; accepted: name, vcpus"),
        ({"name": "a", "vcpus": 0, "ram": 1}, {}, "flavor: vcpus 0 is out of place"),
        ({"flavors": []}, {}, "flavor: no flavor is in it"),
        (
            {"flavors": [{"name": name, "vcpus": 1, "ram": 1} for name in "ab"]},
            {},
            "flavor: there are 2 of them; accepted: one flavor",
        ),
        (
            {"name": "a", "vcpus": 1, "ram": 1},
            {"release": "19.0.0"},
            "Nova '19.0.0' is not known; accepted: a point release, 20.0.0 to 34.0.0",
        ),
        ({"name": "a", "vcpus": 1, "ram": 1}, {"release": None}, "release: None is no release"),
        ({"name": "a", "vcpus": 1, "ram": 1}, {"image": "cirros"}, "image: 'cirros' is no image"),
        (
            {"name": "a", "vcpus": 1, "ram": 1},
            {"disable_fallback_pcpu_query": "false"},
            "disable_fallback_pcpu_query: 'false' is neither true nor false; accepted: a boolean",
        ),
    ],
)
def test_bad_input_is_one_line(flavor: object, options: dict[str, t.Any], message: str) -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        placement_request(flavor, **options)
    assert f"placement_request: {message}" in str(caught.value)
    assert "\n" not in str(caught.value)
