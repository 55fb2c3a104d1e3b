# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import pathlib
import typing as t

import jsonschema
import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import Sources
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import readiness_report
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.run import Output

SCHEMA = json.loads(
    (pathlib.Path(readiness_report.__file__).parent / "schemas/readiness.json").read_text(
        encoding="utf-8"
    )
)
LEGACY = {"vcpu_pin_set": "0-3"}


def ask(
    host: dict[str, t.Any],
    flavor: dict[str, t.Any],
    options: dict[str, str] | None = None,
    output: Output | None = None,
    **other: t.Any,
) -> dict[str, t.Any]:
    """Ask for a fleet of 500 hosts with other options, and one as it is."""
    named = {f"cmp-{number:03}": host for number in range(500)}
    if options is not None:
        named = {name: {**host, "nova": {"options": options}} for name in named}
    sources = Sources("27.1.0", {**named, "new": host}, flavors=[flavor], **other)
    return readiness_report.fallback_readiness(sources, output or Output(), 1000)


@pytest.mark.parametrize(
    ("options", "policy", "is_off", "status", "verdict"),
    [
        (None, "prefer", False, 0, "READY: nothing needs the fallback query; set [workarounds] "),
        (None, "prefer", True, 0, "READY: the fallback query is off, and nothing needs it."),
        (LEGACY, "prefer", False, 1, "READY WITH WARNINGS: nothing needs the fallback query; "),
        (LEGACY, "isolate", False, 2, "NOT READY: 1 flavor cannot do without the fallback query"),
        (LEGACY, "isolate", True, 2, "NOT READY: the fallback query is off, and 1 flavor cannot"),
    ],
)
def test_the_verdict(
    host: dict[str, t.Any],
    pinned: dict[str, t.Any],
    options: dict[str, str] | None,
    policy: str,
    is_off: bool,
    status: int,
    verdict: str,
) -> None:
    specs = {**pinned["extra_specs"], "hw:cpu_thread_policy": policy}
    found = ask(host, {**pinned, "extra_specs": specs}, options, disable_fallback_pcpu_query=is_off)
    assert (found["status"], found["is_off"]) == (status, is_off)
    assert found["verdict"].startswith(verdict)
    assert found.get("failed", False) == (status == 2)


def test_500_equal_hosts_are_one_line_and_lines_keep_the_width(
    host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    report = ask(host, pinned, LEGACY, Output(width=80))["report"]
    assert max(map(len, report.splitlines())) <= 80
    assert report.count("legacy: cmp-000..cmp-499 (500 hosts)") == 1
    assert "warning: legacy hosts take it by the fallback query" in report


def test_each_flavor_is_a_finding_and_only_what_blocks_is_an_error(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    target = tmp_path / "quality.json"
    isolate = {**pinned["extra_specs"], "hw:cpu_thread_policy": "isolate"}
    output = Output("never", {"codequality_path": str(target)})
    ask(host, {**pinned, "extra_specs": isolate}, LEGACY, output)
    found = json.loads(target.read_text(encoding="utf-8"))
    errors = [each for each in found if each["severity"] == "critical"]
    assert [each["check_name"] for each in errors] == ["fallback-blocker"]
    assert errors[0]["description"].startswith("flavor pinned: ")


def test_the_json_report_has_its_form(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    target = tmp_path / "readiness.json"
    isolate = {**pinned["extra_specs"], "hw:cpu_thread_policy": "isolate"}
    output = Output("never", {"json_path": str(target)})
    ask(host, {**pinned, "extra_specs": isolate}, LEGACY, output)
    document = json.loads(target.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert [each["flavors"] for each in document["blockers"]] == [["pinned"]]
    assert {each["phase"]: len(each["hosts"]) for each in document["phases"]} == {
        "legacy": 500,
        "new": 1,
    }
