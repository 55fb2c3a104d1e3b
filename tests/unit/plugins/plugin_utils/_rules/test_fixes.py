# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixes hold when they are applied: no other rule refuses them."""

from __future__ import annotations

import re
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import parse_nova
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import StrayOption
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    Fleet,
    HostClass,
    Isolation,
    Scheduler,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import audit, findings
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import (
    NEWEST,
    a_flavor,
    a_guest,
    a_host,
    a_restart,
    legacy,
    new_style,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import HostCase

PINS = "2-15,18-31"


def host(isolated: str = PINS, **options: t.Any) -> HostCase:
    return a_host(isolation=Isolation(domain=parse_nova(isolated)), **options)


def fix(case: t.Any, code: str) -> str:
    (found,) = {each.fix for each in findings(case, "") if each.code == code}
    return found


def options(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(cpu_\w+_set) = (\S+)$", text, re.MULTILINE))


def codes(case: t.Any) -> set[str]:
    return {each.code for each in findings(case, "")}


def test_two_sets_keep_off_isolated_cpus() -> None:
    told = fix(host(vcpu_pin_set=PINS), "HC-04")
    assert options(told) == {"cpu_shared_set": "1,17", "cpu_dedicated_set": PINS}
    assert "# cell 1: no core is free and not isolated" in told
    assert "HC-08" not in codes(host(**options(told)))
    assert options(fix(legacy(), "HC-04"))["cpu_shared_set"] == "1,9,17,25"


def test_a_host_without_sets_gets_one_proposal() -> None:
    bare = host("8-15,24-31")
    flavor = a_flavor(cpu_policy="dedicated", emulator_threads_policy="share").flavor
    found = audit(Fleet(Scheduler(NEWEST), (HostClass(bare.host, bare.names),), (flavor,)))
    told = {each.code: each.fix for each in found.findings if each.code in ("HC-16", "HC-65")}
    assert len(told) == 2
    (sets,) = {tuple(sorted(options(each).items())) for each in told.values()}
    assert dict(sets)["cpu_shared_set"] == "1,17"


@pytest.mark.parametrize(
    ("isolated", "dedicated", "shared", "noted"),
    [
        (PINS, PINS, "1,8,17,24", True),
        ("2-15,18-31", "2-7,10-15,18-23,26-31", "1,8,17,24", True),
        ("2-7,10-15,18-23,26-31", "2-7,10-15,18-23,26-31", "1,8,17,24", False),
        ("2-8,10-15,18-24,26-31", PINS, "1,9,17,25", False),
    ],
)
def test_a_bare_cell_gets_a_core_that_is_isolated_only_where_none_else_is_free(
    isolated: str, dedicated: str, shared: str, noted: bool
) -> None:
    told = fix(host(isolated, cpu_shared_set="1,17", cpu_dedicated_set=dedicated), "HC-14")
    assert options(told)["cpu_shared_set"] == shared
    assert ("# first take CPU 8,24 out of isolcpus" in told) == noted
    after = host(isolated, **{"cpu_dedicated_set": dedicated, **options(told)})
    assert ("HC-08" in codes(after)) == noted


def test_a_stray_line_beside_the_right_one_is_removed() -> None:
    stray = StrayOption(
        "cpu_shared_set", "DEFAULT", "/etc/nova/nova.conf:9", "[compute] cpu_shared_set"
    )
    (twice,) = (each for each in findings(new_style(strays=(stray,)), "") if each.code == "HC-61")
    assert twice.fix == "remove the line (/etc/nova/nova.conf:9)"
    assert "/etc/nova/nova.conf:2 says holds" in twice.effect
    alone = a_host(cpu_dedicated_set="1-15", strays=(stray,))
    assert fix(alone, "HC-61") == "write it as [compute] cpu_shared_set"


def test_what_the_trait_meant_is_asked_by_policy() -> None:
    specs = {"resources:PCPU": "4", "trait:HW_CPU_HYPERTHREADING": "forbidden"}
    told = fix(a_flavor(legacy(), specs=specs), "FL-48")
    assert "--property resources:PCPU --property trait:HW_CPU_HYPERTHREADING" in told
    assert "hw:cpu_policy=dedicated --property hw:cpu_thread_policy=isolate" in told
    assert "trait" not in fix(a_flavor(legacy(), specs={"resources:PCPU": "4"}), "FL-48")


def test_a_thread_policy_of_the_image_is_taken_from_the_image() -> None:
    seen = new_style(release="20.4.0")
    properties = {"hw_cpu_policy": "dedicated", "hw_cpu_thread_policy": "isolate"}
    case = a_flavor(seen, vcpus=2, release="20.4.0", image=properties)
    assert "openstack image unset" in fix(case, "FL-49")
    assert "openstack flavor unset" not in fix(case, "FL-49")


def test_images_that_isolate_do_not_go_with_the_trait() -> None:
    specs = {"trait:HW_CPU_HYPERTHREADING": "forbidden"}
    flavor = a_flavor(new_style(), cpu_policy="dedicated", specs=specs)
    assert flavor.refusal is None
    image = {"hw_cpu_thread_policy": "isolate"}
    asked = a_flavor(new_style(), cpu_policy="dedicated", specs=specs, image=image)
    assert asked.refusal is not None


def test_floating_servers_keep_shared_cpus() -> None:
    servers = (a_guest(2, 18), a_guest(name="2"))
    then = {"cpu_shared_set": "2,18", "cpu_dedicated_set": "3-15,19-31"}
    told = options(fix(a_restart(legacy(), new_style(**then), *servers), "FU-02"))
    assert told["cpu_shared_set"]
    again = a_restart(legacy(), new_style(**{**then, **told}), *servers)
    assert not codes(again) & {"FU-01", "FU-02"}
