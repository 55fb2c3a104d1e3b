# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two faults that the collection exists for."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import (
    fl_08_realtime_without_emulator_policy as realtime,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import (
    fl_46_boots_nowhere as nowhere,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import (
    fl_49_isolate_through_fallback as isolate,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import (
    fl_50_vcpu_on_new_style_host as leak,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import (
    fu_02_pins_outside_sets as lost_pins,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import (
    hc_06_cpu_not_there as absent,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import (
    a_flavor,
    a_guest,
    a_host,
    a_restart,
    legacy,
    new_style,
    no_smt,
    topology,
)

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import FlavorCase

GUARD = [
    ("20.0.0", False),
    ("20.4.0", False),
    ("20.4.1", True),
    ("20.6.1", True),
    ("21.0.0", False),
    ("21.1.0", False),
    ("21.1.1", True),
    ("22.0.0", True),
    ("27.1.0", True),
    ("34.0.0", True),
]


def isolated(release: str, **other: t.Any) -> FlavorCase:
    return a_flavor(
        new_style(release=release),
        vcpus=2,
        release=release,
        cpu_policy="dedicated",
        cpu_thread_policy="isolate",
        **other,
    )


@pytest.mark.parametrize(("release", "guarded"), GUARD)
def test_isolate_lands_on_smt_hosts_until_the_guard(release: str, guarded: bool) -> None:
    case = isolated(release)
    assert case.outcomes[0].boots is not guarded
    found = list(isolate.RULE.check(case))
    assert bool(found) is not guarded
    if found:
        assert case.outcomes[0].query == "fallback"
        assert case.outcomes[0].allocation["VCPU"] == 2
        assert "20.4.1, 21.1.1 and 22.0.0" in found[0].what
        assert "disable_fallback_pcpu_query" in found[0].fix


def test_without_the_fallback_isolate_lands_nowhere() -> None:
    case = isolated("20.4.0", fallback=False)
    assert case.outcomes[0].stage == "placement"
    assert not list(isolate.RULE.check(case))


@pytest.mark.parametrize("release", ["20.4.1", "22.0.0", "34.0.0"])
def test_one_thread_per_core_is_the_hole_that_is_left(release: str) -> None:
    host = a_host(cpu_shared_set="0,8", cpu_dedicated_set="1-7,9-15", name="half", release=release)
    case = a_flavor(
        host, vcpus=2, release=release, cpu_policy="dedicated", cpu_thread_policy="isolate"
    )
    assert case.outcomes[0].query == "fallback"
    (found,) = isolate.RULE.check(case)
    assert "one thread per core" in found.what
    assert found.hosts == ("half",)


def test_pcpu_that_is_used_up_is_no_matter_of_smt() -> None:
    case = a_flavor(
        no_smt(allocated={"PCPU": 14}),
        vcpus=2,
        cpu_policy="dedicated",
        cpu_thread_policy="isolate",
    )
    assert case.outcomes[0].query == "fallback"
    assert not list(isolate.RULE.check(case))
    assert list(leak.RULE.check(case))


def test_a_forbidden_trait_is_kept_by_the_fallback() -> None:
    case = a_flavor(
        new_style(release="20.4.0"),
        vcpus=2,
        release="20.4.0",
        cpu_policy="dedicated",
        specs={"trait:HW_CPU_HYPERTHREADING": "forbidden"},
    )
    assert case.outcomes[0].stage == "placement"


def test_realtime_without_a_policy_is_offered_both_better_flavors() -> None:
    case = a_flavor(new_style(), cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0")
    (found,) = realtime.RULE.check(case)
    share, isolating = found.fix.split("\n")
    assert share.startswith(
        "openstack flavor set example --property hw:emulator_threads_policy=share"
    )
    assert "PCPU 4 as today" in share
    assert isolating.startswith(
        "openstack flavor set example --property hw:emulator_threads_policy=isolate"
    )
    assert "PCPU 5 instead of 4" in isolating
    assert "vCPU 0" in found.what


def test_a_flavor_that_boots_nowhere_is_told_host_by_host() -> None:
    case = a_flavor(new_style(), no_smt(name="flat"), vcpus=20, cpu_policy="dedicated")
    (found,) = nowhere.RULE.check(case)
    assert "needs 20 dedicated CPUs in one cell, the largest has 14" in found.what
    assert "flat refuses at placement" in found.what
    assert found.fix == "openstack flavor set example --property hw:numa_nodes=2"


SHARING: dict[str, t.Any] = {"cpu_policy": "dedicated", "emulator_threads_policy": "share"}
REALTIME: dict[str, t.Any] = {**SHARING, "cpu_realtime": "yes", "cpu_realtime_mask": "^0"}


@pytest.mark.parametrize(
    ("release", "specs", "options", "stage"),
    [
        ("34.0.0", REALTIME, {"cpu_dedicated_set": "0-7"}, "driver"),
        ("22.0.0", REALTIME, {"cpu_dedicated_set": "0-7"}, "driver"),
        ("21.2.4", REALTIME, {"cpu_dedicated_set": "0-7"}, None),
        ("34.0.0", SHARING, {"cpu_dedicated_set": "0-7"}, None),
        ("34.0.0", REALTIME, {"cpu_dedicated_set": "0-7", "cpu_shared_set": "8"}, None),
        ("34.0.0", SHARING, {"vcpu_pin_set": "0-7", "cpu_shared_set": "99"}, "driver"),
        ("34.0.0", SHARING, {"vcpu_pin_set": "0-7", "cpu_shared_set": "8"}, None),
    ],
)
def test_shared_emulator_threads_need_a_shared_set(
    release: str, specs: dict[str, t.Any], options: dict[str, t.Any], stage: str | None
) -> None:
    (outcome,) = a_flavor(a_host(release=release, **options), release=release, **specs).outcomes
    assert outcome.stage == stage


def test_a_set_that_an_old_compute_never_reads_harms_nothing() -> None:
    host = a_host(release="19.0.0", vcpu_pin_set="0-7", cpu_shared_set="4-$")
    (outcome,) = a_flavor(host, release="21.1.1", vcpus=2, **SHARING).outcomes
    assert outcome.query == "fallback"


@pytest.mark.parametrize(
    ("listed", "hint"),
    [
        ("2,10", "; perhaps a lost comma: '1,0' for 10"),
        ("2-7, 10 ", "; perhaps a lost comma: '1,0' for 10"),
        ("2-10", ""),
        ("2-7,10-11", ""),
    ],
)
def test_a_comma_is_lost_between_single_cpus_alone(listed: str, hint: str) -> None:
    machine = topology(cells=1, cores=10, threads=1)
    (detail,) = absent.RULE.check(a_host(machine, cpu_dedicated_set=listed))
    assert detail.what.partition(" lacks")[2] == hint


def test_moves_are_confirmed() -> None:
    servers = (a_guest(1, 17, name="1"), a_guest(2, 18, name="2"))
    case = a_restart(legacy(), new_style(cpu_dedicated_set="3-7,19-23"), *servers)
    (detail,) = lost_pins.RULE.check(case)
    assert detail.fix.count("openstack server migrate ") == 2
    assert detail.fix.count("openstack server migration confirm ID") == 1
