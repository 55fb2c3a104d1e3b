# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import mask, parse_nova
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest_xml import (
    GuestXml,
    Scheduling,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.kernel import (
    Cgroups,
    Kernel,
    Libvirt,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.emulator import (
    Better,
    Policy,
    better,
    is_reported_form,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import a_host, topology

KNOWN = {
    "kernel": Kernel(rt_group_sched=False, rt_runtime_us=950000),
    "cgroups": Cgroups(version=2, cpu_controller=True),
    "libvirt": Libvirt(version="9.0.0"),
}


def a_machine(isolated: str = "", **other: t.Any) -> Host:
    """Make a host of two cells of 8 CPUs without SMT: 0 and 8 shared, 1 and 9 the host's own."""
    machine = dataclasses.replace(topology(threads=1), isolated=parse_nova(isolated))
    sets = {"cpu_shared_set": "0,8", "cpu_dedicated_set": "2-7,10-15"}
    return a_host(machine, **{**sets, **KNOWN, **other}).host


def a_guest(
    emulator: str, *pins: str, realtime: str = "1-3", cells: str = "0", iothread: bool = False
) -> GuestXml:
    fifo = Scheduling("fifo", 1)
    vcpus = [vcpu for vcpu in range(len(pins)) if parse_nova(realtime) >> vcpu & 1]
    return GuestXml(
        len(pins),
        emulator=parse_nova(emulator),
        iothreads=int(iothread),
        iothread_pins={1: parse_nova(emulator)} if iothread else {},
        vcpu_pins=dict(enumerate(map(parse_nova, pins))),
        vcpu_scheduling=dict.fromkeys(vcpus, fifo),
        host_cells=parse_nova(cells),
        memnodes={
            index: 1 << cell for index, cell in enumerate((0, 1)) if parse_nova(cells) >> cell & 1
        },
    )


def texts(found: Better) -> str:
    return "\n".join(map(str, found.notes))


def test_without_a_policy_the_ordinary_core_stays_and_is_priced() -> None:
    xml = a_guest("6", "6", "2", "5", "4")
    found = better(xml, a_machine())
    assert found.xml == xml
    assert "compete with the guest's own ordinary vCPUs" in texts(found)
    assert "live_migration" in found.refusal


def test_the_reported_form_becomes_that_of_the_ordinary_core_and_the_io_thread_follows() -> None:
    xml = a_guest("2,4-6", "6", "2", "5", "4", iothread=True)
    assert is_reported_form(xml)
    found = better(xml, a_machine()).xml
    assert (found.emulator, found.iothread_pins) == (1 << 6, {1: 1 << 6})
    assert not is_reported_form(found)
    assert (found.vcpu_pins, found.vcpu_scheduling) == (xml.vcpu_pins, xml.vcpu_scheduling)


def test_a_guest_without_realtime_keeps_the_cpus_of_nova() -> None:
    xml = a_guest("2,4-6", "6", "2", "5", "4", realtime="")
    assert not is_reported_form(xml)
    assert better(xml, a_machine(isolated="2-7")) == Better(xml)
    assert better(xml, a_machine(), realtime_pins=1 << 5).xml.emulator == parse_nova("2,4,6")


def test_several_isolated_cpus_become_one_the_pin_of_the_lowest_ordinary_vcpu() -> None:
    xml = a_guest("2,6", "6", "2", "5", "4", realtime="2-3")
    found = better(xml, a_machine(isolated="2-7"))
    assert found.xml.emulator == 1 << 6
    assert "only on CPU 6 of 2,6" in texts(found)
    assert "hard reboot" in texts(found)


def test_of_isolated_and_other_cpus_the_others_are_taken() -> None:
    xml = a_guest("2,6", "6", "2", "5", "4", realtime="2-3")
    assert better(xml, a_machine(isolated="6-7")).xml.emulator == 1 << 2


def test_share_means_the_shared_cpus_of_the_guests_cells() -> None:
    xml = a_guest("0,8", "14", "10", "13", "12", cells="1")
    assert better(xml, a_machine()).xml.emulator == 1 << 8
    remote = better(xml, a_machine(cpu_shared_set="0-1"))
    assert remote.xml.emulator == parse_nova("0-1")
    assert "remote" in texts(remote)


def test_siblings_of_realtime_cpus_are_left_alone_where_others_remain() -> None:
    host = a_host(topology(cells=1), cpu_shared_set="0-1,8-9", cpu_dedicated_set="2-7,10-15").host
    xml = a_guest("0-1,8-9", "2", "3")
    assert better(xml, host, realtime_pins=1 << 8).xml.emulator == parse_nova("1,9")
    kept = a_guest("10", "10", "2")
    assert "shares cores with realtime" in texts(better(kept, host))


def test_where_no_vcpu_is_ordinary_the_emulator_goes_to_shared_cpus_then_to_the_hosts_own() -> None:
    xml = a_guest("2-3", "2", "3", realtime="0-1")
    assert better(xml, a_machine()).xml.emulator == 1 << 0
    assert better(xml, a_machine(cpu_shared_set=None)).xml.emulator == parse_nova("0-1")
    everywhere = better(xml, a_machine(), realtime_pins=(1 << 16) - 1)
    assert everywhere.xml == xml
    assert everywhere.refusal


@pytest.mark.parametrize(
    ("emulator", "other", "reason"),
    [
        ("7", {}, ""),
        ("6", {}, "live_migration"),
        ("0,8", {}, "floating vCPUs"),
        ("7", {"ordinary_pins": 1 << 7}, "another guest"),
        ("7", {"floating": 1 << 7}, "floating vCPUs"),
    ],
)
def test_fifo_only_where_it_starves_nobody(
    emulator: str, other: dict[str, int], reason: str
) -> None:
    found = better(a_guest(emulator, "6", "2", "5", "4"), a_machine(), **other)  # type: ignore[arg-type]
    assert (found.xml.emulator_scheduling is None) == bool(reason)
    assert reason in found.refusal
    if not reason:
        assert found.xml.emulator_scheduling == Scheduling("fifo", 1)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"libvirt": Libvirt(version="5.2.9")}, "5.3.0"),
        ({"kernel": Kernel(rt_group_sched=True)}, "RT_GROUP_SCHED"),
    ],
)
def test_hosts_that_take_no_scheduling(other: dict[str, t.Any], reason: str) -> None:
    found = better(a_guest("7", "6", "2", "5", "4"), a_machine(**other), wish_scheduling=True)
    assert found.xml.emulator_scheduling is None
    assert reason in found.refusal


def test_a_kernel_with_group_scheduling_and_no_such_controller_is_fine() -> None:
    libvirt = Libvirt(version="9.0.0", controllers=frozenset(("cpuset",)))
    host = a_machine(kernel=Kernel(rt_group_sched=True), libvirt=libvirt)
    assert better(a_guest("7", "6", "2", "5", "4"), host).xml.emulator_scheduling


def test_what_nobody_told_is_said() -> None:
    host = a_machine(libvirt=None, kernel=None, cgroups=None)
    told = texts(better(a_guest("7", "6", "2", "5", "4"), host))
    assert "version of libvirt is not known" in told
    assert "RT_GROUP_SCHED" in told


def test_the_wish_is_the_ordinary_core_under_fifo_with_its_danger() -> None:
    xml = a_guest("2,4-6", "6", "2", "5", "4")
    kernel = Kernel(rt_group_sched=False, rt_runtime_us=-1)
    found = better(xml, a_machine(kernel=kernel), wish_scheduling=True)
    assert found.xml.emulator == 1 << 6
    assert found.xml.emulator_scheduling == Scheduling("fifo", 1)
    assert "live_migration" in texts(found)
    assert "forbid live migration" in texts(found)
    shared = a_guest("0,8", "6", "2", "5", "4")
    assert better(shared, a_machine(), wish_scheduling=True).xml.emulator == 1 << 6


def test_the_wish_is_refused_on_a_pool_with_load() -> None:
    xml = a_guest("0", "0", "2", "5", "4")
    assert "floating" in better(xml, a_machine(), wish_scheduling=True).refusal


def test_a_sleeping_cpu_counts_where_nova_wakes_it() -> None:
    machine = dataclasses.replace(topology(threads=1), online=parse_nova("0-1,8-9"))
    host = a_machine()
    asleep = dataclasses.replace(host, topology=machine)
    awake = dataclasses.replace(
        asleep, config=dataclasses.replace(host.config, cpu_power_management=True)
    )
    xml = a_guest("6", "6", "2", "5", "4")
    assert better(xml, awake).xml.emulator == 1 << 6
    assert better(xml, asleep).xml.emulator != 1 << 6


CPUS = st.integers(min_value=0, max_value=15)
SETS = st.frozensets(CPUS, max_size=5).map(mask)


@st.composite
def guests(draw: st.DrawFn) -> GuestXml:
    pins = draw(st.lists(st.one_of(CPUS.map(lambda cpu: 1 << cpu), SETS), max_size=5))
    fifo = Scheduling("fifo", draw(st.integers(min_value=1, max_value=99)))
    vcpus = draw(st.frozensets(st.integers(min_value=0, max_value=4)))
    cells = draw(st.sampled_from((0, 1, 2, 3)))
    return GuestXml(
        max(len(pins), 1),
        emulator=draw(st.one_of(st.none(), SETS)),
        iothread_pins=draw(st.sampled_from(({}, {1: 4}))),
        vcpu_pins=dict(enumerate(pins)),
        vcpu_scheduling={vcpu: fifo for vcpu in vcpus if vcpu < len(pins)},
        emulator_scheduling=draw(st.sampled_from((None, fifo))),
        host_cells=cells,
        memnodes={0: cells & -cells} if cells else {},
    )


@st.composite
def machines(draw: st.DrawFn) -> Host:
    machine = topology(cores=4, threads=draw(st.sampled_from((1, 2))))
    machine = dataclasses.replace(machine, isolated=draw(st.one_of(st.none(), SETS)))
    shared = draw(st.sampled_from((None, "0", "0,4", "0-1,4-5", "1-9")))
    dedicated = draw(st.sampled_from((None, "2-3,6-7", "1-3", "4-15")))
    host = a_host(machine).host
    config = dataclasses.replace(host.config, cpu_shared_set=shared, cpu_dedicated_set=dedicated)
    return dataclasses.replace(
        host, config=config, libvirt=Libvirt(version=draw(st.sampled_from(("5.2.0", "9.0.0"))))
    )


@given(
    guests(),
    machines(),
    st.sampled_from((None, "none", "share", "isolate")),
    st.tuples(SETS, SETS, SETS),
    st.booleans(),
)
def test_laws(
    xml: GuestXml, host: Host, policy: Policy | None, others: tuple[int, int, int], wish: bool
) -> None:
    realtime, ordinary, floating = others

    def again(given: GuestXml) -> Better:
        return better(
            given,
            host,
            policy=policy,
            realtime_pins=realtime,
            ordinary_pins=ordinary,
            floating=floating,
            wish_scheduling=wish,
        )

    found = again(xml)
    assert again(found.xml).xml == found.xml, "a second run changes nothing"
    if found.xml == xml:
        return
    emulator = found.xml.emulator
    assert emulator
    assert not emulator & (realtime | xml.realtime_cpus)
    assert not xml.realtime or not emulator & ~host.topology.online
    assert set(found.xml.iothread_pins.values()) <= {emulator}
    assert (found.xml.vcpu_pins, found.xml.vcpu_scheduling) == (xml.vcpu_pins, xml.vcpu_scheduling)
    if found.xml.emulator_scheduling:
        assert xml.realtime
        assert host.libvirt
        assert host.libvirt.version == "9.0.0"
        assert not emulator & floating
        assert not emulator & (ordinary & ~xml.ordinary_cpus)
        assert wish or not emulator & xml.ordinary_cpus
