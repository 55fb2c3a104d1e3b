# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host, Scheduler
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.schedule import ask, view
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.selection import (
    Found,
    Selection,
    find,
    select,
)
from ansible_collections.pinguard.nova.tests.unit.plugins.plugin_utils._nova.building import (
    flavor,
    host,
)

DEDICATED = "cpu_policy=dedicated"
BAD = f"{DEDICATED} trait1:HW_CPU_X86_VMX=required"
"""Gives a group that asks for a trait and for nothing."""

FLEET = {
    "old": host(release="19.3.2", vcpu_pin_set="0-7"),
    "mid": host(vcpu_pin_set="0-7"),
    "new": host(cpu_dedicated_set="0-7"),
    "both": host(cpu_shared_set="0-3", cpu_dedicated_set="4-7"),
    "shared": host(cpu_shared_set="0-7"),
}


def selected(
    specs: str,
    *names: str,
    scheduler: str = "34.0.0",
    hosts: dict[str, Host] | None = None,
    vcpus: int = 2,
    **options: t.Any,
) -> Selection:
    control = Scheduler(scheduler, **options)
    asked = ask(flavor(specs, vcpus=vcpus, memory_mb=512), NO_IMAGE, control)
    fleet = {
        name: view(dataclasses.replace(one, name=name))
        for name, one in (hosts or FLEET).items()
        if not names or name in names
    }
    return select(asked, find(asked, fleet.values()), fleet, control)


def test_both_queries_are_always_sent_and_the_first_that_brings_a_host_counts() -> None:
    found = selected(DEDICATED, scheduler="20.6.1")
    assert found.found.by_query == {
        "primary": ("new", "both"),
        "fallback": ("old", "mid", "both", "shared"),
    }
    assert list(found.found.union.items()) == [
        ("new", "primary"),
        ("both", "primary"),
        ("old", "fallback"),
        ("mid", "fallback"),
        ("shared", "fallback"),
    ]
    assert found.hosts == ("new", "both", "old", "mid")
    assert [dict(found.outcomes[name].allocation) for name in ("both", "mid")] == [
        {"PCPU": 2, "MEMORY_MB": 512},
        {"VCPU": 2, "MEMORY_MB": 512},
    ]
    assert found.outcomes["shared"].stage == "filter"


def test_a_full_host_comes_back_by_the_fallback_on_the_wrong_class() -> None:
    hosts = {"both": dataclasses.replace(FLEET["both"], allocated={"PCPU": 4})}
    outcome = selected(DEDICATED, hosts=hosts).outcomes["both"]
    assert outcome.boots
    assert (outcome.query, outcome.allocation["VCPU"]) == ("fallback", 2)
    refused = selected(DEDICATED, hosts=hosts, disable_fallback_pcpu_query=True)
    assert (refused.hosts, refused.found.by_query) == ((), {"primary": ()})


@pytest.mark.parametrize(("scheduler", "falls"), [("21.2.4", False), ("22.0.0", True)])
def test_one_record_from_before_train_takes_every_request_with_it(
    scheduler: str, falls: bool
) -> None:
    found = selected(DEDICATED, "old", "mid", "new", scheduler=scheduler)
    refusal = found.refusal and (found.refusal.stage, found.refusal.error)
    assert refusal == (("filter", "NotImplementedError") if falls else None)
    assert bool(found.hosts) is not falls


def test_such_a_record_harms_only_requests_that_list_it_and_have_a_topology() -> None:
    assert selected("", "old", "mid").hosts == ("old", "mid")
    assert selected(DEDICATED, "old", "new", disable_fallback_pcpu_query=True).hosts == ("new",)
    assert selected(DEDICATED, "old", "new", vcpus=9).found.union == {}


def test_without_the_filter_the_hosts_own_claim_decides() -> None:
    found = selected(DEDICATED, "old", "mid", "shared", numa_topology_filter=False)
    assert found.refusal is None
    assert found.outcomes["shared"].stage == "claim"
    assert "mid" in found.hosts


def test_a_bad_query_finds_nothing_and_kills_a_request_that_falls_back() -> None:
    found = selected(BAD)
    assert found.refusal is not None
    assert (found.refusal.stage, found.refusal.error) == ("placement", "TypeError")
    assert found.found.by_query == {"primary": (), "fallback": ()}
    alone = selected(BAD, disable_fallback_pcpu_query=True)
    assert (alone.refusal, alone.hosts, alone.found.fall) == (None, (), None)


def test_what_the_api_refuses_reaches_no_host() -> None:
    found = selected("cpu_policy=never")
    assert found.refusal is not None
    assert (found.refusal.stage, found.outcomes) == ("api", {})


def test_more_hosts_than_placement_gives_may_be_hidden() -> None:
    found = Found({"primary": ("a",), "fallback": ("b", "c")})
    assert (found.hides(1), found.hides(2)) == (True, False)
