# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running guests: what they are held against, and what rules say of them."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import mask
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.domain import Domain, Thread
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE, Image
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest_xml import (
    Backing,
    GuestXml,
    Scheduling,
    XmlCell,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    CellUsage,
    Fleet,
    HostClass,
    Scheduler,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import CellPlace, Server
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import guests
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import findings
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.catalog import RULES
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import (
    a_domain,
    a_guest,
    a_guest_case,
    a_guests_case,
    a_host,
    isolating,
    legacy,
    new_style,
    no_smt,
    topology,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import (
    Finding,
    GuestCase,
    HostCase,
    Severity,
)

REALTIME = {"cpu_realtime": "yes", "cpu_realtime_mask": "^0"}
POLICIES: list[dict[str, str]] = [
    {},
    {"emulator_threads_policy": "share"},
    {"emulator_threads_policy": "isolate"},
]
KINDS: list[dict[str, str]] = [
    {},
    REALTIME,
    {"cpu_policy": "mixed", "cpu_dedicated_mask": "^0"},
    {"cpu_policy": "mixed", **REALTIME},
]
ABOUT_THE_FLAVOR = {"DM-03", "DM-04", "DM-09", "DM-25"}
"""Rules that may fire for a guest that is just as Nova makes it: the choice of policy is at fault.
"""
HOSTS = {"no_smt": no_smt, "new_style": new_style, "isolating": isolating, "legacy": legacy}


def found(case: GuestCase) -> dict[str, Finding]:
    return {each.code: each for each in findings(case, f"guest {case.domain.name}")}


def bare(domain: Domain) -> Domain:
    """Take the extra specs from a domain, as before release 32."""
    assert domain.nova is not None
    assert domain.flavor is not None
    flavor = dataclasses.replace(domain.flavor, extra_specs={})
    nova = dataclasses.replace(domain.nova, bare=flavor)
    return dataclasses.replace(domain, nova=nova, flavor=None, image=None)


# --- what a domain is held against ----------------------------------------------------------------


def test_the_flavor_of_the_xml_counts_most_then_the_servers() -> None:
    host = no_smt()
    domain = a_domain(host, 1, 2, hw=REALTIME)
    assert domain.flavor is not None
    other = dataclasses.replace(domain.flavor, name="other", where="api")
    image = Image("picture", {"hw_pmu": "no"})
    places = (CellPlace(0, {0: 1, 1: 2}),)
    server = Server(domain.id, "vm", host.host.name, other, image, places=places)
    assert a_guest_case(host, domain, servers=(server,)).flavor == domain.flavor
    case = a_guest_case(host, bare(domain), servers=(server,))
    assert (case.flavor, case.image, case.inferred, case.server) == (other, image, False, server)
    alone = a_guest_case(host, bare(domain))
    assert alone.inferred
    assert alone.flavor is not None
    assert alone.flavor.extra_specs.items() >= {f"hw:{k}": v for k, v in REALTIME.items()}.items()
    assert alone.predicted == domain.live


def test_the_release_is_that_of_the_xml_unless_a_live_migration_made_it_the_hosts() -> None:
    host = no_smt(release="34.0.0")
    old = a_domain(host, 1, 2, release="31.0.0")
    assert a_guest_case(host, old).release.name == "31.0.0"
    floating = a_domain(
        host, release="21.0.0", hw={"numa_nodes": "1", "emulator_threads_policy": "share"}
    )
    assert floating.live is not None
    moved = dataclasses.replace(
        floating,
        live=dataclasses.replace(
            floating.live, emulator=0x101, iothreads=1, iothread_pins={1: 0x101}
        ),
    )
    assert a_guest_case(host, moved).release.name == "34.0.0"
    assert "DM-01" not in found(a_guest_case(host, moved))


def test_a_domain_of_an_unknown_host_is_refused() -> None:
    stray = dataclasses.replace(a_domain(no_smt(), 1), host="elsewhere")
    fleet = Fleet(Scheduler("34.0.0"), (HostClass(no_smt().host, ("compute-1",)),))
    with pytest.raises(InputError, match="nobody told about host 'elsewhere'"):
        list(guests.guest_cases(fleet, [stray]))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"nova": None}, "Nova does not manage it"),
        ({"live": None, "persistent": None}, "its XML could not be read"),
    ],
)
def test_why_there_is_no_prediction(changes: dict[str, t.Any], why: str) -> None:
    domain = dataclasses.replace(a_domain(no_smt(), 1, 2), **changes)
    case = a_guest_case(no_smt(), domain)
    assert (case.predicted, case.unpredicted) == (None, why)


def test_pins_that_nova_has_recorded_count_more_than_those_of_the_xml() -> None:
    host = no_smt()
    domain = a_domain(host, 1, 2)
    assert domain.flavor is not None
    server = Server(
        domain.id,
        "vm",
        host.host.name,
        domain.flavor,
        NO_IMAGE,
        places=(CellPlace(0, {0: 1, 1: 3}),),
    )
    finding = found(a_guest_case(host, domain, servers=(server,)))["DM-01"]
    assert "vcpupin of vCPU 1 is 2, not 3" in finding.what
    moving = dataclasses.replace(server, status="MIGRATING")
    assert "DM-01" not in found(a_guest_case(host, domain, servers=(moving,)))


# --- comparison -----------------------------------------------------------------------------------


def test_what_libvirt_and_older_releases_fill_in_is_no_drift() -> None:
    written = GuestXml(2, cpuset=0b11)
    assert not guests.drift(written, dataclasses.replace(written, shares=2048))
    live = dataclasses.replace(written, emulator=0b11, vcpu_pins={0: 0b11, 1: 0b11})
    assert not guests.drift(written, live)


def test_drift_names_what_differs() -> None:
    domain = a_domain(no_smt(), 1, 2, hw=REALTIME)
    assert domain.live is not None
    changed = dataclasses.replace(
        domain.live,
        emulator=0b110,
        vcpu_scheduling={1: Scheduling("fifo", 2)},
        emulator_scheduling=Scheduling("fifo", 1),
    )
    assert [each.text for each in guests.drift(domain.live, changed)] == [
        "emulatorpin is 1-2, not 1",
        "vcpusched of vCPU 1 is fifo 2, not fifo 1",
        "emulatorsched is fifo 1, not none",
    ]


# --- one cause, one finding -----------------------------------------------------------------------


def test_emulator_threads_over_all_vcpus_of_a_realtime_guest() -> None:
    """The reported form is told as such, by threads or by the XML; Nova's own set comes first."""
    domain = a_domain(no_smt(), 1, 2, 3, hw=REALTIME, xml={"emulator": 0b1110})
    seen = found(a_guest_case(no_smt(), domain))
    assert "DM-01" not in seen
    finding = seen["DM-02"]
    assert "qemu-kvm (1000) on 1-3, call_rcu (1001) on 1-3" in finding.what
    assert "emulatorpin covers the CPUs of all vCPUs, 1-3" in finding.what
    assert "belong to realtime" in finding.what
    assert "only for guests without realtime" in finding.what
    assert finding.fix.startswith("openstack server reboot --hard")
    assert "Nova writes emulatorpin 1)" in finding.fix.splitlines()[1]
    assert "hw:emulator_threads_policy=share" in finding.fix
    unread = found(a_guest_case(no_smt(), dataclasses.replace(domain, threads=None)))
    assert "emulatorpin is 1-3" in unread["DM-02"].what


def test_emulator_threads_of_another_guest_on_realtime_cpus() -> None:
    loose = a_domain(no_smt(), 5, number=2, xml={"emulator": 0b100100})
    victim = a_domain(no_smt(), 1, 2, hw=REALTIME)
    assert "vm-1" in found(a_guest_case(no_smt(), loose, victim))["DM-02"].what
    assert "DM-02" not in found(a_guest_case(no_smt(), victim, loose))


def test_emulator_threads_without_bounds_are_an_error_where_others_are_pinned() -> None:
    wide = a_domain(no_smt(), 1, xml={"emulator": 0xFFFF})
    assert found(a_guest_case(no_smt(), wide))["DM-01"].severity is Severity.WARNING
    beside = found(a_guest_case(no_smt(), wide, a_domain(no_smt(), 2, number=2)))
    assert beside["DM-01"].severity is Severity.ERROR


@pytest.mark.parametrize(
    ("given_hw", "xml", "code"),
    [
        (REALTIME, {"emulator": None}, "DM-20"),
        (REALTIME, {"vcpu_scheduling": {}}, "DM-17"),
        (REALTIME, {"backing": Backing()}, "DM-10"),
        ({}, {"emulator_scheduling": Scheduling("batch")}, "DM-13"),
        ({}, {"iothread_pins": {}}, "DM-14"),
        ({"emulator_threads_policy": "isolate"}, {"emulator": 0b110}, "DM-01"),
        ({}, {"vcpu_pins": {0: 0b110, 1: 0b110}}, "DM-01"),
    ],
)
def test_a_change_is_told_once(given_hw: dict[str, str], xml: dict[str, t.Any], code: str) -> None:
    domain = a_domain(no_smt(), 1, 2, reserved="3", hw=given_hw, xml=xml, threads=None)
    assert list(found(a_guest_case(no_smt(), domain))) == [code]


def test_a_cpu_of_its_own_is_no_cpu_of_a_vcpu() -> None:
    hw = {"emulator_threads_policy": "isolate"}
    beside = a_domain(no_smt(), 1, 2, reserved="3", hw=hw, xml={"emulator": 0b10}, threads=None)
    seen = found(a_guest_case(no_smt(), beside))
    assert "emulatorpin is 1, which vCPU 0 is pinned to" in seen["DM-01"].what
    assert seen["DM-01"].severity is Severity.WARNING
    astray = a_domain(no_smt(), 1, 2, reserved="3", hw=hw, xml={"emulator": 0b11000})
    seen = found(a_guest_case(no_smt(), astray, a_domain(no_smt(), 4, number=2)))
    assert seen["DM-01"].severity is Severity.ERROR
    assert "CPU 4," in seen["DM-01"].effect


def test_cpus_of_others_are_told_beside_realtime_ones_that_nova_gives() -> None:
    # Floating vCPUs have the CPUs of realtime ones here, and the emulator threads with them.
    hw = {"cpu_policy": "mixed", **REALTIME, "numa_nodes": "1"}
    domain = a_domain(legacy(), 1, 2, hw=hw)
    assert domain.live is not None
    seen = found(a_guest_case(legacy(), domain))
    assert "DM-02" in seen
    assert "DM-01" not in seen
    wide = a_domain(legacy(), 1, 2, hw=hw, xml={"emulator": 0xFFFF})
    assert found(a_guest_case(legacy(), wide)).keys() >= {"DM-01", "DM-02"}


def test_what_a_guest_without_emulator_set_needs_hangs_on_what_nova_would_write() -> None:
    case = a_guest_case(no_smt(), a_domain(no_smt(), 1, 2, xml={"emulator": None}))
    assert guests.remedy("DM-20", case) == "reboot"
    assert "Nova writes emulatorpin 1-2" in found(case)["DM-20"].fix
    hw = {"emulator_threads_policy": "isolate"}
    lost = a_guest_case(no_smt(), a_domain(no_smt(), 1, 2, hw=hw))
    assert guests.remedy("DM-20", lost) == "migrate"
    assert "server migrate" in found(lost)["DM-20"].fix


def test_a_range_that_no_thread_is_left_for_makes_no_difference() -> None:
    # A live migration by Nova 30 and later writes it into pinned guests too.
    moved = a_domain(no_smt(), 1, 2, xml={"cpuset": 0x101})
    assert found(a_guest_case(no_smt(), moved)) == {}
    loose = dataclasses.replace(t.cast("GuestXml", moved.live), emulator=None)
    assert guests.unpinned_range(loose) == 0x101


def test_no_reboot_for_a_range_that_nova_would_write_again() -> None:
    host = a_host(cpu_dedicated_set="1-31")
    floating = a_domain(host)
    assert "server migrate" in found(a_guest_case(host, floating))["DM-16"].fix
    assert guests.remedy("DM-16", a_guest_case(host, floating)) == "migrate"
    bounded = a_domain(no_smt(), xml={"cpuset": 0b1})
    assert guests.remedy("DM-16", a_guest_case(no_smt(), bounded)) == "reboot"


def test_a_guest_that_came_live_from_before_the_iothread_is_as_its_new_host_has_it() -> None:
    host = no_smt(release="34.0.0")
    old = a_domain(
        host, release="21.0.0", hw={"numa_nodes": "1", "emulator_threads_policy": "share"}
    )
    assert old.live is not None
    moved = dataclasses.replace(old, live=dataclasses.replace(old.live, emulator=0x101))
    case = a_guest_case(host, moved)
    assert case.release.name == "34.0.0"
    assert "DM-01" not in found(case)
    assert "DM-14" in found(case)


def test_a_pin_on_a_legacy_host_is_none_though_the_shared_set_has_its_cpu_alone() -> None:
    pinned = a_domain(legacy(), 1)
    host = legacy(cpu_shared_set="1")
    assert guests.tied(bare(pinned), host) == {0: 1}


def test_a_floating_guest_of_before_the_shared_set() -> None:
    old = a_domain(no_smt(), xml={"cpuset": None})
    seen = found(a_guest_case(no_smt(), old))
    assert list(seen) == ["DM-16"]
    assert seen["DM-16"].severity is Severity.ERROR
    assert "has no range of CPUs" in seen["DM-16"].what
    assert "1-7,9-15 (dedicated)" in seen["DM-16"].what


def test_unread_threads_make_rules_about_threads_silent() -> None:
    domain = a_domain(no_smt(), 1, 2, hw=REALTIME, moved={"CPU 1/KVM": {"policy": "other"}})
    assert "DM-05" in found(a_guest_case(no_smt(), domain))
    unread = dataclasses.replace(domain, threads=None)
    assert found(a_guest_case(no_smt(), unread)) == {}


def test_every_rule_about_guests_has_a_known_remedy() -> None:
    codes = {rule.code for rule in RULES if rule.subject is GuestCase}
    assert {guests.remedy(code) for code in codes} == {"reboot", "migrate", "nothing", "look"}


def record(*cpus: int) -> tuple[CellUsage, ...]:
    return (CellUsage(0, mask(cpus), len(cpus)),)


def differing(host: HostCase, *domains: Domain, servers: tuple[Server, ...] = ()) -> list[str]:
    return [each.what for each in findings(a_guests_case(host, *domains, servers=servers), "host")]


def test_a_record_without_domains_and_domains_without_a_record() -> None:
    host = no_smt(usage=record(1, 2, 3))
    (what,) = differing(host, a_domain(no_smt(), 1, 2, 4))
    assert what.startswith("host compute-1: the record holds CPUs that no domain is pinned to: 3;")
    assert what.endswith("domains are pinned to CPUs that the record has as free: 4")
    assert differing(no_smt(), a_domain(no_smt(), 1)) == []


def test_a_move_that_waits_explains_the_record() -> None:
    host = no_smt(usage=record(1, 2, 3, 4))
    domain = a_domain(no_smt(), 1, 2)
    leaving = a_guest(3, 4, name="9")
    assert differing(host, domain, servers=(leaving,)) == []
    untold = dataclasses.replace(leaving, places=None)
    assert differing(host, domain, servers=(untold,)) == []
    assert differing(host, domain)


def test_thread_policy_isolate_holds_siblings() -> None:
    host = new_style(usage=record(1, 17))
    strict = a_domain(new_style(), 1, hw={"cpu_thread_policy": "prefer"})
    assert differing(host, strict)
    assert differing(host, bare(strict)) == []


def test_the_reserved_cpu_counts_as_held() -> None:
    domain = a_domain(no_smt(), 1, reserved="2", hw={"emulator_threads_policy": "isolate"})
    assert differing(no_smt(usage=record(1, 2)), domain) == []


def test_a_lost_record_of_the_emulators_cpu() -> None:
    host = no_smt()
    domain = a_domain(host, 1, reserved="2", hw={"emulator_threads_policy": "isolate"})
    assert domain.flavor is not None
    places = (CellPlace(0, {0: 1}),)
    server = Server(domain.id, "vm", host.host.name, domain.flavor, places=places)
    assert "cpuset_reserved" in found(a_guest_case(host, domain, servers=(server,)))["DM-20"].what


def test_what_a_stopped_guest_would_be_like_is_nothing_to_mend() -> None:
    """Nova writes the XML anew at its start; its pins are taken all the same."""
    wrong: dict[str, t.Any] = {"emulator": 0b1110, "backing": Backing()}
    stopped = a_domain(
        no_smt(), 1, 2, 3, hw=REALTIME, xml=wrong, live=None, threads=None, running=False
    )
    assert found(a_guest_case(no_smt(), stopped)) == {}
    later = a_domain(no_smt(), 3, number=2)
    assert "DM-07" in found(a_guest_case(no_smt(), later, stopped))


def test_a_guest_from_before_the_iothread_fails_to_migrate_in_some_releases_alone() -> None:
    for name, severity in (("33.0.2", Severity.WARNING), ("34.0.0", Severity.INFO)):
        host = no_smt(release=name)
        old = a_domain(host, 1, 2, release="32.0.0")
        assert found(a_guest_case(host, old))["DM-14"].severity is severity


def test_emulator_threads_that_were_all_moved() -> None:
    moved = {name: {"cpus": 0b1000} for name in ("qemu-kvm", "call_rcu")}
    finding = found(a_guest_case(no_smt(), a_domain(no_smt(), 1, 2, moved=moved)))["DM-18"]
    assert finding.what == "its emulator threads may run on 3; emulatorpin is 1-2"
    assert "taskset -p -c 1-2 1000\ntaskset -p -c 1-2 1001" in finding.fix


def test_an_offline_cpu_is_told_once_and_only_of_a_guest_that_runs() -> None:
    host = no_smt(machine=topology(threads=1, offline="2"), cpu_dedicated_set="1,3-7,9-15")
    anywhere = {"CPU 1/KVM": {"cpus": 0xFB}}
    domain = a_domain(no_smt(), 1, 2, moved=anywhere)
    seen = found(a_guest_case(host, domain))
    assert "DM-08" in seen
    assert "DM-06" not in seen
    stopped = dataclasses.replace(domain, running=False, live=None, threads=None)
    assert "DM-08" not in found(a_guest_case(host, stopped))


def test_a_domain_beside_nova_is_counted_and_mended_by_libvirt() -> None:
    foreign = a_domain(no_smt(), 1, number=2, nova=None)
    own = a_domain(no_smt(), 1, 2, number=3)
    assert "DM-07" not in found(a_guest_case(no_smt(), own, foreign))
    finding = found(a_guest_case(no_smt(), foreign, own))["DM-07"]
    assert "instance-00000003" in finding.what
    assert finding.fix == "virsh vcpupin instance-00000002 0 0,8 --live --config"


def test_a_domain_beside_nova_that_floats_over_pins_is_an_error() -> None:
    loose = {0: 0b110000, 1: 0b110000}
    foreign = a_domain(no_smt(), number=2, nova=None, xml={"vcpu_pins": loose, "emulator": 0b1})
    victim = a_domain(no_smt(), 4, 5, hw=REALTIME)
    seen = found(a_guest_case(no_smt(), foreign, victim))
    assert seen["DM-16"].severity is Severity.ERROR
    assert "CPUs 4-5, and pinned guests have of these: 4-5 (instance-00000001" in seen["DM-16"].what
    assert "cpu_dedicated_set" not in seen["DM-16"].what
    assert "2 vCPUs run on CPUs 4-5, its emulator threads on CPU 0" in seen["DM-22"].what
    assert "nothing" not in seen["DM-22"].fix
    assert "vcpupin instance-00000002 1 0,8 --live" in seen["DM-22"].fix
    assert "4-5 (cpu_dedicated_set)" in found(a_guest_case(no_smt(), foreign))["DM-16"].what
    kept = a_domain(no_smt(), number=2, nova=None)
    assert list(found(a_guest_case(no_smt(), kept, victim))) == ["DM-22"]


def test_a_guest_of_nova_that_floats_over_the_dedicated_set_is_an_error() -> None:
    loose = a_domain(no_smt(), xml={"vcpu_pins": {0: 0b110000, 1: 0b110000}})
    assert found(a_guest_case(no_smt(), loose))["DM-01"].severity is Severity.ERROR


def test_one_of_two_guests_on_the_same_cpus_leaves() -> None:
    """It is the one that Nova's record has elsewhere, else the later one."""
    host = no_smt()
    first, second = a_domain(host, 1, 2), a_domain(host, 2, 3, number=2)
    assert "DM-07" not in found(a_guest_case(host, first, second))
    assert "DM-07" in found(a_guest_case(host, second, first))
    assert first.flavor is not None
    places = (CellPlace(0, {0: 5, 1: 6}),)
    servers = (Server(first.id, "vm", host.host.name, first.flavor, places=places),)
    assert "DM-07" in found(a_guest_case(host, first, second, servers=servers))
    assert "DM-07" not in found(a_guest_case(host, second, first, servers=servers))


def test_policies_that_the_host_refuses_are_not_proposed() -> None:
    """The only cell has too few dedicated CPUs for one more, or there is no shared set."""
    full = isolating(cpu_shared_set="0,3-15", cpu_dedicated_set="1-2")
    fix = found(a_guest_case(full, a_domain(full, 1, 2)))["DM-03"].fix
    assert "policy=isolate" not in fix
    assert "isolate does not help on hosts like this one: " in fix
    unshared = isolating(cpu_shared_set=None)
    fix = found(a_guest_case(unshared, a_domain(unshared, 1, 2)))["DM-03"].fix
    assert "policy=isolate" in fix
    assert "share does not help on hosts like this one: they have no cpu_shared_set" in fix


def test_fifo_that_starves_is_taken_out_before_threads_are_moved() -> None:
    fifo = {"emulator_scheduling": Scheduling("fifo", 1)}
    fix = found(a_guest_case(no_smt(), a_domain(no_smt(), 1, 2, hw=REALTIME, xml=fifo)))[
        "DM-12"
    ].fix
    assert fix.startswith("openstack server reboot --hard")
    assert "hw:emulator_threads_policy=share" in fix


def test_threads_are_not_moved_to_a_set_that_nova_takes_back() -> None:
    """The set itself was edited: the reboot is the fix; a worker in Nova's set is where it should
    be."""
    hw = {"emulator_threads_policy": "share"}
    domain = a_domain(no_smt(), 1, 2, hw=hw, xml={"emulator": 0b1})
    moved = [
        dataclasses.replace(thread, cpus=0x101)
        if thread.name == "call_rcu" or thread.kind == "vhost"
        else thread
        for thread in domain.threads or ()
    ]
    seen = found(a_guest_case(no_smt(), dataclasses.replace(domain, threads=tuple(moved))))
    assert "DM-01" in seen
    assert "DM-19" not in seen
    assert seen["DM-18"].fix.startswith("openstack server reboot --hard")
    assert "taskset" not in seen["DM-18"].fix


def test_a_cpu_that_is_no_longer_there() -> None:
    host = no_smt(cpu_dedicated_set="1-15")
    domain = a_domain(no_smt(), 1, 2)
    gone = dataclasses.replace(
        domain,
        live=dataclasses.replace(t.cast("GuestXml", domain.live), vcpu_pins={0: 2, 1: 1 << 40}),
    )
    case = a_guest_case(host, gone)
    finding = found(case)["DM-08"]
    assert finding.what.startswith("CPU 40 of its vCPUs no longer there")
    assert finding.fix.startswith("openstack server migrate")
    assert "online" not in finding.fix
    assert guests.remedy("DM-08", case) == "migrate"


# --- laws -----------------------------------------------------------------------------------------


@st.composite
def as_nova_makes_them(draw: st.DrawFn) -> tuple[HostCase, Domain]:
    """Draw a host and a domain on it that nobody touched."""
    make = HOSTS[draw(st.sampled_from(sorted(HOSTS)))]
    host = make(release=draw(st.sampled_from(["22.4.0", "25.3.0", "31.0.0", "33.0.1", "34.0.0"])))
    hw: dict[str, str] = {}
    pins = draw(st.lists(st.integers(1, 6), unique=True, max_size=4))
    cells: tuple[int, ...] = (draw(st.sampled_from((0, 1))),)
    if pins and len(pins) % 2 == 0 and draw(st.booleans()):
        cells = (0, 1)
    half = len(pins) // len(cells) if pins else 0
    moved = [cpu + 8 * cells[index // half] for index, cpu in enumerate(pins)] if pins else []
    if pins:
        hw |= draw(
            st.sampled_from(
                [{}, {"emulator_threads_policy": "share"}, {"emulator_threads_policy": "isolate"}]
            )
        )
        if len(pins) > 1:
            hw |= draw(st.sampled_from(KINDS))
    elif draw(st.booleans()):
        hw["numa_nodes"] = "1"
    if host.sets is not None and host.sets.legacy:
        # A realtime guest with policy share needs a shared set, and a mixed one needs both sets.
        assume("mixed" not in hw.values() and not ("share" in hw.values() and "cpu_realtime" in hw))
    reserved = str(7 + 8 * cells[0]) if hw.get("emulator_threads_policy") == "isolate" else ""
    domain = a_domain(
        host, *moved, hw=hw, cells=cells, reserved=reserved, locked_kb=1048576, swapped_kb=0
    )
    return host, domain


@given(as_nova_makes_them(), st.booleans())
def test_a_guest_as_nova_makes_it_has_no_finding(
    drawn: tuple[HostCase, Domain], told: bool
) -> None:
    host, domain = drawn
    case = a_guest_case(host, domain if told else bare(domain))
    assert case.predicted is not None, case.unpredicted
    assert not guests.drift(case.predicted, t.cast("GuestXml", domain.live))
    bad = {code for code, each in found(case).items() if each.severity is not Severity.INFO}
    assert bad <= ABOUT_THE_FLAVOR, found(case)


SETS = st.integers(0, (1 << 18) - 1)
SOME = st.one_of(st.none(), SETS)
SCHEDULING = st.builds(
    Scheduling,
    st.sampled_from(["fifo", "rr", "batch", "idle"]),
    st.one_of(st.none(), st.integers(1, 99)),
)
SMALL = st.integers(0, 4)
XML = st.builds(
    GuestXml,
    st.integers(1, 5),
    cpuset=SOME,
    shares=SOME,
    emulator=SOME,
    iothreads=SMALL,
    iothread_pins=st.dictionaries(SMALL, SETS, max_size=2),
    vcpu_pins=st.dictionaries(SMALL, SETS),
    vcpu_scheduling=st.dictionaries(SMALL, SCHEDULING),
    emulator_scheduling=st.one_of(st.none(), SCHEDULING),
    iothread_scheduling=st.dictionaries(SMALL, SCHEDULING, max_size=2),
    memory_mode=st.sampled_from([None, "strict", "preferred"]),
    host_cells=st.integers(0, 7),
    memnodes=st.dictionaries(SMALL, st.integers(0, 7), max_size=3),
    backing=st.builds(
        Backing,
        st.dictionaries(SMALL, st.sampled_from([4, 2048]), max_size=2),
        st.booleans(),
        st.booleans(),
    ),
    cells=st.lists(
        st.builds(XmlCell, SMALL, st.integers(0, 31), st.integers(0, 1 << 20)), max_size=3
    ).map(tuple),
)
THREADS = st.builds(
    Thread,
    st.integers(1, 99999),
    st.just("worker"),
    st.sampled_from(["vcpu", "emulator", "iothread", "vhost"]),
    st.one_of(st.none(), SMALL),
    SETS,
    st.sampled_from(["other", "fifo", "rr"]),
    st.integers(0, 99),
    main=st.booleans(),
)
SPECS = st.dictionaries(
    st.sampled_from(
        [
            "cpu_policy",
            "cpu_realtime",
            "cpu_realtime_mask",
            "emulator_threads_policy",
            "numa_nodes",
            "cpu_dedicated_mask",
        ]
    ),
    st.sampled_from(["dedicated", "mixed", "yes", "^0", "share", "isolate", "1", "2", "0-1"]),
)


@st.composite
def any_domain(draw: st.DrawFn, number: int) -> Domain:
    """Draw whatever may stand in a file of guest facts."""
    usual = a_domain(no_smt(), 1, 2, number=number)
    assert usual.flavor is not None
    specs = {f"hw:{key}": value for key, value in draw(SPECS).items()}
    return dataclasses.replace(
        usual,
        running=draw(st.booleans()),
        live=draw(st.one_of(st.none(), XML)),
        persistent=draw(st.one_of(st.none(), XML)),
        nova=draw(st.sampled_from([None, usual.nova])),
        flavor=draw(st.sampled_from([None, dataclasses.replace(usual.flavor, extra_specs=specs)])),
        threads=draw(st.one_of(st.none(), st.lists(THREADS, max_size=6).map(tuple))),
        locked_kb=draw(st.sampled_from([None, 0, 1])),
        memory_kb=draw(st.one_of(st.none(), st.dictionaries(SMALL, SETS, max_size=3))),
    )


@given(any_domain(1), any_domain(2), st.sampled_from(sorted(HOSTS)))
def test_no_domain_makes_a_rule_fail(first: Domain, second: Domain, name: str) -> None:
    host = HOSTS[name]()
    for each in (
        *findings(a_guest_case(host, first, second), "guest"),
        *findings(a_guests_case(host, first, second), "host"),
    ):
        assert each.what
        assert each.fix
