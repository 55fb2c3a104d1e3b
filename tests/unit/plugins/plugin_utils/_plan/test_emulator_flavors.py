# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import (
    parse_nova,
    to_text,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import CellUsage
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.emulator_flavors import (
    Option,
    flavor_options,
    in_question,
    place,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import (
    a_flavor,
    a_host,
    legacy,
    new_style,
    no_smt,
    topology,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.shared_cpus import (
    with_shared_set,
)

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import (
        FlavorCase,
        HostCase,
    )

DEDICATED = "1-7,9-15,17-23,25-31"


def realtime(*hosts: HostCase, vcpus: int = 4, **hw: t.Any) -> FlavorCase:
    wanted: dict[str, t.Any] = {"cpu_policy": "dedicated", "cpu_realtime": "yes"}
    return a_flavor(*hosts, vcpus=vcpus, **{**wanted, "cpu_realtime_mask": "^0", **hw})


def options(case: FlavorCase) -> tuple[Option, Option]:
    share, isolate = flavor_options(case)[0]
    assert (share.policy, isolate.policy) == ("share", "isolate")
    return share, isolate


@pytest.mark.parametrize(
    ("hw", "emulator", "kind"),
    [
        ({}, "6", "CPUs of vCPU 0"),
        ({"emulator_threads_policy": "share"}, "0,8", "cpu_shared_set"),
        ({"emulator_threads_policy": "isolate"}, "1", "a CPU of its own"),
        ({"cpu_realtime": "no"}, "2,4-6", "CPUs of all its vCPUs"),
    ],
)
def test_where_the_threads_run_today(hw: dict[str, t.Any], emulator: str, kind: str) -> None:
    found = place(realtime(no_smt(), **hw), 0)
    assert found
    assert (to_text(found.emulator), found.kind) == (emulator, kind)
    assert found.realtime == ({} if hw == {"cpu_realtime": "no"} else {1: 2, 2: 5, 3: 4})


def test_only_realtime_and_a_policy_put_it_in_question() -> None:
    assert in_question(realtime())
    assert in_question(a_flavor(cpu_policy="dedicated", emulator_threads_policy="share"))
    assert not in_question(a_flavor(cpu_policy="dedicated"))
    assert not in_question(a_flavor(emulator_threads_policy="share"))


def test_share_costs_nothing_and_isolate_a_pcpu() -> None:
    share, isolate = options(realtime(no_smt()))
    assert (share.cost, share.fits_now, share.fits_then) == (0, 2, 2)
    assert (isolate.resource, isolate.cost) == ("PCPU", 1)
    assert share.now
    assert share.then
    assert isolate.then
    assert to_text(share.now.emulator or 0) == "6"
    assert to_text(share.then.emulator or 0) == "0,8"
    assert to_text(isolate.then.emulator or 0) == "1"
    assert share.command.endswith("--property hw:emulator_threads_policy=share")
    assert not share.conf
    assert "share takes all of cpu_shared_set, also CPU 8" in share.notes[0]


def test_no_policy_is_proposed_where_there_is_one_or_no_realtime() -> None:
    assert not flavor_options(realtime(no_smt(), emulator_threads_policy="share"))
    assert not flavor_options(a_flavor(no_smt(), cpu_policy="dedicated"))


def test_isolate_after_an_odd_number_of_vcpus_takes_the_sibling_of_a_realtime_vcpu() -> None:
    share, isolate = options(realtime(new_style(), vcpus=5))
    assert share.then
    assert "sibling" in isolate.notes[0]
    assert not options(realtime(new_style()))[1].notes


def test_a_guest_that_fills_a_cell_has_no_room_for_isolate() -> None:
    share, isolate = options(realtime(no_smt(), vcpus=7))
    assert share.then
    assert isolate.then is None
    assert isolate.refusal.startswith("filter: needs 8")


@pytest.mark.parametrize(
    ("host", "conf", "note"),
    [
        (
            a_host(cpu_dedicated_set="2-7,10-15,18-23,26-31"),
            ("cpu_shared_set = 1,8,17,24",),
            "has VCPU too",
        ),
        (a_host(cpu_dedicated_set=DEDICATED), ("cpu_shared_set = 0,8,16,24",), "own tasks"),
        (
            a_host(cpu_dedicated_set="0-31"),
            ("cpu_shared_set = 1,8,17,24", "cpu_dedicated_set = 0,2-7,9-16,18-23,25-31"),
            "PCPU 28 instead of 32",
        ),
        (legacy(), ("cpu_shared_set = 0,8,16,24",), "own tasks"),
        (
            a_host(),
            ("cpu_shared_set = 1,8,17,24", "cpu_dedicated_set = 2-7,9-15,18-23,25-31"),
            "pinned ones are PCPU",
        ),
    ],
    ids=["free cores", "only the host's", "none free", "vcpu_pin_set", "no set"],
)
def test_a_host_without_shared_set_gets_one_of_whole_cores(
    host: HostCase, conf: tuple[str, ...], note: str
) -> None:
    share, _isolate = options(realtime(host))
    assert share.conf.splitlines() == ["[compute]", *conf]
    assert share.then
    assert any(note in each for each in share.notes)
    assert any("fail to build" in each for each in share.notes)


def test_isolated_cores_are_left_alone_as_long_as_others_are_free() -> None:
    machine = dataclasses.replace(topology(), isolated=parse_nova("1,17"))
    _config, conf, _notes = with_shared_set(
        a_host(machine, cpu_dedicated_set="3-7,9-15,19-23,25-31"), 1
    )
    assert conf == "[compute]\ncpu_shared_set = 2,8,18,24"


def test_guests_on_the_host_do_not_count() -> None:
    full = no_smt(usage=(CellUsage(0, parse_nova("1-7")), CellUsage(1, parse_nova("9-15"))))
    share, _isolate = options(realtime(full))
    assert share.fits_now == 2


def test_a_flavor_that_the_api_refuses_may_boot_with_a_policy() -> None:
    flavor = a_flavor(no_smt(), cpu_policy="dedicated", cpu_realtime="yes")
    share, isolate = options(flavor)
    assert share.now is None
    assert share.then
    assert isolate.then
    assert share.fits_now == 0
