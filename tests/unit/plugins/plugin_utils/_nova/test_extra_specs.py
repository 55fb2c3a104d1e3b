# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import extra_specs
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release


@pytest.mark.parametrize(
    ("key", "fine", "refused"),
    [
        ("cpu_policy", "dedicated shared mixed", "Dedicated pinned"),
        ("cpu_thread_policy", "prefer isolate require", "preferred"),
        ("emulator_threads_policy", "isolate share", "shared"),
        ("cpu_realtime", "yes True 0 off", "banana"),
        ("locked_memory", "true", "maybe"),
        ("cpu_realtime_mask", "^0 1-3 ^0-1,3 0-3,^2", "x 1- ^"),
        ("cpu_dedicated_mask", "0-1 ^2-3", "x"),
        ("numa_cpus.0", "0-3 0,2,^1", "x"),
        ("numa_cpus.12", "1", "-1"),
        ("mem_page_size", "large small any 2048 2MB 2M 2048kB 1GiB", "huge -1 1.5MB"),
        ("numa_nodes", "1 2 01", "0 -1 two"),
        ("numa_mem.1", "512", "0 x"),
        ("cpu_max_sockets", "1", "0"),
        ("cpu_sockets", "2", "x"),
        ("pci_numa_affinity_policy", "required preferred legacy socket", "odd"),
        ("watchdog_action", "anything", ""),
    ],
)
def test_values(key: str, fine: str, refused: str) -> None:
    new = release("34.0.0")
    for value in fine.split():
        assert extra_specs.check(f"hw:{key}", value, new) is None, value
    for value in refused.split():
        text = extra_specs.check(f"hw:{key}", value, new)
        assert text is not None, value
        assert repr(value) in text


@pytest.mark.parametrize("key", ["hw:emulator_thread_policy", "hw:numa_cpus", "hw:numa_cpus.x"])
def test_unknown_keys(key: str) -> None:
    text = extra_specs.check(key, "1", release("34.0.0"))
    assert text == f"{key} is no extra spec of Nova"


@pytest.mark.parametrize("key", ["resources:PCPU", "trait:CUSTOM_A", "quota:cpu_quota", "hw", "x"])
def test_other_namespaces_are_not_judged(key: str) -> None:
    assert extra_specs.check(key, "anything at all", release("34.0.0")) is None


@pytest.mark.parametrize(
    ("key", "value", "without", "since"),
    [
        ("hw:cpu_policy", "mixed", "21.2.4", "22.0.0"),
        ("hw:cpu_dedicated_mask", "0", "21.2.4", "22.0.0"),
        ("hw:cpu_realtime_mask", "1-3", "21.2.4", "22.0.0"),
        ("hw:pci_numa_affinity_policy", "socket", "22.4.0", "23.0.0"),
        ("hw:locked_memory", "true", "25.3.0", "26.0.0"),
        ("hw:cpu_max_sockets", "1", "30.2.0", "30.3.0"),
        ("hw:cpu_max_sockets", "1", "31.1.0", "31.2.0"),
    ],
)
def test_when_a_value_is_accepted(key: str, value: str, without: str, since: str) -> None:
    assert extra_specs.check(key, value, release(without))
    assert extra_specs.check(key, value, release(since)) is None


def test_the_misnamed_key_was_accepted() -> None:
    assert extra_specs.check("hw:max_cpu_sockets", "1", release("30.2.0")) is None
    assert extra_specs.check("hw:max_cpu_sockets", "1", release("34.0.0"))
    assert "max_cpu_sockets" in extra_specs.known_keys(release("21.0.0"))
    assert {"numa_cpus", "numa_mem", "cpu_policy"} <= extra_specs.known_keys(release("34.0.0"))
