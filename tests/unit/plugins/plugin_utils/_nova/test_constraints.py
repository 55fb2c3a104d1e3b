# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest import Guest
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import (
    constraints,
    image_properties,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release
from ansible_collections.pinguard.nova.tests.unit.plugins.plugin_utils._nova.building import (
    flavor,
    image,
)

LISTS = "numa_nodes=2 numa_cpus.0=0 numa_cpus.1=1-3 numa_mem.0=512 numa_mem.1="


def refusal(specs: str, version: str, properties: str = "", vcpus: int = 4) -> str:
    """Name the error of a flavor; "" where it is accepted."""
    try:
        constraints.guest(flavor(specs, vcpus=vcpus), image(properties), release(version))
    except NovaError as error:
        return f"{error.name}!" if error.crash else error.name
    return ""


def api_refusal(specs: str, version: str, properties: str = "", vcpus: int = 4) -> str:
    try:
        constraints.check_api(flavor(specs, vcpus=vcpus), image(properties), release(version))
    except NovaError as error:
        return error.name
    return ""


def derived(specs: str, version: str = "34.0.0", properties: str = "", vcpus: int = 4) -> Guest:
    guest = constraints.guest(flavor(specs, vcpus=vcpus), image(properties), release(version))
    assert guest is not None
    return guest


@pytest.mark.parametrize(
    ("specs", "vcpus", "before", "since"),
    [
        ("numa_nodes=0 cpu_policy=x", 4, "InvalidNUMANodesNumber", "InvalidCPUAllocationPolicy"),
        (
            "mem_page_size=huge cpu_policy=x",
            4,
            "MemoryPageSizeInvalid",
            "InvalidCPUAllocationPolicy",
        ),
        ("cpu_policy=x cpu_thread_policy=y", 4, *["InvalidCPUAllocationPolicy"] * 2),
        (
            "cpu_thread_policy=require emulator_threads_policy=isolate cpu_realtime=yes"
            " cpu_realtime_mask=^0",
            4,
            *["CPUThreadPolicyConfigurationInvalid"] * 2,
        ),
        (
            "emulator_threads_policy=isolate cpu_realtime=yes cpu_realtime_mask=^0",
            4,
            *["BadRequirementEmulatorThreadsPolicy"] * 2,
        ),
        ("emulator_threads_policy=x cpu_realtime=yes", 4, *["InvalidEmulatorThreadsPolicy"] * 2),
        (
            "cpu_policy=dedicated resources:PCPU=4 resources:VCPU=4 cpu_thread_policy=require"
            " trait:HW_CPU_HYPERTHREADING=required",
            4,
            *["InvalidRequest"] * 2,
        ),
        (
            "numa_nodes=2 cpu_thread_policy=require",
            3,
            "ImageNUMATopologyAsymmetric",
            "CPUThreadPolicyConfigurationInvalid",
        ),
        (
            "cpu_policy=shared cpu_dedicated_mask=0-9 cpu_thread_policy=require",
            4,
            "CPUThreadPolicyConfigurationInvalid",
            "InvalidMixedInstanceDedicatedMask",
        ),
        ("numa_nodes=2 numa_cpus.0=9", 4, *["ImageNUMATopologyIncomplete"] * 2),
        (
            "cpu_policy=mixed cpu_dedicated_mask=0",
            4,
            "InvalidCPUAllocationPolicy",
            "",
        ),
        ("cpu_policy=mixed", 4, "InvalidCPUAllocationPolicy", "RequiredMixedOrRealtimeCPUMask"),
        ("cpu_policy=dedicated cpu_dedicated_mask=0", 4, "", "RequiredMixedInstancePolicy"),
        ("cpu_policy=Dedicated", 4, *["InvalidCPUAllocationPolicy"] * 2),
        ("cpu_policy=dedicated cpu_thread_policy=", 4, *["ValueError!"] * 2),
    ],
)
def test_which_error_wins(specs: str, vcpus: int, before: str, since: str) -> None:
    assert [refusal(specs, version, vcpus=vcpus) for version in ("20.6.1", "21.2.4")] == [
        before,
        before,
    ]
    assert [refusal(specs, version, vcpus=vcpus) for version in ("22.0.0", "34.0.0")] == [
        since,
        since,
    ]


def test_locked_memory_is_looked_at_since_zed_and_before_the_lists() -> None:
    specs = "locked_memory=true numa_nodes=2 numa_cpus.0=0"
    assert refusal(specs, "25.3.0") == "ImageNUMATopologyIncomplete"
    assert refusal(specs, "26.0.0") == "LockMemoryForbidden"


@pytest.mark.parametrize(
    ("asked", "wished", "policy"),
    [
        ("", "", None),
        ("", "cpu_policy=shared", "shared"),
        ("", "cpu_policy=dedicated", "dedicated"),
        ("", "cpu_policy=mixed", "mixed"),
        ("cpu_policy=", "cpu_policy=dedicated", "dedicated"),
        ("cpu_policy=shared", "", "shared"),
        ("cpu_policy=shared", "cpu_policy=dedicated", "ImageCPUPinningForbidden"),
        ("cpu_policy=shared", "cpu_policy=mixed", "ImageCPUPinningForbidden"),
        ("cpu_policy=dedicated", "cpu_policy=shared", "dedicated"),
        ("cpu_policy=dedicated", "cpu_policy=mixed", "dedicated"),
        ("cpu_policy=mixed", "cpu_policy=dedicated", "ImageCPUPinningForbidden"),
        ("cpu_policy=mixed", "cpu_policy=shared", "mixed"),
    ],
)
def test_policy_of_flavor_and_image(asked: str, wished: str, policy: str | None) -> None:
    new = release("34.0.0")
    properties = image_properties.read(image(wished), new)
    try:
        found = constraints.cpu_policy(flavor(asked), properties, new)
    except NovaError as error:
        found = error.name
    assert found == policy


@pytest.mark.parametrize(
    ("asked", "wished", "policy"),
    [
        ("", "require", "require"),
        ("prefer", "require", "prefer"),
        ("isolate", "isolate", "isolate"),
        ("require", "prefer", "ImageCPUThreadPolicyForbidden"),
        ("isolate", "require", "ImageCPUThreadPolicyForbidden"),
        ("odd", "", "InvalidCPUThreadAllocationPolicy"),
    ],
)
def test_thread_policy_of_flavor_and_image(asked: str, wished: str, policy: str) -> None:
    specs = f"cpu_thread_policy={asked}" if asked else ""
    properties = f"cpu_thread_policy={wished}" if wished else ""
    read = image_properties.read(image(properties), release("34.0.0"))
    try:
        found = constraints.thread_policy(flavor(specs), read)
    except NovaError as error:
        found = error.name
    assert found == policy


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("small", -1, -1),
        ("large", -2, -2),
        ("any", -3, -3),
        ("2048", 2048, 2048),
        ("2MB", 2048, 2048),
        ("2MiB", 2048, 2048),
        ("16Mb", 2048, 2048),
        ("2097152B", 2048, 2048),
        ("1GB", 1048576, 1048576),
        ("1.5MB", 1536, 1536),
        ("2M", None, None),
        ("2048kB", None, None),
        ("huge", None, None),
        ("-1", None, None),
        ("0", None, 0),
        ("+2048", 2048, None),
        ("2_048", 2048, None),
        ("-2048B", None, -2),
    ],
)
def test_page_size_texts(text: str, old: int | None, new: int | None) -> None:
    for versions, expected in (
        (("20.3.0", "21.0.0"), old),
        (("20.4.0", "21.1.0", "34.0.0"), new),
    ):
        for version in versions:
            if expected is None:
                with pytest.raises(NovaError, match="MemoryPageSizeInvalid"):
                    constraints.page_size(text, release(version))
            else:
                assert constraints.page_size(text, release(version)) == expected


@pytest.mark.parametrize(
    ("asked", "wished", "result"),
    [
        ("", "2048", "MemoryPageSizeForbidden"),
        ("2048", "2048", "MemoryPageSizeForbidden"),
        ("small", "2048", "MemoryPageSizeForbidden"),
        ("any", "2048", 2048),
        ("large", "1GB", 1048576),
        ("large", "odd", "MemoryPageSizeInvalid"),
    ],
)
def test_page_size_of_flavor_and_image(asked: str, wished: str, result: int | str) -> None:
    specs = f"cpu_policy=dedicated mem_page_size={asked}"
    if isinstance(result, str):
        assert refusal(specs, "34.0.0", f"mem_page_size={wished}") == result
    else:
        guest = derived(specs, properties=f"mem_page_size={wished}")
        assert guest.cells[0].page_size_kb == result


@pytest.mark.parametrize(
    ("specs", "before", "since"),
    [
        ("cpu_realtime_mask=^0", 0b1110, 0b1110),
        ("cpu_realtime_mask=1-3", 0b1111, 0b1110),
        ("cpu_realtime_mask=0-3", 0b1111, None),
        ("cpu_realtime_mask=0-3 emulator_threads_policy=share", 0b1111, 0b1111),
        ("cpu_realtime_mask=2-9", 0b1111111111, None),
        ("cpu_realtime_mask=^0-3", None, None),
        ("", None, None),
        ("emulator_threads_policy=isolate", None, 0b1111),
    ],
)
def test_realtime_masks(specs: str, before: int | None, since: int | None) -> None:
    for version, expected in (("20.0.0", before), ("21.2.4", before), ("22.0.0", since)):
        one = release(version)
        asked = flavor(f"cpu_policy=dedicated cpu_realtime=yes {specs}")
        if expected is None:
            with pytest.raises(NovaError, match="RealtimeMaskNotFoundOrInvalid"):
                constraints.realtime_cpus(asked, image_properties.read(NO_IMAGE, one), one)
        else:
            read = image_properties.read(NO_IMAGE, one)
            assert constraints.realtime_cpus(asked, read, one) == expected


def test_without_the_switch_the_realtime_mask_is_not_read() -> None:
    asked = flavor("cpu_policy=dedicated cpu_realtime=banana cpu_realtime_mask=odd")
    new = release("34.0.0")
    assert constraints.realtime_cpus(asked, image_properties.read(NO_IMAGE, new), new) is None


@pytest.mark.parametrize(
    ("mask", "pinned"),
    [
        ("0-1", 0b0011),
        ("^0", 0b1110),
        ("0-3", None),
        ("^0-3", None),
        ("2-4", None),
        ("^5", None),
    ],
)
def test_dedicated_masks(mask: str, pinned: int | None) -> None:
    asked = flavor(f"cpu_policy=mixed cpu_dedicated_mask={mask}")
    if pinned is None:
        with pytest.raises(NovaError, match="InvalidMixedInstanceDedicatedMask"):
            constraints.dedicated_cpus(asked)
    else:
        assert constraints.dedicated_cpus(asked) == pinned


@pytest.mark.parametrize(
    ("specs", "refused"),
    [
        ("resources:PCPU=4", ""),
        ("resources:PCPU=3", "InvalidRequest"),
        ("resources:PCPU=4 emulator_threads_policy=isolate", "InvalidRequest"),
        ("resources:PCPU=5 emulator_threads_policy=isolate", ""),
        ("resources1:PCPU=2 resources2:PCPU=2", ""),
        ("resources:PCPU_FOO=4", ""),
        ("resources:PCPU=odd", ""),
        ("resources:VCPU=2", ""),
        ("resources:VCPU=2 resources:PCPU=4", "InvalidRequest"),
        ("resources:VCPU=4 cpu_thread_policy=prefer", "CPUThreadPolicyConfigurationInvalid"),
        ("cpu_policy=shared resources:VCPU=4", "InvalidRequest"),
        ("cpu_policy=dedicated resources:PCPU=0", ""),
        ("trait:HW_CPU_HYPERTHREADING=required", "CPUThreadPolicyConfigurationInvalid"),
        ("trait:HW_CPU_HYPERTHREADING=maybe", ""),
    ],
)
def test_explicit_resources(specs: str, refused: str) -> None:
    assert {refusal(specs, version) for version in ("20.0.0", "21.0.0", "34.0.0")} == {refused}


def test_explicit_pcpu_pins_and_a_trait_is_a_thread_policy() -> None:
    cell = derived("resources:PCPU=4 trait:HW_CPU_HYPERTHREADING=forbidden").cells[0]
    assert (cell.pcpuset, cell.cpu_policy, cell.cpu_thread_policy) == (15, "dedicated", "isolate")
    assert constraints.guest(flavor("resources_A:PCPU=4"), NO_IMAGE, release("34.0.0")) is None


def test_mixed_guests_have_both_kinds_of_vcpus() -> None:
    guest = derived("cpu_policy=mixed cpu_dedicated_mask=0-1 numa_nodes=2")
    cells = [(cell.pcpuset, cell.cpuset, cell.memory_mb) for cell in guest.cells]
    assert cells == [(0b0011, 0, 1024), (0, 0b1100, 1024)]


def test_mixed_with_realtime_may_pin_every_vcpu() -> None:
    guest = derived("cpu_policy=mixed cpu_realtime=1 emulator_threads_policy=share")
    assert (guest.cells[0].pcpuset, guest.cells[0].cpuset) == (15, 0)


@pytest.mark.parametrize(
    ("specs", "refused"),
    [
        (f"{LISTS}1536", ""),
        (f"{LISTS}1024", "ImageNUMATopologyMemoryOutOfRange"),
        (f"{LISTS}odd", "ValueError!"),
        ("numa_nodes=1 numa_cpus.0=0-4 numa_mem.0=2048", "ImageNUMATopologyCPUOutOfRange"),
        ("numa_nodes=1 numa_cpus.0=0-2 numa_mem.0=2048", "ImageNUMATopologyCPUsUnassigned"),
        (
            "numa_nodes=2 numa_cpus.0=0-2 numa_cpus.1=2-3 numa_mem.0=1 numa_mem.1=2",
            "ImageNUMATopologyCPUDuplicates",
        ),
        ("numa_nodes=1 numa_cpus.0=x numa_mem.0=2048", "Invalid"),
        ("numa_nodes=2 numa_cpus.1=0-3 numa_mem.1=2048", ""),
        ("numa_nodes=3", "ImageNUMATopologyAsymmetric"),
        ("numa_nodes=01", "InvalidNUMANodesNumber"),
        ("numa_cpus.0=x", ""),
    ],
)
def test_cells_by_hand(specs: str, refused: str) -> None:
    assert {refusal(specs, version) for version in ("20.6.1", "34.0.0")} == {refused}


def test_train_overlooks_lists_of_a_pinned_guest_without_a_node_count() -> None:
    specs = "cpu_policy=dedicated numa_cpus.0=0-1 numa_cpus.1=2-3 numa_mem.0=1024 numa_mem.1=1024"
    assert len(derived(specs, "21.2.4").cells) == 1
    assert refusal(specs, "22.0.0") == "ImageNUMATopologyIncomplete"


@pytest.mark.parametrize(
    ("specs", "properties", "version", "refused"),
    [
        ("cpu_policy=x cpu_realtime=1", "", "34.0.0", "RealtimeMaskNotFoundOrInvalid"),
        ("emulator_threads_policy=x cpu_realtime=1", "", "20.6.1", "RealtimeMaskNotFoundOrInvalid"),
        ("cpu_policy=x cpu_sockets=y", "", "34.0.0", "InvalidRequest"),
        ("", "cpu_policy=odd", "34.0.0", "InvalidRequest"),
        ("", "cpu_policy=mixed", "21.0.0", "InvalidRequest"),
        ("", "numa_cpus.0=x", "34.0.0", "Invalid"),
        ("pmu=true", "pmu=false", "24.2.1", "ImagePMUConflict"),
        ("pmu=true", "pmu=false", "25.0.0", "FlavorImageConflict"),
        ("pmu=true", "pmu=true", "34.0.0", ""),
        ("serial_port_count=x", "", "34.0.0", "ImageSerialPortNumberInvalid"),
        (
            "serial_port_count=1",
            "serial_port_count=2",
            "34.0.0",
            "ImageSerialPortNumberExceedFlavorValue",
        ),
        ("vif_multiqueue_enabled=true", "vif_multiqueue_enabled=false", "24.0.0", ""),
        (
            "vif_multiqueue_enabled=true",
            "vif_multiqueue_enabled=false",
            "25.0.0",
            "FlavorImageConflict",
        ),
        ("cpu_policy=dedicated", "", "34.0.0", ""),
    ],
)
def test_the_api_looks_at_more(specs: str, properties: str, version: str, refused: str) -> None:
    assert api_refusal(specs, version, properties) == refused
