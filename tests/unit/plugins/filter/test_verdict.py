# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.filter.verdict import verdict


def test_a_boot_has_its_pins(pinned: dict[str, t.Any], host: dict[str, t.Any]) -> None:
    assert verdict(pinned, host, release="27.1.0") == {
        "boots": True,
        "query": "primary",
        "stage": None,
        "reason": "",
        "error": "",
        "cells": [0],
        "pins": {"0": 1, "1": 3},
        "reserved": "",
        "allocation": {"PCPU": 2, "MEMORY_MB": 1024},
    }


def test_a_refusal_names_its_stage(pinned: dict[str, t.Any], host: dict[str, t.Any]) -> None:
    pinned["vcpus"] = 3
    outcome = verdict(pinned, host)
    assert (outcome["boots"], outcome["query"], outcome["stage"]) == (False, None, "placement")
    assert outcome["reason"]
    assert outcome["pins"] == {}


def test_what_is_in_use_counts(pinned: dict[str, t.Any], host: dict[str, t.Any]) -> None:
    entry = {"name": "compute-1", **host, "usage": [{"cell": 0, "pinned_cpus": "3"}]}
    outcome = verdict(pinned, entry, release="27.1.0")
    assert (outcome["boots"], outcome["stage"]) == (False, "filter")


def test_a_host_without_release_has_that_of_the_scheduler(
    pinned: dict[str, t.Any], host: dict[str, t.Any]
) -> None:
    del host["release"]
    assert verdict(pinned, host, release="antelope")["boots"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topologie": {}}, "host: topologie: unknown key (nearest: topology)"),
        ({"topology": {"online": "0-3", "cells": {}}}, "host: topology.cells: {} is not of type"),
        ({"release": "99"}, "Nova '99' is not known"),
    ],
)
def test_a_bad_host_is_one_line(
    pinned: dict[str, t.Any], host: dict[str, t.Any], change: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        verdict(pinned, host | change)
    assert str(caught.value).startswith(f"verdict: {message}")
    assert "\n" not in str(caught.value)
