# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import json
import pathlib
import typing as t

import jsonschema
import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import HostConfig
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import Sources
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import plan_report
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.plan_report import upgrade_plan
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.run import Output

SCHEMA = json.loads(
    (pathlib.Path(plan_report.__file__).parent / "schemas/plan.json").read_text(encoding="utf-8")
)
GOAL = {"hosts": [{"match": "*", "wish": {"shared_cores": 0}}], "batch_size": 2}
QUIET = Output("never")


def old(host: dict[str, t.Any]) -> dict[str, t.Any]:
    """Make facts of a host with ``vcpu_pin_set``."""
    return {**host, "nova": {"options": {"vcpu_pin_set": "0-3"}}}


def server(number: int, host: str, **more: t.Any) -> dict[str, t.Any]:
    return {
        "id": f"{number:08}-0000-4000-8000-000000000000",
        "name": f"db-{number}",
        "host": host,
        "flavor": "pinned",
        "cells": [{"host_cell": 0, "pins": {"0": 0, "1": 2}}],
        "allocation": {"VCPU": 2},
        **more,
    }


def sources(host: dict[str, t.Any], *flavors: dict[str, t.Any], **more: t.Any) -> Sources:
    named = {f"cmp-{number}": old(host) for number in range(1, 4)}
    given = {"servers": [], **more}
    return Sources("27.5.1", named, flavors=list(flavors), **given)


def servers(*made: dict[str, t.Any]) -> dict[str, t.Any]:
    return {"format": 1, "servers": list(made)}


def test_the_json_has_each_hosts_part(host: dict[str, t.Any], pinned: dict[str, t.Any]) -> None:
    given = sources(host, pinned, servers=servers(server(1, "cmp-1")))
    result = upgrade_plan(given, GOAL, QUIET)
    plan = result["plan"]
    jsonschema.Draft202012Validator(SCHEMA).validate(plan)
    assert (plan["complete"], plan["legacy"]) == (True, {"before": 3, "after": 0})
    assert [step["kind"] for step in plan["steps"]] == [
        "reconfigure",
        "reconfigure",
        "flip",
        "clean",
    ]
    first = plan["steps"][0]["hosts"][0]
    assert first == {
        "name": "cmp-1",
        "settings": {
            "vcpu_pin_set": None,
            "reserved_host_cpus": None,
            "compute.cpu_shared_set": None,
            "compute.cpu_dedicated_set": "1,3",
        },
        "moves": [
            {
                "id": "00000001-0000-4000-8000-000000000000",
                "name": "db-1",
                "target": "cmp-3",
                "live": False,
                "allocation": {"VCPU": 2},
            }
        ],
        "reshaped": 0,
        "short": [],
        "reboots": [],
        "expected": {"PCPU": 2},
    }
    again = plan["steps"][1]["hosts"][0]
    assert (again["name"], again["moves"][0]["allocation"]) == ("cmp-3", {"PCPU": 2})


def test_the_texts_have_what_to_type(host: dict[str, t.Any], pinned: dict[str, t.Any]) -> None:
    given = sources(host, pinned, servers=servers(server(1, "cmp-1")))
    result = upgrade_plan(given, GOAL, dataclasses.replace(QUIET, width=100))
    report = result["report"]
    assert " ".join(report.split()).startswith(result["verdict"])
    assert max(map(len, report.splitlines())) <= 100
    for line in (
        "openstack server migrate --wait --host cmp-3 00000001-0000-4000-8000-000000000000",
        "openstack server migration confirm 00000001-0000-4000-8000-000000000000",
        "# remove vcpu_pin_set = 0-3",
        "cpu_dedicated_set = 1,3",
        "disable_fallback_pcpu_query = true",
    ):
        assert line in report


def test_many_servers_and_hosts_are_told_in_short(
    host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    named = {f"cmp-{number:03}": old(host) for number in range(1, 201)}
    made = servers(*(server(number, f"cmp-{number:03}") for number in range(1, 41)))
    given = Sources("27.5.1", named, flavors=[pinned], servers=made)
    result = upgrade_plan(given, {**GOAL, "batch_size": 100}, QUIET)
    assert result["plan"]["complete"]
    assert "(100 hosts)" in result["report"]
    assert "and 35 more, see the JSON" in result["report"]
    assert len(result["report"].splitlines()) < 90


def test_what_blocks_is_told_with_a_way_out(
    host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    unknown = server(1, "cmp-1")
    del unknown["cells"]
    result = upgrade_plan(sources(host, pinned, servers=servers(unknown)), GOAL, Output())
    assert (result["status"], result["failed"]) == (2, True)
    assert result["msg"] == result["verdict"]
    assert result["verdict"].startswith("BLOCKED: ")
    (blocker,) = result["plan"]["blockers"]
    assert (blocker["constraint"], blocker["hosts"]) == ("server", ["cmp-1"])
    assert blocker["advice"] in " ".join(result["report"].split())


def test_what_blocks_is_a_finding(
    host: dict[str, t.Any], pinned: dict[str, t.Any], tmp_path: pathlib.Path
) -> None:
    unknown = server(1, "cmp-1")
    del unknown["cells"]
    target = tmp_path / "plan.sarif"
    output = Output("never", {"sarif_path": str(target)})
    upgrade_plan(sources(host, pinned, servers=servers(unknown)), GOAL, output)
    (made,) = json.loads(target.read_text())["runs"]
    errors = [each for each in made["results"] if each["level"] == "error"]
    assert [each["ruleId"] for each in errors] == ["plan-server"]
    assert errors[0]["properties"]["hosts"] == ["cmp-1"]


def test_hosts_whose_servers_nobody_told_of_are_a_warning(
    host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    untold = upgrade_plan(sources(host, pinned, servers=None), GOAL, QUIET)
    assert untold["status"] == 1
    assert "no servers were given" in untold["verdict"]


def test_nothing_to_do_is_complete_without_steps(
    host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    given = Sources("34.0.0", {"a": {**host, "release": "34.0.0"}}, flavors=[pinned], servers=[])
    given = dataclasses.replace(given, disable_fallback_pcpu_query=True)
    result = upgrade_plan(given, {"format": 1}, Output("warning"))
    assert (result["status"], result["plan"]["steps"]) == (0, [])
    assert result["verdict"].startswith("COMPLETE: 0 steps")


def test_all_is_written_or_nothing(
    host: dict[str, t.Any], pinned: dict[str, t.Any], tmp_path: pathlib.Path
) -> None:
    paths = {name: tmp_path / f"plan.{name}" for name in ("txt", "md", "json")}
    wanted = {
        "report_path": str(paths["txt"]),
        "markdown_path": str(paths["md"]),
        "json_path": str(tmp_path / "none" / "plan.json"),
    }
    output = Output("never", wanted)
    given = sources(host, pinned)
    with pytest.raises(InputError, match="the folder does not exist"):
        upgrade_plan(given, GOAL, output)
    assert not list(tmp_path.iterdir())
    output = Output("never", {**wanted, "json_path": str(paths["json"])})
    first = upgrade_plan(given, GOAL, output)
    texts = {name: path.read_bytes() for name, path in paths.items()}
    again = upgrade_plan(given, GOAL, dataclasses.replace(output, diff=True))
    assert (first["changed"], again["changed"], again["diff"]) == (True, False, [])
    assert {name: path.read_bytes() for name, path in paths.items()} == texts
    assert json.loads(texts["json"]) == first["plan"]
    assert texts["txt"].decode() == first["report"]
    assert texts["md"].startswith(b"# Rolling upgrade\n")


def test_names_neither_run_nor_mark_anything(
    host: dict[str, t.Any], pinned: dict[str, t.Any], tmp_path: pathlib.Path
) -> None:
    evil = server(1, "cmp-1", name="x\n```\n# y")
    path = tmp_path / "plan.md"
    given = sources(host, pinned, servers=servers(evil))
    result = upgrade_plan(given, GOAL, Output("never", {"markdown_path": str(path)}))
    assert not any(line.strip() == "# y" for line in result["report"].splitlines())
    lines = path.read_text().splitlines()
    assert sum(line.startswith("```") for line in lines) % 2 == 0
    assert "# y" not in lines


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (3, "goal: 3 is no goal"),
        ({"hosts": [{"match": "x", "wish": {}}]}, "matches no host"),
        ({"release": "20.0.0"}, "is older than 27.5.1"),
        ({"batch_size": 0}, "batch_size"),
        ("/nonexistent.yml", "/nonexistent.yml"),
    ],
)
def test_a_bad_goal_is_refused_in_one_line(
    host: dict[str, t.Any], pinned: dict[str, t.Any], wanted: t.Any, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        upgrade_plan(sources(host, pinned), wanted, QUIET)
    assert "\n" not in str(caught.value)


def test_settings_are_what_nova_conf_takes() -> None:
    config = HostConfig(vcpu_pin_set="1-3", reserved_host_cpus=1, cpu_allocation_ratio=4.0)
    assert plan_report.settings(config) == {
        "vcpu_pin_set": "1-3",
        "reserved_host_cpus": "1",
        "compute.cpu_shared_set": None,
        "compute.cpu_dedicated_set": None,
    }
