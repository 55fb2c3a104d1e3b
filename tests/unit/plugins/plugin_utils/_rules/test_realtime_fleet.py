# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A realtime flavor before a host with shared CPUs and one without: what is told and proposed."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    Fleet,
    HostClass,
    Isolation,
    Scheduler,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.topology import PagePool
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.json_report import verdict
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import hosts
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import Audit, audit
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import (
    a_flavor,
    a_host,
    new_style,
    topology,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.hc_80_realtime_evidence_unread import (  # noqa: E501
    read_host,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import (
    FlavorCase,
    HostCase,
    Severity,
)

RELEASE = "29.2.0"
SHARE, ISOLATE = (f"--property hw:emulator_threads_policy={each}" for each in ("share", "isolate"))


def host(name: str, **other: t.Any) -> HostCase:
    """Make a host of 16 CPUs in two cells without SMT, with pages of 1 GiB."""
    machine = topology(threads=1)
    pools = (PagePool(4, 1 << 22), PagePool(1048576, 40))
    cells = tuple(dataclasses.replace(cell, pages=pools) for cell in machine.cells)
    machine = dataclasses.replace(machine, cells=cells)
    options = {"cpu_dedicated_set": "4-7,12-15", "intent": "realtime", **other}
    return a_host(machine, name=name, release=RELEASE, **options)


RTA, RTB = host("rta", cpu_shared_set="2-3,10-11"), host("rtb")


def realtime(*seen: HostCase, specs: dict[str, str] | None = None, **hw: str) -> FlavorCase:
    basis = {"cpu_policy": "dedicated", "cpu_realtime": "yes", "cpu_realtime_mask": "^0"}
    wanted: dict[str, t.Any] = {**basis, "mem_page_size": "1GB", **hw}
    return a_flavor(*seen, release=RELEASE, specs=specs, **wanted)


def audited(*seen: HostCase, specs: dict[str, str] | None = None, **hw: str) -> Audit:
    classes = tuple(HostClass(each.host, each.names) for each in seen)
    flavor = realtime(specs=specs, **hw).flavor
    return audit(Fleet(Scheduler(RELEASE), classes, (flavor,)))


def fixes(found: Audit, code: str) -> list[str]:
    return [finding.fix for finding in found.findings if finding.code == code]


def test_share_that_the_driver_refuses_is_an_error_with_free_cpus_as_its_fix() -> None:
    found = audited(RTB, emulator_threads_policy="share")
    assert found.status == 2
    (fix,) = fixes(found, "HC-16")
    assert fix.startswith("[compute]\ncpu_shared_set = 1,8\n")
    assert not fixes(found, "FL-46")
    assert not fixes(audited(RTA, emulator_threads_policy="share"), "HC-16")


def test_a_host_without_shared_cpus_is_told_what_it_can_have() -> None:
    (warning, _info) = fixes(audited(RTB), "HC-76")
    assert warning.startswith("[compute]\ncpu_shared_set = 1,8\n")
    assert "isolate" not in warning
    full = host("rtb", cpu_dedicated_set="0-15")
    (warning, _info) = fixes(audited(full), "HC-76")
    assert "cpu_dedicated_set = 0,2-7,9-15" in warning
    assert "isolate for flavor example: a PCPU more each" in warning


def test_no_set_is_proposed_that_leaves_a_flavor_without_a_cell() -> None:
    machine = topology(cores=4, threads=1)
    tight = a_host(machine, name="rtb", release=RELEASE, cpu_dedicated_set="0-7")
    found = audited(tight, mem_page_size="4KB", emulator_threads_policy="share")
    (fix,) = fixes(found, "HC-16")
    assert "cpu_shared_set =" not in fix
    assert "flavor example no longer fits" in fix


def test_isolate_is_offered_where_a_host_takes_it() -> None:
    roomy = host("roomy", cpu_shared_set="0,8", cpu_dedicated_set="1-7,9-15")
    (fix,) = fixes(audited(RTA), "FL-08")
    share, isolate = fix.split("\n")
    assert SHARE in share
    assert isolate.startswith("# hw:emulator_threads_policy=isolate boots on no host: rta: needs 5")
    (fix,) = fixes(audited(RTA, roomy), "FL-08")
    assert f"{ISOLATE}  # PCPU 5 instead of 4; not on rta: needs 5" in fix
    (fix,) = fixes(audited(RTB, host("rtc", cpu_dedicated_set="0-15"), RTA), "FL-08")
    assert "which rtb, rtc lack" in fix


def test_a_realtime_guest_is_not_sent_over_two_cells() -> None:
    (fix,) = fixes(audited(RTA, RTB, emulator_threads_policy="isolate"), "FL-46")
    assert fix.endswith(f"{SHARE}  # boots on rta")
    (fix,) = fixes(audited(RTB, emulator_threads_policy="isolate"), "FL-46")
    assert fix.endswith(f"{SHARE}  # needs [compute] cpu_shared_set on rtb")
    small = host("small", cpu_shared_set="0,8", cpu_dedicated_set="1-3,9-11")
    (fix,) = fixes(audited(small, emulator_threads_policy="isolate"), "FL-46")
    assert fix.startswith("hosts with 5 dedicated CPUs in one cell")


def test_one_cell_is_proposed_with_what_it_takes() -> None:
    small = host("small", cpu_shared_set="0,8", cpu_dedicated_set="1-3,9-11")
    (fix,) = fixes(audited(small, numa_nodes="2"), "FL-12")
    assert fix.endswith("boots on no host until one has a cell with 4 CPUs for it")
    (fix,) = fixes(audited(RTA, numa_nodes="2"), "FL-12")
    assert fix.endswith("--property hw:numa_nodes=1")


@pytest.mark.parametrize(
    ("traits", "specs", "severity"),
    [
        (frozenset(), {}, Severity.WARNING),
        (frozenset(), {"trait:CUSTOM_RT": "required"}, Severity.INFO),
        (frozenset({"CUSTOM_RT"}), {"trait:CUSTOM_RT": "required"}, Severity.WARNING),
        (frozenset({"CUSTOM_RT"}), {"trait:CUSTOM_OTHER": "forbidden"}, Severity.WARNING),
        (frozenset({"CUSTOM_OTHER"}), {"trait:CUSTOM_RT": "required"}, None),
        (frozenset(), {"aggregate_instance_extra_specs:rt": "yes"}, None),
    ],
)
def test_a_trait_ties_a_flavor_where_hosts_carry_it(
    traits: frozenset[str], specs: dict[str, str], severity: Severity | None
) -> None:
    untuned = host("plain", cpu_shared_set="0,8", intent=None, traits=traits)
    tuned = host("tuned", cpu_shared_set="0,8", intent=None, isolation=Isolation(domain=0xFE))
    found = [each for each in audited(untuned, specs=specs).findings if each.code == "FL-24"]
    assert [each.severity for each in found] == ([severity] if severity else [])
    if severity is Severity.WARNING:
        (fix,) = fixes(audited(untuned, tuned, specs=specs), "FL-24")
        create, give, ask = fix.split("\n")
        assert create.endswith("trait create CUSTOM_REALTIME")
        assert "(tuned)" in give
        assert ask.endswith("--property trait:CUSTOM_REALTIME=required")


def test_evidence_that_nobody_read_is_named() -> None:
    (found,) = (each for each in audited(RTA).findings if each.code == "HC-80")
    assert found.what.endswith("control groups, libvirt's settings")
    assert not fixes(audited(host("plain", intent="pinned")), "HC-80")
    assert not fixes(audited(read_host()), "HC-80")


def test_threads_are_given_up_after_the_guests_have_left() -> None:
    (fix,) = fixes(audited(new_style(intent="realtime")), "HC-38")
    assert "drain the host first" in fix
    assert "PCPU falls from 28 to 14" in fix


def test_hosts_that_errors_about_the_fleet_name_are_counted() -> None:
    found = audited(RTA, RTB, emulator_threads_policy="share")
    assert "(1 host with errors)" in verdict(found)


def test_a_flavor_is_named_with_the_image_that_it_needs() -> None:
    alone = a_flavor(cpu_policy="dedicated")
    with_image = a_flavor(cpu_policy="dedicated", image={"hw_cpu_thread_policy": "isolate"})
    assert hosts.named((with_image,)) == "flavor example with image picture"
    assert hosts.named((with_image, alone)) == "flavor example"
