# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import parse_nova
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import OptionFault
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    CellUsage,
    HostClass,
    Isolation,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import CellPlace, Server
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.wish import (
    ExplicitSets,
    Wish,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.proposal import (
    Proposal,
    Target,
    propose,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import examples

ISOLATED = parse_nova("1-7,9-15,17-23,25-31")


def proposed(target: Target, **host: t.Any) -> Proposal:
    return propose(HostClass(examples.legacy(**host).host, ("compute-1",)), target)


def test_a_legacy_host_becomes_new() -> None:
    found = proposed(Target(Wish(shared_cores=1)), reserved_host_cpus=2)
    config = found.then.config
    assert (config.cpu_shared_set, config.cpu_dedicated_set) == (
        "1,9,17,25",
        "2-7,10-15,18-23,26-31",
    )
    assert config.vcpu_pin_set is None
    assert found.then == dataclasses.replace(found.now, config=config)
    assert (found.isolated, found.realtime) == (parse_nova("2-7,10-15,18-23,26-31"), False)


def test_a_second_proposal_for_what_became_of_the_first_is_the_same() -> None:
    target = Target(Wish(shared_cores=1))
    first = proposed(target, usage=(CellUsage(0, pinned_cpus=parse_nova("1,17")),))
    assert first.then.config.cpu_shared_set == "2,9,18,25"
    emptied = dataclasses.replace(first.then, usage=())
    assert propose(HostClass(emptied, ("compute-1",)), target).then.config == first.then.config


def test_realtime_isolates_the_dedicated_cpus() -> None:
    found = proposed(Target(Wish(), intent="realtime"), isolation=Isolation(domain=0b1100))
    assert found.realtime
    assert found.then.topology.isolated == ISOLATED
    assert found.then.isolation == Isolation(
        ISOLATED, ISOLATED, None, ISOLATED, tuned_isolated=ISOLATED
    )


def test_the_legacy_phase_isolates_nothing() -> None:
    found = proposed(Target(Wish(), "legacy", "realtime"))
    assert (found.isolated, found.realtime) == (0, False)
    assert found.then.config.vcpu_pin_set == "1-7,9-15,17-23,25-31"


@pytest.mark.parametrize(
    ("sets", "host", "message"),
    [
        (ExplicitSets("0-3", "3-7"), {}, "rules refuse this: HC-01 "),
        (ExplicitSets(None, "1-7,17-32"), {}, "HC-06 cpu_dedicated_set lists CPU 32"),
        (ExplicitSets(None, "1-7,17-23"), {"release": "19.0.0"}, "HC-73 "),
        (
            ExplicitSets(None, "1-7,17-23"),
            {"faults": (OptionFault("file_backed_memory", "x", "a number"),)},
            "HC-62 ",
        ),
        (Wish(shared_cores=1), {"isolation": Isolation(domain=ISOLATED)}, "HC-08 "),
        (Wish(housekeeping_cores=9), {}, "cell 0: 9 cores are wished"),
        (
            ExplicitSets("1,17", "2-7,18-23"),
            {"usage": (CellUsage(0, pinned_cpus=parse_nova("1,2")),)},
            "guests are pinned to CPU 1, which would be in no set for them",
        ),
    ],
)
def test_what_would_not_work_is_refused_in_one_line(
    sets: Wish | ExplicitSets, host: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(InputError, match=f"host compute-1: .*{message}") as caught:
        proposed(Target(sets), **host)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("specs", "places", "sets", "message"),
    [
        (
            {"hw:cpu_policy": "dedicated"},
            (CellPlace(0, {0: 1, 1: 17}),),
            ExplicitSets("1,17", "2-7,18-23"),
            "host compute-1: guests are pinned to CPU 1,17",
        ),
        ({}, (), ExplicitSets(None, "2-7,18-23"), "host compute-2: rules refuse this: FU-01 "),
    ],
)
def test_options_that_servers_forbid_are_refused(
    specs: dict[str, str], places: tuple[CellPlace, ...], sets: ExplicitSets, message: str
) -> None:
    server = Server("7e1c", "db-1", "compute-2", Flavor("f", 2, 1024, specs), places=places)
    each = HostClass(examples.legacy().host, ("compute-1", "compute-2"))
    with pytest.raises(InputError, match=message):
        propose(each, Target(sets), {"compute-2": [server]})


def test_cpus_that_sleep_are_not_lost() -> None:
    machine = examples.topology(offline="5,21")
    sets = {"cpu_shared_set": "1,17", "cpu_dedicated_set": "2-7,18-23"}
    host = examples.a_host(machine, cpu_power_management=True, **sets).host
    with pytest.raises(InputError, match="host compute-1: dedicated CPU 5,21 is offline"):
        propose(HostClass(host, ("compute-1",)), Target(Wish()))
    then = propose(HostClass(host, ("compute-1",)), Target(ExplicitSets(*sets.values()))).then
    assert then.config.cpu_dedicated_set == "2-7,18-23"
