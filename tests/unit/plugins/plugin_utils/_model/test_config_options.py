# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read import nova_options
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import schema
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import (
    HostConfig,
    HugePages,
    StrayOption,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config_options import (
    OPTIONS,
    config,
)


def test_the_options_are_those_that_leave_nova_conf_and_those_of_the_schema() -> None:
    names = [
        name if group == "DEFAULT" else f"{group}.{name}" for group, name in nova_options.OPTIONS
    ]
    declared = schema.schema("host")["$defs"]["nova"]["properties"]["options"]["properties"]
    assert list(OPTIONS) == names == list(declared)
    assert {option.name for option in OPTIONS.values() if option.multiple} == nova_options.REPEATED


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("vcpu_pin_set", "2-7", "2-7"),
        ("vcpu_pin_set", "", None),
        ("vcpu_pin_set", " ", " "),
        ("vcpu_pin_set", 4, "4"),
        ("compute.cpu_dedicated_set", "2-11    # guests", "2-11    # guests"),
        ("reserved_host_cpus", " 2 ", 2),
        ("reserved_host_memory_mb", "1_024", 1024),
        ("cpu_allocation_ratio", "0.0", None),
        ("cpu_allocation_ratio", "", None),
        ("cpu_allocation_ratio", "1e1", 10.0),
        ("ram_allocation_ratio", 1.5, 1.5),
        ("initial_cpu_allocation_ratio", "0.0", 0.0),
        ("compute.packing_host_numa_cells_allocation_strategy", "off", False),
        ("libvirt.cpu_power_management", "YES", True),
        ("libvirt.cpu_power_management", True, True),
        ("libvirt.cpu_power_management_strategy", "governor", "governor"),
        ("libvirt.realtime_scheduler_priority", "-1", -1),
        ("workarounds.disable_fallback_pcpu_query", "1", True),
        ("filter_scheduler.enabled_filters", " A , B,,", ("A", "B")),
        ("filter_scheduler.enabled_filters", "", ()),
        ("reserved_huge_pages", "node:0,size:2048,count:64", (HugePages("0", "2048", "64"),)),
        ("reserved_huge_pages", ["node:1, size: 1GB"], (HugePages("1", "1GB", None),)),
        (
            "reserved_huge_pages",
            ["", "node:a:b"],
            (HugePages(None, None, None), HugePages("a:b", None, None)),
        ),
        ("reserved_huge_pages", [], ()),
        ("reserved_host_cpus", ["1", "2"], 2),
    ],
)
def test_a_value_is_typed_as_oslo_config_types_it(
    key: str, value: object, expected: object
) -> None:
    found = config({key: {"value": value, "where": "nova.conf:3"}})
    assert not found.faults
    assert getattr(found, OPTIONS[key].name) == expected
    if value != []:
        assert found.where(OPTIONS[key].name) == "nova.conf:3"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("reserved_host_cpus", "-1"),
        ("reserved_host_cpus", "1.0"),
        ("reserved_host_cpus", ""),
        ("reserved_host_cpus", "9" * 5000),
        ("reserved_host_memory_mb", "512 MB"),
        ("cpu_allocation_ratio", "-0.5"),
        ("cpu_allocation_ratio", "nan"),
        ("initial_ram_allocation_ratio", "inf"),
        ("libvirt.cpu_power_management", "t"),
        ("libvirt.cpu_power_management", ""),
        ("libvirt.cpu_power_management_strategy", "Governor"),
        ("libvirt.virt_type", "vmware"),
        ("reserved_huge_pages", "node:0,size"),
        ("reserved_huge_pages", "node:0,node:1"),
        ("reserved_huge_pages", ":0"),
    ],
)
def test_a_value_that_stops_the_service_is_a_fault_and_no_error(key: str, value: str) -> None:
    found = config({key: value})
    (fault,) = found.faults
    assert (fault.option, fault.value) == (OPTIONS[key].name, value)
    if key != "libvirt.virt_type":
        assert getattr(found, fault.option) == getattr(HostConfig(), fault.option)


def test_strays_are_kept() -> None:
    stray = {"key": "a", "section": "b", "where": "nova.conf:1", "belongs": "[c] a"}
    assert config({}, [stray]).strays == (StrayOption("a", "b", "nova.conf:1", "[c] a"),)


@given(st.sampled_from(sorted(OPTIONS)), st.text() | st.lists(st.text()))
def test_any_text_is_typed_or_a_fault(key: str, value: object) -> None:
    assert isinstance(config({key: value}), HostConfig)
