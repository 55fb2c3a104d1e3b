# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a host is tuned, against what it is for."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import parse_hex
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Isolation
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.kernel import (
    Cgroups,
    Kernel,
    Libvirt,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import hosts, tuning
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.catalog import RULES
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import (
    a_flavor,
    a_fleet,
    a_host,
    legacy,
    new_style,
    no_smt,
    topology,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import (
    Detail,
    FleetCase,
    HostCase,
    Severity,
)

PINNED, EVERY = 0xFEFEFEFE, 0xFFFFFFFF
NOISY = Kernel(
    release="5.14.0",
    preempt_rt=False,
    nohz_full=0,
    rcu_nocbs=0,
    rt_runtime_us=950000,
    numa_balancing=True,
    nmi_watchdog=True,
    watchdog_cpus=EVERY,
    ksm=1,
    huge_pages="always",
    workqueue_cpus=EVERY,
    irq_default=EVERY,
    irqs={"eth0-TxRx-*": EVERY},
    irqbalance=True,
    irqbalance_banned=0,
    smt="on",
    governors={"powersave": EVERY},
    idle_latency_us={133: EVERY},
    kthread_priorities={"ksoftirqd": 0},
)
FOR_REALTIME = {f"HC-{number:02}" for number in (9, 18, *range(20, 23), *range(25, 34), 38)}

UNCLEAR = FOR_REALTIME | {f"HC-{number}" for number in (19, 23, 24, 35, 37, 40, 41, 42, 43, 46)}


def told(case: HostCase | FleetCase, *codes: str) -> dict[str, list[Detail]]:
    """Map the codes of rules that find something, of ``codes`` if any, to what they find."""
    found = {
        rule.code: list(rule.check(case))
        for rule in RULES
        if rule.subject is type(case) and (not codes or rule.code in codes)
    }
    return {code: details for code, details in found.items() if details}


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ({"intent": "realtime"}, True),
        ({"kernel": Kernel(preempt_rt=True)}, True),
        ({"tuned_profile": "realtime"}, True),
        ({"tuned_profile": "throughput-performance realtime-virtual-host"}, True),
        ({"tuned_profile": "cpu-partitioning"}, False),
        ({"intent": "pinned", "kernel": Kernel(preempt_rt=True)}, False),
        ({"isolation": Isolation(domain=PINNED)}, False),
        ({"kernel": Kernel(preempt_rt=False)}, False),
        ({}, False),
    ],
)
def test_intent_is_told_or_inferred(host: dict[str, t.Any], expected: bool) -> None:
    assert hosts.realtime(new_style(**host)) is expected


@pytest.mark.parametrize("intent", [None, "pinned", "shared"])
def test_a_pinned_host_is_no_realtime_host(intent: str | None) -> None:
    found = told(new_style(intent=intent, kernel=NOISY, isolation=Isolation()))
    assert not FOR_REALTIME & set(found)


def test_a_realtime_host_is_told_of_each_mechanism() -> None:
    found = told(new_style(intent="realtime", kernel=NOISY, isolation=Isolation()))
    assert FOR_REALTIME - set(found) == {"HC-18", "HC-25"}
    assert all(len(details) == 1 for details in found.values())


def test_what_is_unknown_is_neither_praised_nor_blamed() -> None:
    for kernel in (None, Kernel()):
        host: dict[str, t.Any] = {"intent": "realtime", "kernel": kernel, "libvirt": Libvirt()}
        assert set(told(new_style(**host), *UNCLEAR)) == {"HC-38"}
        assert not told(no_smt(**host, cgroups=Cgroups()), *UNCLEAR)
        assert not told(a_fleet(hosts=(new_style(**host, cgroups=Cgroups()),)), *UNCLEAR)


def test_a_realtime_host_without_sets_names_no_realtime_cpus() -> None:
    assert not hosts.realtime_cpus(a_host(intent="realtime"))
    assert hosts.realtime_cpus(legacy(intent="realtime")) == PINNED


@pytest.mark.parametrize(
    ("isolation", "profile", "code"),
    [
        (Isolation(), None, "HC-09"),
        (Isolation(domain=0xFEFE), None, "HC-68"),
        (Isolation(), "cpu-partitioning", "HC-25"),
        (Isolation(tuned_unbalanced=PINNED), "cpu-partitioning", ""),
        (Isolation(domain=PINNED), None, ""),
        (None, "cpu-partitioning", ""),
        (Isolation(tuned_isolated=PINNED, arguments_known=False), "cpu-partitioning", ""),
    ],
)
def test_missing_isolation_is_told_once(
    isolation: Isolation | None, profile: str | None, code: str
) -> None:
    host = no_smt if code != "HC-68" else new_style
    case = host(intent="realtime", isolation=isolation, tuned_profile=profile)
    codes = ("HC-09", "HC-25", "HC-68")
    assert [*told(case, *codes), *told(a_fleet(hosts=(case,)), *codes)] == [code][: bool(code)]


def test_isolated_partitions_count_as_isolated() -> None:
    case = new_style(intent="realtime", cgroups=Cgroups(isolated=PINNED), isolation=Isolation())
    assert not told(case, "HC-08", "HC-09", "HC-10", "HC-68")
    assert told(new_style(cgroups=Cgroups(isolated=EVERY)), "HC-08", "HC-13").keys() == {
        "HC-08",
        "HC-13",
    }


def test_shared_cpus_that_are_isolated_are_none_for_the_host() -> None:
    sets: dict[str, t.Any] = {"cpu_shared_set": "0,16", "cpu_dedicated_set": "1-15,17-31"}
    (shared,) = told(a_host(**sets), "HC-13")["HC-13"]
    assert shared.severity is Severity.INFO
    (found,) = told(a_host(**sets, isolation=Isolation(domain=EVERY)), "HC-13")["HC-13"]
    assert found.severity is None


@pytest.mark.parametrize(
    ("priority", "threads", "fires"),
    [
        (1, {"ksoftirqd": 2, "ktimers": 3, "rcuc": 4}, False),
        (1, {"ksoftirqd": 0}, True),
        (1, {"rcuc": 1}, True),
        (3, {"ksoftirqd": 2, "rcuc": 4}, True),
        (1, None, False),
        (0, {"ksoftirqd": 0}, False),
    ],
)
def test_threads_of_the_kernel_come_before_realtime_vcpus(
    priority: int, threads: dict[str, int] | None, fires: bool
) -> None:
    kernel = Kernel(preempt_rt=True, kthread_priorities=threads)
    case = new_style(kernel=kernel, realtime_scheduler_priority=priority)
    assert bool(told(case, "HC-18")) is fires


@pytest.mark.parametrize(
    ("groups", "libvirt", "fires"),
    [
        (Cgroups(cpu_controller=True), Libvirt(), True),
        (Cgroups(cpu_controller=False), Libvirt(), False),
        (Cgroups(), Libvirt(), False),
        (Cgroups(cpu_controller=True), None, True),
        (Cgroups(), None, False),
        (Cgroups(cpu_controller=True), Libvirt(controllers=frozenset({"cpuset"})), False),
    ],
)
def test_realtime_groups_stop_realtime_flavors_on_any_host(
    groups: Cgroups, libvirt: Libvirt | None, fires: bool
) -> None:
    host = new_style(kernel=Kernel(rt_group_sched=True), cgroups=groups, libvirt=libvirt)
    flavor = a_flavor(host, cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0")
    found = told(a_fleet(flavor, hosts=(host,)), "HC-19")
    assert bool(found) is fires
    if fires:
        (detail,) = found["HC-19"]
        assert ("may not start" in detail.effect) is (libvirt is None)
        assert detail.severity is (None if libvirt else Severity.WARNING)
    assert not told(a_fleet(a_flavor(host), hosts=(host,)), "HC-19")


@pytest.mark.parametrize(
    ("release", "version", "possible"),
    [("25.2.1", 1, False), ("25.2.1", 2, False), ("25.2.0", 2, True), ("25.3.0", 1, True)],
)
def test_libvirt_leaves_no_controller_out_that_default_shares_need(
    release: str, version: int, possible: bool
) -> None:
    host = new_style(
        release=release,
        intent="realtime",
        kernel=Kernel(rt_group_sched=True),
        cgroups=Cgroups(version=version, cpu_controller=True),
        libvirt=Libvirt(),
    )
    (found,) = told(a_fleet(hosts=(host,), release=release), "HC-19")["HC-19"]
    assert ("cgroup_controllers = " in found.fix) is possible


def test_a_data_path_keeps_its_cpus_for_itself() -> None:
    kernel = Kernel(irq_default=EVERY, nohz_full=0xFF, rcu_nocbs=0xFF)
    host = no_smt(
        cpu_shared_set="0-1",
        cpu_dedicated_set="8-15",
        intent="realtime",
        data_path_cpus=0b1100,
        kernel=kernel,
    )
    found = told(host, "HC-20", "HC-21", "HC-22")
    fixes = {code: details[0].fix for code, details in found.items()}
    assert "irqaffinity=0-1,4-7 " in fixes["HC-22"]
    assert "nohz_full=2-3,8-15 " in fixes["HC-20"]
    assert "rcu_nocbs=0-15 " in fixes["HC-21"]


def test_the_boot_cpu_keeps_its_tick() -> None:
    host: dict[str, t.Any] = {"cpu_dedicated_set": "0-7", "cpu_shared_set": "8-15"}
    at_ease = no_smt(**host, intent="realtime", kernel=Kernel(nohz_full=0xFE))
    assert not told(at_ease, "HC-20")
    (found,) = told(no_smt(**host, intent="realtime", kernel=Kernel(nohz_full=0xFF0)), "HC-20")[
        "HC-20"
    ]
    assert "realtime CPUs 1-3 keep" in found.what
    assert "CPUs 8-11 without tick" in found.what
    assert found.fix.startswith("nohz_full=1-7 ")


def test_interrupts_that_the_kernel_manages_are_left_out() -> None:
    irqs = {"nvme0q*": PINNED, "virtio0-req.*": 2, "nvme0q0": 1}
    case = new_style(intent="realtime", kernel=Kernel(irqs=irqs))
    assert not told(case, "HC-22")
    (found,) = told(
        new_style(intent="realtime", kernel=Kernel(irqs={**irqs, "nvme0q0": 2, "mlx5_comp*": 4})),
        "HC-22",
    )["HC-22"]
    assert "interrupts mlx5_comp*, nvme0q0 go there" in found.what


@pytest.mark.parametrize(
    ("banned", "fires"), [(None, False), (0, True), (PINNED, False), (EVERY, False)]
)
def test_irqbalance_is_told_what_to_leave_alone(banned: int | None, fires: bool) -> None:
    kernel = Kernel(irqbalance=True, irqbalance_banned=banned)
    assert bool(told(new_style(intent="realtime", kernel=kernel), "HC-22")) is fires


@pytest.mark.parametrize(
    ("limit", "kernel", "isolated", "what"),
    [
        (950000, "5.14.0-427.el9.x86_64+rt", PINNED, "is 950000"),
        (900000, None, PINNED, "is 900000"),
        (1000000, "5.14.0", PINNED, ""),
        (950000, "6.12.0", PINNED, ""),
        (-1, "6.1.0", PINNED, ""),
        (-1, "6.1.0", 0, "not isolated"),
        (-1, "6.12.0", 0, ""),
        (None, "6.1.0", 0, ""),
    ],
)
def test_the_limit_on_realtime_tasks(
    limit: int | None, kernel: str | None, isolated: int, what: str
) -> None:
    case = new_style(
        intent="realtime",
        isolation=Isolation(domain=isolated),
        kernel=Kernel(release=kernel, rt_runtime_us=limit),
    )
    found = told(case, "HC-26").get("HC-26", [])
    assert [what in detail.what for detail in found] == [True][: bool(what)]


def test_a_trait_advertises_a_realtime_host() -> None:
    traits = frozenset({"CUSTOM_REALTIME"})
    assert told(new_style(traits=traits, kernel=Kernel(preempt_rt=False)), "HC-27")
    assert not told(new_style(traits=traits, kernel=Kernel()), "HC-27")


def test_nova_sets_the_governor_itself() -> None:
    case = new_style(
        intent="realtime",
        kernel=Kernel(governors={"powersave": EVERY}),
        cpu_power_management=True,
        cpu_power_management_strategy="governor",
    )
    assert not told(case, "HC-33")


@pytest.mark.parametrize(
    ("release", "strategy", "offline", "severity"),
    [
        ("27.4.0", "cpu_state", "20", Severity.WARNING),
        ("27.5.0", "cpu_state", "20", None),
        ("28.2.0", "cpu_state", "20", Severity.WARNING),
        ("29.2.0", "cpu_state", "20", None),
        ("34.0.0", "cpu_state", "20", None),
        ("34.0.0", "governor", "20", Severity.ERROR),
        ("34.0.0", "governor", "", None),
        ("26.0.0", "governor", "20", None),
    ],
)
def test_power_management_wants_cpus_alike(
    release: str, strategy: str, offline: str, severity: Severity | None
) -> None:
    case = new_style(
        machine=topology(offline=offline),
        release=release,
        cpu_power_management=True,
        cpu_power_management_strategy=strategy,
    )
    found = told(case, "HC-35").get("HC-35", [])
    assert [detail.severity or Severity.ERROR for detail in found] == (
        [severity] if severity else []
    )


@pytest.mark.parametrize(
    ("release", "fires"),
    [("27.5.0", True), ("27.5.1", False), ("28.3.0", True), ("29.2.1", False), ("30.0.0", False)],
)
def test_sockets_of_offline_cpus(release: str, fires: bool) -> None:
    case = new_style(release=release, cpu_power_management=True)
    assert bool(told(case, "HC-37")) is fires


@pytest.mark.parametrize(
    ("case", "sets"),
    [
        (
            new_style(intent="realtime"),
            "[compute]\ncpu_shared_set = 0,8\ncpu_dedicated_set = 1-7,9-15\n",
        ),
        (
            a_host(intent="realtime", cpu_shared_set="16-17", cpu_dedicated_set="2,18"),
            "[compute]\ncpu_shared_set = 0-1\ncpu_dedicated_set = 2\n",
        ),
        (legacy(intent="realtime"), "[DEFAULT]\nvcpu_pin_set = 1-7,9-15\n"),
    ],
)
def test_sets_are_proposed_for_a_host_without_smt(case: HostCase, sets: str) -> None:
    (found,) = told(case, "HC-38")["HC-38"]
    assert found.fix.startswith(sets)


def test_locked_flavors_need_a_daemon_that_may_lock() -> None:
    libvirt = Libvirt(lock_capable=False, memlock_unlimited=False)
    host = new_style(machine=topology(huge_pages=8192), libvirt=libvirt)
    locked = a_flavor(host, cpu_policy="dedicated", mem_page_size="large", locked_memory="yes")
    assert told(a_fleet(locked, hosts=(host,)), "HC-41")
    assert not told(a_fleet(a_flavor(host), hosts=(host,)), "HC-41")
    for unclear in (Libvirt(lock_capable=False), Libvirt(memlock_unlimited=False), None):
        other = new_style(intent="realtime", libvirt=unclear)
        assert not told(a_fleet(hosts=(other,)), "HC-41")


@pytest.mark.parametrize(
    ("host", "fires"),
    [
        ({"isolation": Isolation(domain=PINNED)}, True),
        ({"isolation": Isolation(domain=PINNED), "intent": "pinned"}, False),
        ({"intent": "realtime"}, True),
        ({"kernel": Kernel(preempt_rt=True)}, True),
        ({}, False),
    ],
)
def test_realtime_hosts_need_large_pages(host: dict[str, t.Any], fires: bool) -> None:
    case = new_style(**host)
    flavor = a_flavor(
        case,
        cpu_policy="dedicated",
        cpu_realtime="yes",
        cpu_realtime_mask="^0",
        mem_page_size="2MB",
    )
    assert bool(told(a_fleet(flavor, hosts=(case,)), "HC-45")) is fires


@pytest.mark.parametrize(
    ("source", "version", "vcpus", "names"),
    [
        ("25.2.0", 1, 10, ("old", "new")),
        ("25.3.0", 1, 10, None),
        ("25.2.1", 1, 9, None),
        ("25.2.1", 2, 10, ("old",)),
        ("25.2.0", 2, 10, None),
    ],
)
def test_default_shares_that_cgroups_v2_refuse(
    source: str, version: int, vcpus: int, names: tuple[str, ...] | None
) -> None:
    old = new_style(
        name="old", release=source, cgroups=Cgroups(version=version, cpu_controller=True)
    )
    new = new_style(name="new", release="26.3.0", cgroups=Cgroups(version=2, cpu_controller=True))
    flavor = a_flavor(old, new, vcpus=vcpus, release="26.3.0", cpu_policy="dedicated")
    found = told(a_fleet(flavor, hosts=(old, new), release="26.3.0"), "HC-42").get("HC-42", [])
    assert [detail.hosts for detail in found] == ([names] if names else [])


def test_flavors_with_quota_make_an_unseen_controller_worse() -> None:
    host = new_style(release="26.0.0", cgroups=Cgroups(version=2))
    plain = a_flavor(host, release="26.0.0")
    quota = a_flavor(host, release="26.0.0", specs={"quota:cpu_shares": "512"})
    (info,) = told(a_fleet(plain, hosts=(host,), release="26.0.0"), "HC-43")["HC-43"]
    assert info.severity is None
    (found,) = told(a_fleet(plain, quota, hosts=(host,), release="26.0.0"), "HC-43")["HC-43"]
    assert found.severity is Severity.WARNING
    assert found.fix.endswith("openstack flavor unset example --property quota:cpu_shares")


@given(st.integers(0, (1 << 200) - 1))
def test_masks_are_read_as_they_are_written(cpus: int) -> None:
    assert parse_hex(tuning.hex_mask(cpus)) == cpus


cpus = st.none() | st.integers(0, EVERY) | st.sampled_from([0, PINNED, EVERY])
words = st.text(max_size=12)


def values(kind: type[t.Any], **known: st.SearchStrategy[t.Any]) -> st.SearchStrategy[t.Any]:
    """Draw values of a dataclass of facts: ``known`` fields so, switches and sets the others."""
    made = {
        field.name: known.get(
            field.name,
            st.booleans()
            if field.type == "bool"
            else st.none() | st.booleans()
            if field.type == "bool | None"
            else cpus,
        )
        for field in dataclasses.fields(kind)
    }
    return st.none() | st.builds(kind, **made)


@given(
    values(
        Kernel,
        release=st.none() | words | st.sampled_from(["5.14.0-1.rt", "6.12.1", "6", "x.y"]),
        rt_runtime_us=st.none() | st.integers(-2, 2_000_000),
        ksm=st.none() | st.integers(0, 3),
        huge_pages=st.none() | st.sampled_from(["always", "madvise", "never"]) | words,
        irqs=st.none() | st.dictionaries(words, st.integers(0, EVERY), max_size=5),
        smt=st.none() | words,
        governors=st.none() | st.dictionaries(words, st.integers(0, EVERY), max_size=3),
        idle_latency_us=st.none()
        | st.dictionaries(st.integers(0, 10000), st.integers(0, EVERY), max_size=3),
        kthread_priorities=st.none() | st.dictionaries(words, st.integers(0, 99), max_size=4),
    ),
    values(Cgroups, version=st.none() | st.integers(1, 2)),
    values(
        Libvirt,
        version=st.none() | words | st.sampled_from(["5.2.0", "5.3.0", "5", "9"]),
        qemu=st.none() | words,
        controllers=st.none() | st.frozensets(words, max_size=3),
    ),
    values(Isolation, arguments_known=st.booleans()),
    st.fixed_dictionaries(
        {
            "intent": st.sampled_from([None, "realtime", "pinned", "shared"]),
            "tuned_profile": st.none() | words | st.sampled_from(["realtime", "cpu-partitioning"]),
            "release": st.sampled_from(["18.0.0", "20.0.0", "25.2.1", "27.1.0", "34.0.0"]),
            "cpu_shared_set": st.sampled_from([None, "0,8,16,24", "^0", "nonsense"]),
            "cpu_dedicated_set": st.sampled_from([None, "1-7,9-15,17-23", "0-31", "40"]),
            "cpu_power_management": st.booleans(),
            "cpu_power_management_strategy": st.sampled_from(["cpu_state", "governor"]),
            "realtime_scheduler_priority": st.integers(0, 100),
        }
    ),
)
def test_no_rule_fails_on_any_facts(
    kernel: Kernel | None,
    cgroups: Cgroups | None,
    libvirt: Libvirt | None,
    isolation: Isolation | None,
    other: dict[str, t.Any],
) -> None:
    host = a_host(kernel=kernel, cgroups=cgroups, libvirt=libvirt, isolation=isolation, **other)
    flavor = a_flavor(host, cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0")
    for case in (host, a_fleet(flavor, hosts=(host,))):
        for details in told(case).values():
            for detail in details:
                assert detail.what.strip()
                assert detail.effect.strip()
                assert detail.fix.strip()
