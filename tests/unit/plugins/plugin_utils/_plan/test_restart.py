# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import re
import typing as t

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import mask, to_text
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import HostConfig
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Scheduler
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.cloud import Cloud
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan import restart
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import findings
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import (
    a_guest,
    a_host,
    a_restart,
    legacy,
    new_style,
    topology,
)

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import Server
    from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import (
        HostCase,
        RestartCase,
    )

MACHINE = topology(cells=1, cores=4)
"""CPU 0 to 7; CPU 4 is the sibling of CPU 0."""


def told(case: RestartCase) -> list[tuple[str, str]]:
    return [(each.code, each.severity.value) for each in findings(case, "host compute-1")]


def a_cloud(names: Iterable[str], *servers: Server) -> Cloud:
    """Make a cloud of hosts with ``vcpu_pin_set``; the servers are on the first of them."""
    cloud = Cloud(Scheduler("34.0.0"))
    for index, name in enumerate(names):
        cloud.settle_in(dataclasses.replace(OLD.host, name=name), () if index else servers)
    return cloud


OLD = a_host(MACHINE, vcpu_pin_set="0-7")


@pytest.mark.parametrize(
    ("now", "then", "servers", "expected"),
    [
        pytest.param(
            OLD,
            {"cpu_dedicated_set": "0-3"},
            [a_guest(0, 4), a_guest(name="2")],
            [("FU-01", "error")],
            id="floating, nothing shared",
        ),
        pytest.param(
            OLD,
            {"cpu_shared_set": "0-7"},
            [a_guest(0, 4)],
            [("FU-01", "error")],
            id="pinned, nothing dedicated",
        ),
        pytest.param(
            OLD,
            {"cpu_shared_set": "0-3", "cpu_dedicated_set": "3-7"},
            [a_guest(0, 4)],
            [("FU-01", "error")],
            id="sets overlap",
        ),
        pytest.param(
            OLD,
            {"cpu_shared_set": "0,4", "cpu_dedicated_set": "1-3,5-8"},
            [a_guest(1, 5)],
            [("FU-01", "error")],
            id="a CPU that is not there",
        ),
        pytest.param(
            OLD,
            {"cpu_dedicated_set": "4-7", "cpu_shared_set": "0-3"},
            [a_guest(0, 4)],
            [("FU-02", "error")],
            id="pins outside",
        ),
        pytest.param(
            OLD,
            {"cpu_dedicated_set": "0-1,4-6", "cpu_shared_set": "2-3,7"},
            [a_guest(0, 4, reserved="2", emulator_threads_policy="isolate")],
            [("FU-02", "error")],
            id="CPU for emulator threads outside",
        ),
        pytest.param(
            OLD,
            {"cpu_dedicated_set": "0-7"},
            [a_guest(0, 4), a_guest(0, 1, name="2")],
            [("FU-02", "error")],
            id="a CPU held twice",
        ),
        pytest.param(
            OLD,
            {"cpu_dedicated_set": "0,2,6", "cpu_shared_set": "1,3-5,7"},
            [a_guest(0, 2, cpu_thread_policy="isolate")],
            [("FU-03", "error")],
            id="siblings shared",
        ),
        pytest.param(
            OLD,
            {"cpu_dedicated_set": "0,2,6", "cpu_shared_set": "1,3,5,7"},
            [a_guest(0, 2, cpu_thread_policy="isolate", allocation={"VCPU": 2})],
            [("FU-03", "warning"), ("FU-05", "warning")],
            id="siblings left to the host",
        ),
        pytest.param(
            a_host(MACHINE, cpu_dedicated_set="0-3", cpu_shared_set="4-7"),
            {"vcpu_pin_set": "0-7"},
            [a_guest(0, 1, allocation={"PCPU": 2})],
            [("FU-04", "error")],
            id="back with PCPU allocated",
        ),
        pytest.param(
            a_host(MACHINE, cpu_dedicated_set="0-3", cpu_shared_set="4-7"),
            {"cpu_dedicated_set": "0-7"},
            [a_guest(0, 1, allocation={"VCPU": 2})],
            [("FU-04", "error")],
            id="nothing shared with VCPU allocated to a pinned server",
        ),
        pytest.param(
            a_host(MACHINE, cpu_dedicated_set="0-3", cpu_shared_set="4-7"),
            {"cpu_dedicated_set": "0-4", "cpu_shared_set": "5-7"},
            [a_guest(0, 1, allocation={"VCPU": 2})],
            [("FU-05", "warning")],
            id="no reshape on a host that has PCPU",
        ),
        pytest.param(
            OLD,
            {"cpu_dedicated_set": "0-3", "cpu_shared_set": "4-7"},
            [a_guest(0, 1, allocation={"VCPU": 2}), a_guest(name="2", allocation={"VCPU": 2})],
            [("FU-06", "warning")],
            id="moved as it should be, but one floats on",
        ),
    ],
)
def test_one_cause_is_one_finding(
    now: HostCase, then: dict[str, str], servers: list[Server], expected: list[tuple[str, str]]
) -> None:
    assert told(a_restart(now, a_host(MACHINE, **then), *servers)) == expected


def test_a_class_in_use_dies_from_26_on_and_grows_old_before() -> None:
    guest = a_guest(1, 2, allocation={"PCPU": 2})
    for release, starts in (("25.3.0", True), ("26.0.0", False)):
        case = a_restart(new_style(release=release), legacy(release=release), guest)
        assert (case.start.refusal is None) is starts
        assert ("FU-04", "error") in told(case)


def test_consumers_that_are_no_servers_are_counted() -> None:
    case = a_restart(new_style(), legacy(), strangers={"PCPU": 3})
    (found,) = [each for each in findings(case, "") if each.code == "FU-04"]
    assert "consumers that are no servers here hold 3" in found.what


BOTH = HostConfig(cpu_shared_set="0,4", cpu_dedicated_set="1-3,5-7")


def test_equal_hosts_are_one_result_and_the_cloud_stays_as_it_is() -> None:
    names = [f"cmp-{number}" for number in range(1, 501)]
    cloud = a_cloud(names, a_guest(1, 5, allocation={"VCPU": 2}))
    before = dict(cloud.hosts), {name: dict(each) for name, each in cloud.residents.items()}
    alone, others = restart.check(cloud, dict.fromkeys(names, BOTH))
    assert (alone.names, others.names) == (("cmp-1",), tuple(names[1:]))
    assert (len(alone.case.start.moved), alone.starts, alone.error) == (1, True, None)
    assert {name: each.total for name, each in alone.after.items()}["PCPU"] == 6
    assert "PCPU" not in alone.before
    assert before == (cloud.hosts, cloud.residents)


def test_what_a_host_is_not_told_of_is_not_judged() -> None:
    cloud = a_cloud(["cmp-1"])
    assert restart.check(cloud, {"cmp-1": BOTH})[0].judged
    (found,) = restart.check(cloud, {"cmp-1": BOTH}, servers_told=False)
    assert not found.judged
    assert [each.severity for each in found.findings if each.code == "FU-08"] == ["warning"]


def test_another_release_may_refuse_what_runs_now() -> None:
    cloud = Cloud(Scheduler("25.3.0"))
    host = new_style(release="25.3.0", cpu_power_management=True, cpu_dedicated_set=None).host
    cloud.settle_in(host, [a_guest()])
    (found,) = restart.check(cloud, {host.name: host.config}, "28.0.0")
    assert (found.starts, [each.code for each in found.findings]) == (False, ["FU-01"])


def test_refusals_are_the_errors_alone() -> None:
    servers = [a_guest(0, 4), a_guest(name="2")]
    then = a_host(MACHINE, cpu_dedicated_set="1-3,5-7", cpu_shared_set="0,4").host
    found = restart.refusals(OLD.host, then, servers)
    assert [each.code for each in found] == ["FU-02"]


def test_options_are_changed_and_unset() -> None:
    before = a_host(MACHINE, vcpu_pin_set="0-7", reserved_host_cpus=2).host.config
    after = restart.changed(
        before, {"vcpu_pin_set": None, "compute.cpu_dedicated_set": "1-7"}, ("options",)
    )
    assert (after.vcpu_pin_set, after.cpu_dedicated_set) == (None, "1-7")
    assert (after.reserved_host_cpus, after.where("cpu_dedicated_set")) == (2, "options")
    assert after.where("vcpu_pin_set") == "nova.conf"


def test_a_value_that_nova_refuses_is_a_fault_until_it_is_mended() -> None:
    wrong = restart.changed(HostConfig(), {"reserved_host_cpus": "two"}, ("options",))
    assert [each.option for each in wrong.faults] == ["reserved_host_cpus"]
    assert restart.changed(wrong, {"reserved_host_cpus": 2}, ("options",)).faults == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cpu_dedicated_set": "1"}, r"nearest: compute\.cpu_dedicated_set"),
        ({"compute.cpu_shared_set": {"a": 1}}, "is no value of an option"),
        (["vcpu_pin_set"], "is no mapping"),
    ],
)
def test_options_that_cannot_be_are_refused(options: t.Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        restart.changed(HostConfig(), options, ("options",))
    assert "\n" not in str(caught.value)


def test_a_reshape_fails_over_what_others_hold() -> None:
    then = a_host(MACHINE, cpu_dedicated_set="0-7")
    guest = a_guest(0, 4, allocation={"VCPU": 2})
    case = a_restart(OLD, then, guest, strangers={"VCPU": 1})
    assert case.start.refusal
    assert case.start.refusal.name == "ReshapeFailed"
    (found,) = findings(case, "")
    assert found.what.startswith("VCPU leaves the inventory, but consumers that are no servers")


def test_a_shared_set_of_stein_means_more_from_train_on() -> None:
    options = {"cpu_shared_set": "0,4"}
    before = a_host(MACHINE, release="19.3.2", **options)
    case = a_restart(before, a_host(MACHINE, release="20.6.1", **options), a_guest(1, 5))
    (found,) = findings(case, "")
    assert (found.code, "cpu_dedicated_set = 1,5" in found.fix) == ("FU-01", True)


CPUS = st.sets(st.integers(0, 7)).map(mask)


@st.composite
def guests(draw: st.DrawFn) -> list[Server]:
    """Draw servers that fit a host of eight CPUs with policy isolate on whole cores."""
    found = []
    for core in draw(st.sets(st.integers(0, 3))):
        name = str(core)
        if draw(st.booleans()):
            guest = a_guest(core, name=name, allocation={"VCPU": 1}, cpu_thread_policy="isolate")
        else:
            guest = a_guest(core, core + 4, name=name, allocation={"VCPU": 2})
        found.append(guest)
    if draw(st.booleans()):
        found.append(a_guest(name="9", allocation={"VCPU": 2}))
    return found


@given(
    shared=CPUS,
    dedicated=CPUS,
    pin_set=CPUS,
    servers=guests(),
    release=st.sampled_from(("20.6.1", "25.3.0", "26.3.0", "34.0.0")),
)
def test_a_restart_fails_just_where_an_error_is_found(
    shared: int, dedicated: int, pin_set: int, servers: list[Server], release: str
) -> None:
    options = {
        name: to_text(cpus)
        for name, cpus in {
            "cpu_shared_set": shared,
            "cpu_dedicated_set": dedicated,
            "vcpu_pin_set": pin_set if pin_set & 1 else 0,
        }.items()
        if cpus
    }
    now = a_host(MACHINE, release=release, vcpu_pin_set="0-7")
    case = a_restart(now, a_host(MACHINE, release=release, **options), *servers)
    errors = {code for code, severity in told(case) if severity == "error"}
    if case.start.clean:
        # Of policy isolate Nova counts cores: one that is in no set at all it passes over.
        assert errors <= {"FU-02", "FU-03"}
        assert not errors or any("isolate" in str(each.flavor.extra_specs) for each in servers)
    else:
        assert errors


@given(dedicated=CPUS, servers=guests())
def test_the_sets_that_are_proposed_keep_every_pin(dedicated: int, servers: list[Server]) -> None:
    assume(dedicated and dedicated != 255)
    sets = {"cpu_dedicated_set": to_text(dedicated), "cpu_shared_set": to_text(255 & ~dedicated)}
    for each in findings(a_restart(OLD, a_host(MACHINE, **sets), *servers), ""):
        if each.code in ("FU-02", "FU-03"):
            mended = {**sets, **dict(re.findall(r"(cpu_\w+) = (.*)", each.fix))}
            again = a_restart(OLD, a_host(MACHINE, **mended), *servers)
            assert not {code for code, _severity in told(again)} & {"FU-02", "FU-03"}


def test_a_host_that_served_nothing_tells_of_shared_emulator_threads_too() -> None:
    broken = a_host(cpu_shared_set="0-3", cpu_dedicated_set="2-7")
    guest = a_guest(4, 5, emulator_threads_policy="share", allocation={"PCPU": 2})
    codes = [code for code, _severity in told(a_restart(broken, new_style(), guest))]
    assert "FU-06" in codes
