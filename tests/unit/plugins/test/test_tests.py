# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.test.boots_on import boots_on
from ansible_collections.pinguard.nova.plugins.test.cpu_list import cpu_list
from ansible_collections.pinguard.nova.plugins.test.pinned import pinned as is_pinned
from ansible_collections.pinguard.nova.plugins.test.safe_on import safe_on

PLAIN: dict[str, t.Any] = {"name": "plain", "vcpus": 2, "ram": 1024}


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        ("2-6,^4", {}, True),
        ("", {}, True),
        (4, {}, True),
        ("4-2", {}, False),
        ("all", {}, False),
        ("all", {"form": "kernel", "last": 3}, True),
        ("0x3", {}, False),
        ("0x3", {"form": "hex"}, True),
    ],
)
def test_a_list_of_cpus(value: object, options: dict[str, t.Any], expected: bool) -> None:
    assert cpu_list(value, **options) is expected


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        ({}, False),
        ({"hw:cpu_policy": "dedicated"}, True),
        ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0"}, True),
        ({"resources:PCPU": "2"}, True),
        ({"hw:numa_nodes": "1"}, False),
        ({"hw:cpu_policy": "nonsense"}, False),
    ],
)
def test_pinned(specs: dict[str, str], expected: bool) -> None:
    assert is_pinned({**PLAIN, "extra_specs": specs}) is expected


def test_pinned_by_the_image() -> None:
    image = {"name": "image", "properties": {"hw_cpu_policy": "dedicated"}}
    assert is_pinned(PLAIN, image) is True


@pytest.mark.parametrize(
    ("specs", "boots", "safe"),
    [
        ({"hw:cpu_policy": "dedicated"}, True, True),
        ({}, True, True),
        # By the fallback: it boots, beside the threads of others.
        ({"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "isolate"}, False, False),
        ({"hw:cpu_policy": "nonsense"}, False, False),
    ],
)
def test_boots_and_safe(
    host: dict[str, t.Any], specs: dict[str, str], boots: bool, safe: bool
) -> None:
    flavor = {**PLAIN, "extra_specs": specs}
    assert boots_on(flavor, host, release="27.1.0") is boots
    assert safe_on(flavor, host, release="27.1.0") is safe


def test_what_boots_is_not_always_safe(host: dict[str, t.Any]) -> None:
    """Releases without the guard let isolate in through the fallback query."""
    host["release"] = "20.0.0"
    flavor = {
        **PLAIN,
        "vcpus": 1,
        "extra_specs": {"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "isolate"},
    }
    assert boots_on(flavor, host, release="20.0.0")
    assert not safe_on(flavor, host, release="20.0.0")


@pytest.mark.parametrize("plugin", [boots_on, safe_on])
def test_bad_input_is_one_line(plugin: t.Callable[..., bool], host: dict[str, t.Any]) -> None:
    with pytest.raises(AnsibleFilterError, match=f"^{plugin.__name__}: host: .* is not of type"):
        plugin(PLAIN, "compute-1")
    with pytest.raises(AnsibleFilterError, match=f"^{plugin.__name__}: flavor: 'm1' is no flavor"):
        plugin("m1", host)


def test_bad_input_of_the_others() -> None:
    with pytest.raises(AnsibleFilterError, match=r"^pinned: flavor: 'm1' is no flavor"):
        is_pinned("m1")
    with pytest.raises(AnsibleFilterError, match=r"^cpu_list: form: 'octal' is no form"):
        cpu_list("1", form="octal")
