# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import (
    HostConfig,
    HugePages,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    CellUsage,
    Host,
    PagesInUse,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import inventory
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release
from ansible_collections.pinguard.nova.tests.unit.plugins.plugin_utils._nova.building import (
    SINGLES,
    host,
    topology,
)

NEW = release("34.0.0")


@pytest.mark.parametrize(
    ("options", "vcpu", "pcpu", "legacy", "pcpuset"),
    [
        ({}, 8, 0, True, 0xFF),
        ({"vcpu_pin_set": "0-5"}, 6, 0, True, 0x3F),
        ({"vcpu_pin_set": "0-5", "cpu_shared_set": "6"}, 6, 0, True, 0x3F),
        ({"cpu_shared_set": "0-3"}, 4, 0, False, 0),
        ({"cpu_dedicated_set": "2-7"}, 0, 6, False, 0xFC),
        ({"cpu_shared_set": "0-1", "cpu_dedicated_set": "2-7"}, 2, 6, False, 0xFC),
    ],
)
def test_sets_inventory_and_cells(
    options: dict[str, t.Any], vcpu: int, pcpu: int, legacy: bool, pcpuset: int
) -> None:
    one = host(**options)
    sets = inventory.cpu_sets(one.config, one.topology, NEW)
    assert (sets.shared.bit_count(), sets.dedicated.bit_count()) == (vcpu, pcpu)
    assert (sets.legacy, sets.pinnable) == (legacy, pcpuset)
    found = inventory.inventories(one, NEW)
    assert {name: row.total for name, row in found.items() if name != "MEMORY_MB"} == {
        name: total for name, total in (("VCPU", vcpu), ("PCPU", pcpu)) if total
    }
    cells = inventory.host_cells(one, NEW)
    assert cells is not None
    assert (cells[0].cpuset, cells[0].pcpuset) == (sets.shared, pcpuset)


def test_inventory_rows() -> None:
    rows = inventory.inventories(host(vcpu_pin_set="0-5", reserved_host_cpus=2), NEW)
    assert rows["VCPU"] == inventory.Inventory(6, 2, 4.0, max_unit=6)
    assert rows["MEMORY_MB"] == inventory.Inventory(8192, 512, 1.0, max_unit=8192)
    rows = inventory.inventories(host(cpu_dedicated_set="0-5", cpu_allocation_ratio=8.0), NEW)
    assert rows["PCPU"] == inventory.Inventory(6, max_unit=6)


@pytest.mark.parametrize(
    ("version", "options", "expected"),
    [
        ("26.3.0", {}, (16.0, 1.5)),
        ("27.0.0", {}, (4.0, 1.0)),
        ("27.0.0", {"cpu_allocation_ratio": 0.0, "ram_allocation_ratio": 2.0}, (4.0, 2.0)),
        ("27.0.0", {"initial_cpu_allocation_ratio": 3.0}, (3.0, 1.0)),
        (
            "20.0.0",
            {"cpu_allocation_ratio": 1.0, "initial_cpu_allocation_ratio": 3.0},
            (1.0, 1.5),
        ),
    ],
)
def test_ratios(version: str, options: dict[str, t.Any], expected: tuple[float, float]) -> None:
    assert inventory.ratios(HostConfig(**options), release(version)) == expected


@pytest.mark.parametrize(
    ("version", "options", "fine"),
    [
        ("34.0.0", {"cpu_dedicated_set": "2-7"}, False),
        ("34.0.0", {"cpu_dedicated_set": "2-7", "cpu_power_management": True}, True),
        ("34.0.0", {"cpu_dedicated_set": "2-8", "cpu_power_management": True}, False),
        ("26.3.0", {"cpu_dedicated_set": "2-7", "cpu_power_management": True}, False),
        ("34.0.0", {"cpu_dedicated_set": "2-6"}, True),
        ("34.0.0", {"cpu_shared_set": "7", "cpu_power_management": True}, False),
        ("34.0.0", {"vcpu_pin_set": "0-7"}, False),
        ("34.0.0", {}, True),
    ],
)
def test_offline_cpus(version: str, options: dict[str, t.Any], fine: bool) -> None:
    config, hardware = HostConfig(**options), topology(offline=1 << 7)
    if fine:
        assert inventory.cpu_sets(config, hardware, release(version)).pinnable
    else:
        with pytest.raises(NovaError, match="Invalid"):
            inventory.cpu_sets(config, hardware, release(version))


@pytest.mark.parametrize(
    ("options", "cores"),
    [
        ({"cpu_dedicated_set": "0-3", "cpu_shared_set": "4-7"}, [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ({"cpu_dedicated_set": "0-3"}, [[0], [1], [2], [3]]),
        ({"cpu_shared_set": "0,4,5"}, [[0, 4], [5]]),
    ],
)
def test_siblings_keep_the_threads_of_both_sets(
    options: dict[str, t.Any], cores: list[list[int]]
) -> None:
    cells = inventory.host_cells(host(**options), NEW)
    assert cells is not None
    assert sorted(sorted(core) for core in cells[0].siblings) == cores


def test_cores_come_in_the_order_of_their_python() -> None:
    one = host("0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15")
    old, new = (inventory.host_cells(one, release(text)) for text in ("20.6.1", "21.0.0"))
    assert old is not None
    assert new is not None
    assert [core[0] for core in map(sorted, new[0].siblings)] == [2, 3, 4, 6, 7, 0, 5, 1]
    assert [core[0] for core in map(sorted, old[0].siblings)] == [3, 5, 2, 4, 1, 7, 0, 6]


def test_the_trait_is_the_hardware_s() -> None:
    trait = "HW_CPU_HYPERTHREADING"
    given = {"traits": frozenset([trait, "CUSTOM_X"])}
    assert inventory.traits(host(cpu_dedicated_set="0-3"), NEW) == {trait, "OWNER_NOVA"}
    assert inventory.traits(host(SINGLES, more=given), release("33.0.2")) == {"CUSTOM_X"}
    assert inventory.traits(host(more=given), release("19.0.0", host=True)) == {"CUSTOM_X"}


def test_reserved_huge_pages() -> None:
    entries = (HugePages("0", "4", "64"), HugePages("0", "1GB", "1"), HugePages("1", "2MB", "9"))
    assert inventory.reserved_pages(HostConfig(reserved_huge_pages=entries)) == {
        0: {4: 64, 1048576: 1},
        1: {2048: 9},
    }
    cells = inventory.host_cells(host(reserved_huge_pages=entries), NEW)
    assert cells is not None
    assert [pool.reserved for pool in cells[0].pages] == [64]


@pytest.mark.parametrize(
    "entry",
    [
        HugePages(None, "2048", "1"),
        HugePages("0", None, "1"),
        HugePages("0", "2048", None),
        HugePages("0", "2M", "1"),
        HugePages("x", "2048", "1"),
        HugePages("0", "2048", "x"),
    ],
)
def test_bad_reserved_huge_pages(entry: HugePages) -> None:
    with pytest.raises(NovaError, match="InvalidReservedMemoryPagesOption"):
        inventory.reserved_pages(HostConfig(reserved_huge_pages=(entry,)))


def test_usage_enters_the_cells() -> None:
    used = CellUsage(0, 0b11, 2, 1024, (PagesInUse(4, 100),))
    cells = inventory.host_cells(host(more={"usage": (used,)}), NEW)
    assert cells is not None
    assert (cells[0].free_count, cells[0].cpu_usage, cells[0].free_memory_mb) == (6, 2, 7168)
    assert cells[0].pages[0].used == 100


def test_a_host_without_numa_cells_has_none() -> None:
    bare = topology(cells=1)
    empty = Host("h", "34.0.0", type(bare)((), bare.online, bare.present))
    assert inventory.host_cells(empty, NEW) is None


@pytest.mark.parametrize(
    ("row", "used", "fits"),
    [
        (inventory.Inventory(4, 1, 2.0, max_unit=4), 0, [1, 2, 3, 4]),
        (inventory.Inventory(4, 1, 2.0, max_unit=4), 4, [1, 2]),
        (inventory.Inventory(3, 0, 1.5, max_unit=3), 3, [1]),
        (inventory.Inventory(8, min_unit=2, step_size=2, max_unit=6), 0, [2, 4, 6]),
        (inventory.Inventory(2), 5, []),
    ],
)
def test_what_an_inventory_gives(row: inventory.Inventory, used: int, fits: list[int]) -> None:
    assert [amount for amount in range(1, 10) if row.takes(amount, used)] == fits
