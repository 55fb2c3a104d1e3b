# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Scheduler
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import request
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release
from ansible_collections.pinguard.nova.tests.unit.plugins.plugin_utils._nova.building import (
    flavor,
    image,
)

NEW = Scheduler("34.0.0")
HT = "HW_CPU_HYPERTHREADING"


def shown(query: request.Request | None) -> str:
    """Write a query's CPU amounts and its traits: ``PCPU 4 !HT``; "" for no query."""
    if query is None:
        return ""
    own = query.unsuffixed
    amounts = [f"{name} {query.resources[name]}" for name in sorted(query.resources)]
    words = [text for text in amounts if text.split()[0] in ("PCPU", "VCPU")]
    words += [name.replace(HT, "HT") for name in sorted(own.required)]
    words += ["!" + name.replace(HT, "HT") for name in sorted(own.forbidden)]
    return " ".join(words) or "none"


@pytest.mark.parametrize(
    ("specs", "properties", "primary", "fallback"),
    [
        ("", "", "VCPU 4", ""),
        ("cpu_policy=shared", "", "VCPU 4", ""),
        ("cpu_policy=dedicated", "", "PCPU 4", "VCPU 4"),
        ("cpu_policy=dedicated cpu_thread_policy=prefer", "", "PCPU 4", "VCPU 4"),
        ("cpu_policy=dedicated cpu_thread_policy=isolate", "", "PCPU 4 !HT", "VCPU 4"),
        ("cpu_policy=dedicated cpu_thread_policy=require", "", "PCPU 4 HT", "VCPU 4"),
        ("cpu_policy=dedicated emulator_threads_policy=share", "", "PCPU 4", "VCPU 4"),
        ("cpu_policy=dedicated emulator_threads_policy=isolate", "", "PCPU 5", "VCPU 4"),
        (
            "cpu_policy=dedicated cpu_thread_policy=isolate emulator_threads_policy=isolate",
            "",
            "PCPU 5 !HT",
            "VCPU 4",
        ),
        (f"cpu_policy=dedicated trait:{HT}=forbidden", "", "PCPU 4 !HT", "VCPU 4 !HT"),
        ("cpu_policy=mixed cpu_dedicated_mask=0", "", "PCPU 1 VCPU 3", ""),
        (
            "cpu_policy=mixed cpu_dedicated_mask=0 emulator_threads_policy=isolate",
            "",
            "PCPU 2 VCPU 3",
            "",
        ),
        (
            "cpu_policy=mixed cpu_dedicated_mask=0 cpu_thread_policy=isolate",
            "",
            "PCPU 1 VCPU 3 !HT",
            "",
        ),
        ("cpu_policy=mixed cpu_realtime=1 cpu_realtime_mask=^0-1", "", "PCPU 2 VCPU 2", ""),
        ("resources:PCPU=4", "", "PCPU 4", ""),
        ("resources:PCPU=5 emulator_threads_policy=isolate", "", "PCPU 5", ""),
        ("resources:VCPU=7", "", "VCPU 7", ""),
        ("", "cpu_policy=dedicated cpu_thread_policy=isolate", "PCPU 4 !HT", "VCPU 4"),
        ("cpu_policy=dedicated resources:PCPU=0", "", "PCPU 4", "none"),
        ("cpu_policy=dedicated resources:VCPU=0", "", "PCPU 4", "none"),
        ("resources:PCPU=0", "", "none", ""),
        ("resources_A:PCPU=4", "", "PCPU 4", ""),
        ("cpu_policy=dedicated", f"trait:{HT}=required", "PCPU 4 HT", "VCPU 4 HT"),
        ("cpu_policy=dedicated", f"trait:{HT}=forbidden", "PCPU 4", "VCPU 4"),
    ],
)
def test_what_is_asked_of_placement(
    specs: str, properties: str, primary: str, fallback: str
) -> None:
    found = request.queries(flavor(specs), image(properties), NEW)
    assert [shown(query) for query in found] == [primary, fallback]


def test_the_fallback_can_be_switched_off() -> None:
    off = Scheduler("34.0.0", disable_fallback_pcpu_query=True)
    assert request.queries(flavor("cpu_policy=dedicated"), NO_IMAGE, off)[1] is None


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        ("resources:PCPU=odd", {"VCPU": 4}),
        ("resources:PCPU=-1", {"VCPU": 4}),
        ("resources:FOO=1", {"VCPU": 4}),
        ("resources:CUSTOM_FOO=1", {"VCPU": 4, "CUSTOM_FOO": 1}),
        ("resources1:PCPU=2 resources2:PCPU=2", {"PCPU": 4}),
        (
            "pmem=6GB,a-b",
            {"VCPU": 4, "CUSTOM_PMEM_NAMESPACE_6GB": 1, "CUSTOM_PMEM_NAMESPACE_A_B": 1},
        ),
    ],
)
def test_resources_of_extra_specs(specs: str, expected: dict[str, int]) -> None:
    asked = request.build(flavor(specs), NO_IMAGE, release("34.0.0"))
    assert asked.resources == {**expected, "MEMORY_MB": 2048}


def test_sizes_of_the_flavor() -> None:
    sized = flavor("resources:MEMORY_MB=0", disk_gb=10, ephemeral_gb=5, swap_mb=1025)
    asked = request.build(sized, NO_IMAGE, release("34.0.0"))
    assert asked.resources == {"VCPU": 4, "DISK_GB": 17}


def test_groups_with_names_exist_since_ussuri() -> None:
    asked = flavor("resources_A:PCPU=4 trait_A:CUSTOM_X=required group_policy=none")
    new = request.build(asked, NO_IMAGE, release("21.0.0"))
    assert [(group.suffix, group.required) for group in new.groups] == [
        ("", frozenset()),
        ("_A", frozenset(["CUSTOM_X"])),
    ]
    assert new.group_policy == "none"
    assert request.build(asked, NO_IMAGE, release("20.6.1")).resources == {
        "VCPU": 4,
        "MEMORY_MB": 2048,
    }


@pytest.mark.parametrize(
    ("version", "text"),
    [("22.0.0", "TypeError"), ("23.0.0", "")],
)
def test_mixed_without_a_mask(version: str, text: str) -> None:
    asked = flavor("cpu_policy=mixed")
    if text:
        with pytest.raises(NovaError, match=text):
            request.build(asked, NO_IMAGE, release(version))
    else:
        assert shown(request.build(asked, NO_IMAGE, release(version))) == "VCPU 4"


@pytest.mark.parametrize(
    ("asked", "wished", "result"),
    [
        ("", "", None),
        ("socket", "", "socket"),
        ("legacy", "legacy", "legacy"),
        ("legacy", "required", "ImagePCINUMAPolicyForbidden"),
        ("odd", "", "InvalidPCINUMAAffinity"),
    ],
)
def test_pci_affinity(asked: str, wished: str, result: str | None) -> None:
    specs = f"pci_numa_affinity_policy={asked}" if asked else ""
    properties = f"pci_numa_affinity_policy={wished}" if wished else ""
    new = release("34.0.0")
    if result and result[0].isupper():
        with pytest.raises(NovaError, match=result):
            request.build(flavor(specs), image(properties), new)
        return
    required = request.build(flavor(specs), image(properties), new).unsuffixed.required
    assert ("COMPUTE_SOCKET_PCI_NUMA_AFFINITY" in required) == (result == "socket")
