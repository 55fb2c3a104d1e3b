# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model import documents
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.joining import Guests
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.change import Judgement, judge

SHARED = "compute.cpu_shared_set"
DEDICATED = "compute.cpu_dedicated_set"
PRIORITY = "libvirt.realtime_scheduler_priority"
WRONG_PRIORITY = {"value": "100", "where": "nova.conf:9"}


def judged(
    host: dict[str, t.Any], settings: dict[str, str | None], guests: Guests | None = None
) -> tuple[Judgement, set[str]]:
    """Judge a host whose options are changed; give the codes that forbid it too."""
    before = host["nova"]["options"]
    after = {key: value for key, value in before.items() if key not in settings}
    for line, (key, text) in enumerate(settings.items(), 1):
        if text is not None:
            after[key] = {"value": text, "where": f"nova.conf:{line}"}
    nova = {"before": {"options": before}, "after": {"options": after}}
    found = judge("cmp-01", host, nova, settings, guests)
    assert "\n" not in found.refusal
    return found, {each.code for each in found.errors}


@pytest.mark.parametrize(
    ("settings", "codes", "fault"),
    [
        ({SHARED: "0,2", DEDICATED: "1,3"}, set(), None),
        ({SHARED: "0-2"}, {"HC-01"}, "InvalidConfiguration: CPU 1"),
        ({DEDICATED: "1,3,9"}, {"HC-06"}, "Invalid: .*CPU 9 is not online"),
        ({"vcpu_pin_set": "0"}, {"HC-03"}, "InvalidConfiguration: vcpu_pin_set"),
        ({"reserved_host_cpus": "x"}, {"HC-62"}, "ConfigFileValueError: reserved_host_cpus"),
        ({PRIORITY: "100"}, {"HC-17"}, None),
    ],
)
def test_rules_and_nova_judge(
    host: dict[str, t.Any], settings: dict[str, str | None], codes: set[str], fault: str | None
) -> None:
    found, forbidding = judged(host, settings)
    assert forbidding >= codes
    assert bool(forbidding) == bool(codes)
    assert bool(found.refusal) == bool(codes)
    assert all(f"{code}: " in found.refusal for code in codes)
    assert re.match(fault or "None", str(found.fault))


def test_an_old_error_forbids_only_where_it_is_asked_for(host: dict[str, t.Any]) -> None:
    host["nova"]["options"][PRIORITY] = WRONG_PRIORITY
    found, codes = judged(host, {"reserved_host_memory_mb": "1024"})
    assert (codes, [each.code for each in found.known]) == (set(), ["HC-17"])
    assert not found.refusal
    assert judged(host, {PRIORITY: "100"})[1] == {"HC-17"}
    assert judged(host, {PRIORITY: None})[1] == set()


def test_the_release_decides(host: dict[str, t.Any]) -> None:
    host["release"] = "19.0.0"
    assert "HC-73" in judged(host, {DEDICATED: "1,3"})[1]


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({DEDICATED: "1,3"}, None),
        ({DEDICATED: "1"}, "[Pp]in"),
        ({DEDICATED: None}, "InvalidConfiguration: server s1 is pinned"),
        ({SHARED: None}, "VCPU leaves the inventory, but 3 are allocated"),
    ],
)
def test_nova_starts_with_the_servers_of_the_host(
    host: dict[str, t.Any],
    pinned: dict[str, t.Any],
    settings: dict[str, str | None],
    fault: str | None,
) -> None:
    entry = {
        "flavor": pinned,
        "cells": [{"host_cell": 0, "pins": {"0": 1, "1": 3}}],
        "allocation": {"PCPU": 2, "MEMORY_MB": 1024},
    }
    leaks = [("c1", "cmp-01", 1), ("c2", "cmp-01", 2), ("c3", "x", 4)]
    document = {
        "servers": [{"id": "s1", "host": "cmp-01", **entry}, {"id": "s2", "host": "x", **entry}],
        "allocations": [
            {"consumer": consumer, "host": name, "resources": {"VCPU": amount}}
            for consumer, name, amount in leaks
        ],
    }
    found, _codes = judged(host, settings, Guests(*documents.servers(document, (), ())))
    assert found.servers == 1
    assert re.search(fault or "None", str(found.fault))
    assert bool(found.refusal) == bool(fault)
    assert not fault or str(found.fault).partition(":")[0] in found.refusal
