# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.filter.predicted_provider import predicted_provider
from ansible_collections.pinguard.nova.plugins.filter.provider_deviations import (
    provider_deviations,
)

PCPU = {"total": 2, "reserved": 0, "allocation_ratio": 1.0}


def test_both_sets_are_reported(host: dict[str, t.Any]) -> None:
    assert predicted_provider(host) == {
        "inventories": {"VCPU": {"total": 2, "reserved": 0}, "PCPU": PCPU},
        "traits": ["HW_CPU_HYPERTHREADING"],
    }


def test_a_ratio_is_predicted_where_an_option_sets_it(host: dict[str, t.Any]) -> None:
    host["nova"]["options"] = {"cpu_allocation_ratio": "8.0", "reserved_host_cpus": "1"}
    assert predicted_provider(host)["inventories"] == {
        "VCPU": {"total": 4, "reserved": 1, "allocation_ratio": 8.0}
    }


def test_only_a_dedicated_set_leaves_no_vcpu(host: dict[str, t.Any]) -> None:
    del host["nova"]["options"]["compute.cpu_shared_set"]
    assert predicted_provider(host)["inventories"] == {"PCPU": PCPU}


def test_the_release_counts_where_the_facts_name_none(host: dict[str, t.Any]) -> None:
    del host["release"]
    host["topology"]["siblings"] = []
    assert predicted_provider(host, "19.0.0") == {
        "inventories": {"VCPU": {"total": 4, "reserved": 0}},
        "traits": [],
    }


def test_an_unknown_release_is_named(host: dict[str, t.Any]) -> None:
    host["release"] = "99"
    with pytest.raises(AnsibleFilterError, match="predicted_provider: release: Nova '99' is not"):
        predicted_provider(host)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compute.cpu_dedicated_set": "3-9"}, "nova-compute would fail: Invalid: .* CPU 4-9 is"),
        ({"compute.cpu_set": "3"}, "unknown key"),
        (
            {"compute.cpu_shared_set": "0-2", "compute.cpu_dedicated_set": "1"},
            "InvalidConfiguration: CPU 1 is in cpu_shared_set and in cpu_dedicated_set",
        ),
        ({"cpu_allocation_ratio": "nan"}, "ConfigFileValueError: cpu_allocation_ratio: 'nan'"),
        ({"cpu_allocation_ratio": "1e999"}, "ConfigFileValueError"),
        ({"cpu_allocation_ratio": "-1"}, "ConfigFileValueError"),
        ({"reserved_host_memory_mb": "x"}, "ConfigFileValueError: reserved_host_memory_mb"),
    ],
)
def test_options_that_fail_are_one_line(
    host: dict[str, t.Any], options: dict[str, str], message: str
) -> None:
    host["nova"]["options"] = options
    with pytest.raises(AnsibleFilterError, match=message) as caught:
        predicted_provider(host)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("inventories", "traits", "told"),
    [
        ({"VCPU": {"total": 2, "reserved": 0, "allocation_ratio": 16.0}, "PCPU": PCPU}, True, []),
        (
            {"VCPU": {"total": 2, "reserved": 1}, "PCPU": {**PCPU, "total": 1}},
            True,
            ["VCPU has reserved 1, predicted is 0", "PCPU has total 1, predicted is 2"],
        ),
        (
            {"VCPU": {"total": 2, "reserved": 0}},
            False,
            [
                "there is no PCPU, predicted is total 2",
                "the trait HW_CPU_HYPERTHREADING is missing, predicted otherwise",
            ],
        ),
    ],
)
def test_deviations_are_told(
    host: dict[str, t.Any], inventories: dict[str, t.Any], traits: bool, told: list[str]
) -> None:
    provider = {"inventories": inventories, "traits": ["HW_CPU_HYPERTHREADING"] * traits}
    assert provider_deviations(provider, predicted_provider(host)) == told


def test_a_class_too_many_is_told(host: dict[str, t.Any]) -> None:
    wanted = predicted_provider(host)
    kept = {**wanted, "inventories": {"PCPU": PCPU}}
    told = provider_deviations({**wanted, "traits": []}, {**kept, "traits": []})
    assert told == ["there is VCPU (total 2), predicted is none"]


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        ([], r"\[\] is not of type object"),
        ({"inventories": {}}, "the key 'traits' is missing"),
        ({"inventories": [], "traits": []}, r"inventories: \[\] is not of type object"),
        ({"inventories": None, "traits": []}, "inventories: None is not of type object"),
        ({"inventories": {"VCPU": 5}, "traits": []}, "inventories.VCPU: 5 is not of type object"),
        ({"inventories": {"VCPU": {}}, "traits": []}, "VCPU: the key 'total' is missing"),
        ({"inventories": {}, "traits": 5}, "traits: 5 is not of type array"),
        ({"inventories": {}, "traits": [5]}, r"traits\[0\]: 5 is not of type string"),
    ],
)
def test_what_is_no_provider_is_refused(provider: object, message: str) -> None:
    sound: dict[str, t.Any] = {"inventories": {}, "traits": []}
    for argument, given in (("provider", (provider, sound)), ("predicted", (sound, provider))):
        with pytest.raises(AnsibleFilterError, match=f"deviations: {argument}: ?.*{message}"):
            provider_deviations(*given)
