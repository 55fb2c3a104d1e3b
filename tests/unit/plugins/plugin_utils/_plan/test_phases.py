# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE, Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    Isolation,
    Scheduler,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import (
    Allocation,
    CellPlace,
    Server,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.cloud import Cloud
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.phases import (
    Phase,
    converted,
    next_step,
    phase_of,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import examples
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import errors, findings
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.cases import host_case

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host

FLOATING: dict[str, str] = {}
PINNED = {"hw:cpu_policy": "dedicated"}
ISOLATED = {**PINNED, "hw:cpu_thread_policy": "isolate"}
NAME = "compute-1"


def server(specs: dict[str, str], pins: tuple[int, ...] = (), **allocation: int) -> Server:
    flavor = Flavor("f", 2, 1024, specs)
    places = (CellPlace(0, dict(enumerate(pins))),) if pins else ()
    return Server("u-1", "s-1", NAME, flavor, places=places, allocation=allocation)


def settled(host: Host, *servers: Server, strangers: dict[str, int] | None = None) -> Cloud:
    cloud = Cloud(Scheduler(host.release))
    others = [Allocation("leak", NAME, strangers)] if strangers else []
    cloud.settle_in(host, servers, others)
    return cloud


def told(cloud: Cloud) -> tuple[Phase, str]:
    seen, here = cloud.hosts[NAME], cloud.residents[NAME].values()
    return phase_of(seen, here), next_step(seen, here)


NOTHING = "nothing"


@pytest.mark.parametrize(
    ("host", "servers", "phase", "step"),
    [
        (
            examples.legacy(),
            [server(FLOATING, VCPU=2)],
            Phase.LEGACY,
            "set [compute] cpu_shared_set = 1,9,17,25 and cpu_dedicated_set = "
            "2-7,10-15,18-23,26-31, unset vcpu_pin_set, restart nova-compute",
        ),
        (
            examples.legacy(reserved_host_cpus=2),
            [server(ISOLATED, (1, 2), VCPU=2)],
            Phase.LEGACY,
            "set [compute] cpu_shared_set = 3,9,19,25 and cpu_dedicated_set = "
            "1-2,4-7,10-15,17-18,20-23,26-31, unset vcpu_pin_set and reserved_host_cpus, "
            "restart nova-compute",
        ),
        (
            examples.legacy(release="19.0.0"),
            [],
            Phase.LEGACY,
            "upgrade nova-compute to Train or newer, with its options as they are",
        ),
        (
            examples.legacy(isolation=Isolation(domain=0xFEFEFEFE)),
            [],
            Phase.LEGACY,
            "move to cpu_shared_set and cpu_dedicated_set, which upgrade_plan and render_config "
            "work out (against plain halves: HC-08)",
        ),
        (
            examples.a_host(),
            [],
            Phase.LEGACY,
            "set [compute] cpu_shared_set = 1,8,17,24 and cpu_dedicated_set = "
            "2-7,9-15,18-23,25-31, restart nova-compute",
        ),
        (
            examples.a_host(),
            [server(PINNED, (0, 1), VCPU=2)],
            Phase.LEGACY,
            "set [compute] cpu_shared_set = 3,8,19,24 and cpu_dedicated_set = "
            "0-1,4-7,9-17,20-23,25-31, restart nova-compute",
        ),
        (examples.new_style(), [server(PINNED, (1, 2), PCPU=2)], Phase.NEW, NOTHING),
        (examples.new_style(), [server(FLOATING, VCPU=2)], Phase.NEW, NOTHING),
        (examples.a_host(cpu_dedicated_set="1-15"), [], Phase.NEW, NOTHING),
        (
            examples.new_style(),
            [server(PINNED, (1, 2), VCPU=2)],
            Phase.HYBRID,
            "cold migrate server u-1 to hosts with free PCPU: VCPU is allocated instead",
        ),
        (
            examples.new_style(),
            [server(PINNED, (0, 1), PCPU=2)],
            Phase.HYBRID,
            "migrate server u-1 (CPUPinningUnknown: CPU 0 is not dedicated in cell 0), then "
            "restart nova-compute",
        ),
        (examples.a_host(cpu_shared_set="1-15"), [], Phase.SHARED_ONLY, NOTHING),
        (
            examples.new_style(vcpu_pin_set="1-3"),
            [],
            Phase.BROKEN,
            "mend its options and start nova-compute, which fails with InvalidConfiguration: "
            "vcpu_pin_set and [compute] cpu_dedicated_set exclude one another",
        ),
    ],
)
def test_the_phase_of_a_host_and_its_next_step(
    host: t.Any, servers: list[Server], phase: Phase, step: str
) -> None:
    assert told(settled(host.host, *servers)) == (phase, step)


def test_a_host_is_hybrid_until_it_is_restarted() -> None:
    cloud = settled(examples.legacy().host, server(PINNED, (1, 2), VCPU=2))
    before = cloud.hosts[NAME]
    then = examples.new_style()
    cloud.hosts[NAME] = dataclasses.replace(then.view, cells=before.cells, provider=before.provider)
    assert told(cloud) == (Phase.HYBRID, "restart nova-compute")
    assert cloud.start(then.host).clean
    assert told(cloud) == (Phase.NEW, NOTHING)


def test_a_sibling_given_away_keeps_a_host_hybrid() -> None:
    cloud = settled(examples.legacy().host, server(ISOLATED, (1, 2), VCPU=2))
    result = cloud.start(
        examples.new_style(
            cpu_shared_set="0,8,17,24", cpu_dedicated_set="1-7,9-15,18-23,25-31"
        ).host
    )
    assert result.failure is not None
    phase, step = told(cloud)
    assert phase is Phase.HYBRID
    assert step.startswith("migrate server u-1 (CPUPinningUnknown: ")


def test_what_other_consumers_hold_is_to_be_repaired() -> None:
    host = examples.a_host(cpu_dedicated_set="1-15").host
    cloud = settled(examples.new_style().host, strangers={"VCPU": 2})
    cloud.start(host)
    phase, step = told(cloud)
    assert phase is Phase.BROKEN
    assert "VCPU leaves the inventory" in step


@given(
    st.lists(
        st.tuples(st.sampled_from([FLOATING, PINNED, ISOLATED]), st.integers(1, 6)), max_size=6
    ),
    st.sampled_from(["vcpu_pin_set", ""]),
)
def test_a_legacy_host_that_does_its_next_step_is_new(
    wanted: list[tuple[dict[str, str], int]], option: str
) -> None:
    host = examples.legacy() if option else examples.a_host()
    cloud = settled(host.host)
    for index, (specs, vcpus) in enumerate(wanted):
        asked = cloud.ask(Flavor("f", vcpus, 1024, specs), NO_IMAGE)
        outcome = cloud.select(asked).outcomes[NAME]
        if outcome.boots:
            cloud.place(f"u-{index}", asked, NAME, outcome)
    phase, step = told(cloud)
    assert phase is Phase.LEGACY
    then = converted(cloud.hosts[NAME])
    refused = errors(findings(host_case(then), NAME))
    result = cloud.start(then)
    assert step.startswith("move to cpu_shared_set and cpu_dedicated_set, ") == bool(refused)
    if refused:
        assert refused[0].code in step
    elif result.clean:
        assert step.startswith("set [compute] ")
        assert told(cloud) == (Phase.NEW, NOTHING)
    else:
        assert step.startswith("migrate server")
