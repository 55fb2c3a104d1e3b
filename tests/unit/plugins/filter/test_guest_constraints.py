# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.filter.guest_constraints import guest_constraints


def test_the_cells_of_a_guest_are_shown(pinned: dict[str, t.Any]) -> None:
    pinned["extra_specs"] |= {"hw:numa_nodes": "2", "hw:mem_page_size": "2048"}
    cell = {
        "floating": "",
        "memory_mb": 512,
        "page_size_kb": 2048,
        "cpu_policy": "dedicated",
        "cpu_thread_policy": None,
    }
    assert guest_constraints(pinned, release="27.1.0") == {
        "topology": {
            "emulator_threads_policy": None,
            "cells": [{"id": 0, "pinned": "0", **cell}, {"id": 1, "pinned": "1", **cell}],
        },
        "error": None,
    }


def test_a_plain_flavor_has_no_topology() -> None:
    plain = {"name": "plain", "vcpus": 2, "ram": 1024}
    assert guest_constraints(plain) == {"topology": None, "error": None}


@pytest.mark.parametrize(
    ("specs", "error"),
    [
        ({"hw:cpu_policy": "pinned"}, "InvalidCPUAllocationPolicy"),
        ({"hw:cpu_realtime": "yes"}, "RealtimeMaskNotFoundOrInvalid"),
        ({"hw:cpu_policy": "dedicated", "hw:pmu": "yes"}, None),
    ],
)
def test_what_the_api_refuses_is_an_answer(
    pinned: dict[str, t.Any], specs: dict[str, str], error: str | None
) -> None:
    result = guest_constraints({**pinned, "extra_specs": specs})
    assert (result["error"] or {}).get("name") == error
    assert (result["topology"] is None) == (error is not None)


def test_a_series_may_be_a_number(pinned: dict[str, t.Any]) -> None:
    assert guest_constraints(pinned, release=2025.1) == guest_constraints(pinned, release="epoxy")


def test_bad_input_is_one_line(pinned: dict[str, t.Any]) -> None:
    with pytest.raises(AnsibleFilterError, match=r"^guest_constraints: .* unknown key"):
        guest_constraints({**pinned, "extra_spec": {}})
