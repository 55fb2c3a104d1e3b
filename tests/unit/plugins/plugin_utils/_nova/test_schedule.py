# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE, Image
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host, Scheduler
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import schedule
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.outcome import Outcome
from ansible_collections.pinguard.nova.tests.unit.plugins.plugin_utils._nova.building import (
    SINGLES,
    flavor,
    host,
    image,
)

PAIRS = "0,1 2,3 4,5 6,7"
POLICIES = {
    "dedicated": "",
    "isolate": "cpu_thread_policy=isolate",
    "require": "cpu_thread_policy=require",
    "emulator": "emulator_threads_policy=isolate",
    "both": "cpu_thread_policy=isolate emulator_threads_policy=isolate",
}
HOSTS: dict[str, tuple[str, dict[str, t.Any]]] = {
    "legacy HT": (PAIRS, {"vcpu_pin_set": "0-7"}),
    "nothing set": (PAIRS, {}),
    "new HT": (PAIRS, {"cpu_shared_set": "0-3", "cpu_dedicated_set": "4-7"}),
    "new non-HT": (SINGLES, {"cpu_shared_set": "0-3", "cpu_dedicated_set": "4-7"}),
    "PCPU-only HT": (PAIRS, {"cpu_dedicated_set": "0-7"}),
    "shared-only HT": (PAIRS, {"cpu_shared_set": "0-7"}),
}


def decided(
    specs: str,
    cores: str,
    options: dict[str, t.Any],
    *,
    version: str = "34.0.0",
    compute: str = "",
    **scheduler: bool,
) -> Outcome:
    return schedule.decide(
        flavor(f"cpu_policy=dedicated {specs}", vcpus=2, memory_mb=512),
        NO_IMAGE,
        host(cores, compute or version, **options),
        Scheduler(version, **scheduler),
    )


def shown(outcome: Outcome) -> str:
    """Write the CPUs that a guest is charged with, or the stage that refuses it."""
    if outcome.stage:
        return outcome.stage
    return " ".join(f"{n} {a}" for n, a in outcome.allocation.items() if n in ("VCPU", "PCPU"))


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("legacy HT", "VCPU 2,VCPU 2,VCPU 2,VCPU 2,VCPU 2"),
        ("nothing set", "VCPU 2,VCPU 2,VCPU 2,VCPU 2,VCPU 2"),
        ("new HT", "PCPU 2,filter,PCPU 2,PCPU 3,filter"),
        ("new non-HT", "PCPU 2,PCPU 2,filter,PCPU 3,PCPU 3"),
        ("PCPU-only HT", "PCPU 2,placement,PCPU 2,PCPU 3,placement"),
        ("shared-only HT", "filter,filter,filter,filter,filter"),
    ],
)
def test_one_host_and_the_fallback(row: str, cells: str) -> None:
    found = [shown(decided(specs, *HOSTS[row])) for specs in POLICIES.values()]
    assert found == cells.split(",")


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("legacy HT", "placement,placement,placement,placement,placement"),
        ("nothing set", "placement,placement,placement,placement,placement"),
        ("new HT", "PCPU 2,placement,PCPU 2,PCPU 3,placement"),
        ("new non-HT", "PCPU 2,PCPU 2,placement,PCPU 3,PCPU 3"),
        ("PCPU-only HT", "PCPU 2,placement,PCPU 2,PCPU 3,placement"),
        ("shared-only HT", "placement,placement,placement,placement,placement"),
    ],
)
def test_one_host_without_the_fallback(row: str, cells: str) -> None:
    found = [
        shown(decided(specs, *HOSTS[row], disable_fallback_pcpu_query=True))
        for specs in POLICIES.values()
    ]
    assert found == cells.split(",")


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("new HT", "PCPU 2,claim,PCPU 2,PCPU 3,claim"),
        ("new non-HT", "PCPU 2,PCPU 2,claim,PCPU 3,PCPU 3"),
        ("shared-only HT", "claim,claim,claim,claim,claim"),
    ],
)
def test_without_the_filter_the_claim_decides(row: str, cells: str) -> None:
    found = [decided(specs, *HOSTS[row], numa_topology_filter=False) for specs in POLICIES.values()]
    assert [shown(outcome) for outcome in found] == cells.split(",")
    for outcome in found:
        if not outcome.boots:
            assert outcome.error == "ComputeResourcesUnavailable"


@pytest.mark.parametrize(
    ("version", "result"),
    [
        ("20.0.0", "VCPU 2"),
        ("20.4.0", "VCPU 2"),
        ("20.4.1", "filter"),
        ("21.1.0", "VCPU 2"),
        ("21.1.1", "filter"),
        ("34.0.0", "filter"),
    ],
)
def test_bug_1889633(version: str, result: str) -> None:
    outcome = decided(POLICIES["isolate"], *HOSTS["new HT"], version=version)
    assert shown(outcome) == result
    if outcome.boots:
        assert outcome.query == "fallback"
        assert sorted(outcome.pins.values()) == [4, 6]


def test_an_old_compute_claims_what_a_new_scheduler_without_filter_sends() -> None:
    isolate, where = POLICIES["isolate"], HOSTS["new HT"]
    old = decided(isolate, *where, compute="20.4.0", numa_topology_filter=False)
    assert shown(old) == "VCPU 2"
    fixed = decided(isolate, *where, compute="20.4.1", numa_topology_filter=False)
    assert shown(fixed) == "claim"
    assert shown(decided(isolate, *where, compute="20.4.0")) == "filter"


@pytest.mark.parametrize("version", ["20.4.0", "20.6.1", "34.0.0"])
def test_one_thread_per_core_slips_past_the_guard(version: str) -> None:
    options = {"cpu_shared_set": "4,6", "cpu_dedicated_set": "0,2"}
    outcome = decided(POLICIES["isolate"], PAIRS, options, version=version)
    assert (shown(outcome), outcome.query) == ("VCPU 2", "fallback")
    assert sorted(outcome.pins.values()) == [0, 2]


def test_a_pre_train_compute_crashes_the_filter_of_a_new_scheduler() -> None:
    new = decided("", PAIRS, {}, compute="19.0.0")
    assert (new.stage, new.error) == ("filter", "NotImplementedError")
    assert shown(decided("", PAIRS, {}, version="21.2.4", compute="19.0.0")) == "VCPU 2"
    assert shown(decided("", PAIRS, {}, compute="19.0.0", numa_topology_filter=False)) == "VCPU 2"


def placed(specs: str, properties: Image = NO_IMAGE, one: Host | None = None) -> Outcome:
    return schedule.decide(
        flavor(specs, vcpus=2, memory_mb=512), properties, one or host(PAIRS), Scheduler("34.0.0")
    )


@pytest.mark.parametrize(
    ("specs", "properties", "reason"),
    [
        (
            "cpu_policy=dedicated trait:HW_CPU_HYPERTHREADING=forbidden",
            "trait:HW_CPU_HYPERTHREADING=required",
            "both required and forbidden",
        ),
        ("trait:HW_CPU_NO_SUCH=required", "", "does not exist"),
        ("resources1:CUSTOM_A=1 resources2:CUSTOM_B=1", "", "no group_policy"),
        ("trait1:CUSTOM_A=required", "", "no resources"),
    ],
)
def test_queries_that_placement_answers_with_400(specs: str, properties: str, reason: str) -> None:
    outcome = placed(specs, image(properties))
    assert outcome.stage == "placement"
    assert outcome.reason.startswith("Placement answers 400")
    assert reason in outcome.reason


def test_refusals_of_the_api_and_of_the_start() -> None:
    refused = placed("cpu_policy=odd")
    assert (refused.stage, refused.error) == ("api", "InvalidCPUAllocationPolicy")
    broken = placed("", one=host(PAIRS, cpu_shared_set="0-4", cpu_dedicated_set="4-7"))
    assert (broken.stage, broken.error) == ("startup", "InvalidConfiguration")
    missing = placed("", one=host(PAIRS, cpu_shared_set="0-9"))
    assert (missing.stage, missing.error) == ("startup", "Invalid")


def test_a_floating_guest_has_no_cells_and_no_pins() -> None:
    outcome = placed("")
    assert (shown(outcome), outcome.cells, dict(outcome.pins)) == ("VCPU 2", (), {})
    assert placed("numa_nodes=1").cells == (0,)
    assert placed("", one=host(PAIRS, cpu_dedicated_set="0-7")).stage == "placement"


def test_what_is_allocated_counts() -> None:
    options = {"cpu_shared_set": "0-3", "cpu_dedicated_set": "4-7"}
    full = host(PAIRS, more={"allocated": {"PCPU": 3, "VCPU": 16}}, **options)
    outcome = placed("cpu_policy=dedicated", one=full)
    assert outcome.stage == "placement"
    assert "PCPU 2 asked, 1 at most" in outcome.reason
    leaked = host(PAIRS, more={"allocated": {"PCPU": 4}}, **options)
    assert shown(placed("cpu_policy=dedicated", one=leaked)) == "VCPU 2"


def test_traits_count_where_they_are_known() -> None:
    specs = "trait:CUSTOM_GOLD=required"
    assert placed(specs).boots
    silver = host(PAIRS, more={"traits": frozenset(["CUSTOM_SILVER"])})
    assert placed(specs, one=silver).stage == "placement"
    disabled = host(PAIRS, more={"traits": frozenset(["COMPUTE_STATUS_DISABLED"])})
    assert placed("", one=disabled).stage == "placement"


@pytest.mark.parametrize(
    ("specs", "text"),
    [
        ("numa_nodes=2", "2 guest cells, the host has 1"),
        (POLICIES["isolate"], "isolate: the host has SMT"),
        ("mem_page_size=2048", "in pages of 2048 KiB"),
        ("mem_page_size=large", "in pages of large size"),
    ],
)
def test_why_it_does_not_fit(specs: str, text: str) -> None:
    outcome = decided(specs, *HOSTS["new HT"])
    assert outcome.stage == "filter"
    assert text in outcome.reason


def test_a_compute_fails_to_build_from_an_image_whose_property_it_does_not_know() -> None:
    socket = Image("cirros", {"hw_pci_numa_affinity_policy": "socket"})
    wanted, old = flavor("", vcpus=2, memory_mb=512), host(PAIRS, "22.0.0")
    outcome = schedule.decide(wanted, socket, old, Scheduler("23.0.0"))
    assert (outcome.stage, outcome.error) == ("driver", "ValueError")
