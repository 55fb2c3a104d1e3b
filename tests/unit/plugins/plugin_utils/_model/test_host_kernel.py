# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import os
import re
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.host import host_facts
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import documents
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.kernel import (
    Cgroups,
    Kernel,
    Libvirt,
)

TOPOLOGY = {
    "online": "0-7",
    "isolated": "4-5",
    "cells": [{"id": 0, "cpus": "0-7", "memory_mb": 4096}],
}
KERNEL: dict[str, t.Any] = {
    "cmdline": {"rcu_nocbs": "4-N", "kthread_cpus": "0-1"},
    "release": "5.14.0",
    "preempt_rt": True,
    "rt_group_sched": False,
    "no_hz_full": True,
    "nohz_full": "4-6",
    "kthread_cpus_known": False,
    "rt_runtime_us": -1,
    "numa_balancing": False,
    "nmi_watchdog": True,
    "watchdog_cpus": "",
    "ksm": 2,
    "huge_pages": "never",
    "workqueue_cpus": "0-1",
    "irq_default": 3,
    "irqs": {"nvme0q*": "0-5", "ahci": "1", "eth0-*": "7"},
    "managed_irqs": True,
    "irqbalance": True,
    "irqbalance_banned": "4-7",
    "smt": "off",
    "governors": {"performance": "0-7"},
    "idle_latency_us": {"0": "4-7", "133": "0-3"},
    "kthread_priorities": {"ksoftirqd": 2},
}
CGROUPS = {
    "version": 2,
    "cpu_controller": True,
    "isolated": "",
    "machine_cpus": "2-7",
    "system_cpus": "0-1",
}
LIBVIRT = {
    "version": "9.0.0",
    "qemu": "7.2.0",
    "lock_capable": True,
    "memlock_unlimited": False,
    "controllers": ["cpu", "devices"],
}


def _facts(**more: object) -> dict[str, t.Any]:
    return {"topology": TOPOLOGY, **more}


def test_everything_that_a_host_tells() -> None:
    facts = _facts(
        kernel={**KERNEL, "preempt_rt": False},
        cgroups=CGROUPS,
        libvirt=LIBVIRT,
        tuned={"profile": "cpu-partitioning"},
        architecture="aarch64",
        intent="pinned",
    )
    host = documents.host(facts, "cmp", "30.0.0")
    assert host.kernel == Kernel(
        release="5.14.0",
        preempt_rt=False,
        rt_group_sched=False,
        no_hz_full=True,
        nohz_full=0b1110000,
        rcu_nocbs=0b11110000,
        kthread_cpus=True,
        kthread_cpus_known=False,
        rt_runtime_us=-1,
        numa_balancing=False,
        nmi_watchdog=True,
        watchdog_cpus=0,
        ksm=2,
        huge_pages="never",
        workqueue_cpus=0b11,
        irq_default=0b1000,
        irqs={"nvme0q*": 0b110000},
        managed_irqs=True,
        irqbalance=True,
        irqbalance_banned=0b11110000,
        smt="off",
        governors={"performance": 0xFF},
        idle_latency_us={0: 0xF0, 133: 0xF},
        kthread_priorities={"ksoftirqd": 2},
    )
    assert host.cgroups == Cgroups(2, True, 0, 0b11111100, 0b11)
    assert host.libvirt == Libvirt("9.0.0", "7.2.0", True, False, frozenset({"cpu", "devices"}))
    assert (host.tuned_profile, host.architecture) == ("cpu-partitioning", "aarch64")
    assert host.intent == "pinned"
    told = {field.name for field in dataclasses.fields(Kernel)} - {"rcu_nocbs", "kthread_cpus"}
    assert told == KERNEL.keys() - {"cmdline"}


def test_what_nobody_told_is_unknown() -> None:
    host = documents.host(_facts(kernel={}, cgroups={}, libvirt={}, tuned=None), "cmp", "30.0.0")
    assert (host.kernel, host.cgroups, host.libvirt) == (Kernel(), Cgroups(), Libvirt())
    assert (host.tuned_profile, host.intent, host.isolation) == (None, None, None)
    bare = documents.host(_facts(), "cmp", "30.0.0")
    assert (bare.kernel, bare.cgroups, bare.libvirt) == (None, None, None)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ({"cmdline": {}}, 0),
        ({"cmdline": {"rcu_nocbs": None}}, 0),
        ({"cmdline": {"rcu_nocbs": "all"}}, 0xFF),
        ({"cmdline": {"rcu_nocbs": "9-"}}, None),
        ({"cmdline": {"rcu_nocbs": "1"}, "rcu_nocbs": "2"}, 0b100),
        ({}, None),
    ],
)
def test_cpus_whose_callbacks_run_elsewhere(kernel: dict[str, t.Any], expected: int | None) -> None:
    found = documents.host(_facts(kernel=kernel), "cmp", "30.0.0").kernel
    assert found is not None
    assert found.rcu_nocbs == expected


@pytest.mark.parametrize(
    ("facts", "where"),
    [
        ({"kernel": {"nohz_full": "4-"}}, "kernel.nohz_full: '4-' is no item"),
        ({"kernel": {"irqs": {"a b": "x"}}}, "kernel.irqs['a b']: 'x' is no item"),
        ({"kernel": {"irqs": ["x"]}}, "kernel.irqs: ['x'] is not of type object"),
        ({"kernel": {"idle_latency_us": {"x": "1"}}}, "kernel.idle_latency_us: 'x' is no key"),
        ({"kernel": {"nohz_ful": "1"}}, "kernel.nohz_ful: unknown key (nearest: nohz_full)"),
        ({"kernel": {"huge_pages": "on"}}, "kernel.huge_pages: 'on' is none of them; accepted: "),
        ({"cgroups": {"machine_cpus": "^1"}}, "cgroups.machine_cpus: '^1' is no item"),
        ({"libvirt": {"controllers": "cpu"}}, "libvirt.controllers: 'cpu' is not of type array"),
        (
            {"intent": "fast"},
            "intent: 'fast' is none of them; accepted: realtime, pinned, shared (",
        ),
    ],
)
def test_what_is_wrong_is_named(facts: dict[str, t.Any], where: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(where)}"):
        documents.host(_facts(**facts), "cmp", "30.0.0")
    with pytest.raises(InputError, match=f"^host cmp: {re.escape(where)}"):
        documents.classes([("cmp", _facts(**facts))], "30.0.0")


NOVA = {"options": {"compute.cpu_dedicated_set": {"value": "2-3", "where": "nova.conf:1"}}}


@pytest.mark.parametrize(
    ("more", "classes"),
    [({}, 1), ({"intent": "realtime"}, 2), ({"tuned": {"profile": "realtime"}}, 2)],
)
def test_where_other_interrupts_go_tells_no_hosts_apart(
    more: dict[str, t.Any], classes: int
) -> None:
    irqs: list[dict[str, str]] = [{"ahci": "0"}, {"ahci": "1"}, {"eth0-*": "2-3"}, {}]
    named = [
        (f"cmp-{at}", _facts(nova=NOVA, kernel={"irqs": each}, **more))
        for at, each in enumerate(irqs)
    ]
    found = documents.classes(named, "30.0.0")
    assert len(found) == classes
    assert found[0].host.kernel == Kernel(irqs={})
    assert len(documents.classes([*named, ("x", _facts(nova=NOVA, **more))], "30.0.0")) > classes


def test_interrupts_on_isolated_cpus_tell_hosts_apart() -> None:
    named = [(f"cmp-{cpu}", _facts(kernel={"irqs": {"ahci": cpu}})) for cpu in ("3", "4", "4-5")]
    found = [each.host.kernel for each in documents.classes(named, "30.0.0")]
    assert found == [Kernel(irqs={}), Kernel(irqs={"ahci": 16}), Kernel(irqs={"ahci": 48})]


def test_a_fleet_file_says_what_a_host_is_for() -> None:
    host = {**_facts(cgroups=CGROUPS, libvirt=LIBVIRT, intent="realtime"), "name": "cmp"}
    fleet = documents.fleet({"scheduler": {"release": "30.0.0"}, "hosts": [host]})
    assert fleet.classes[0].host.intent == "realtime"
    assert fleet.classes[0].host.libvirt is not None


@pytest.mark.skipif(not os.path.isdir("/sys/devices/system/cpu"), reason="this kernel has no sysfs")
def test_facts_of_this_machine_are_taken() -> None:
    facts = host_facts(nova_conf=[], intent="shared")
    host = documents.host(facts, "here", "30.0.0")
    assert host.intent == "shared"
    assert host.kernel is not None
    assert host.kernel.release == os.uname().release
