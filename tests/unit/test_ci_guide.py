# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guide to pipelines shows is what there is."""

from __future__ import annotations

import pathlib
import re
import shlex
import shutil
import subprocess
import typing as t
import xml.etree.ElementTree as ET

import pytest
import yaml

from ansible_collections.pinguard.nova.plugins.plugin_utils._model import loading
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.waivers import waivers
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.run import PATHS
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.catalog import RULES

ROOT = pathlib.Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    lines = [line for block in blocks("console") for line in block.splitlines()]
    return [shlex.split(line.removeprefix("$ ")) for line in lines]


def variables() -> set[str]:
    path = ROOT / "roles/audit/meta/argument_specs.yml"
    specs: dict[str, t.Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return set(specs["argument_specs"]["main"]["options"])


def test_it_names_every_form() -> None:
    named = re.findall(r"^\| `(\w+_path)` \|", GUIDE, re.MULTILINE)
    assert sorted(named) == sorted(PATHS)


def test_its_variables_are_those_of_the_role() -> None:
    given = yaml.safe_load(blocks("yaml")[0])
    extra = {part.partition("=")[0] for words in commands() for part in words if "=" in part}
    assert {*given, *extra} <= variables()


def test_its_pipelines_keep_what_is_written() -> None:
    given, gitlab, github, _waivers = map(yaml.safe_load, blocks("yaml"))
    artifacts = gitlab["pinguard"]["artifacts"]
    assert artifacts["reports"]["junit"] == given["audit_junit_path"]
    assert artifacts["reports"]["codequality"] == given["audit_codequality_path"]
    assert artifacts["paths"] == [given["audit_html_path"]]
    steps = github["jobs"]["pinguard"]["steps"]
    assert steps[-1]["with"]["sarif_file"] == given["audit_sarif_path"]
    assert [step["run"] for step in steps if "run" in step] == gitlab["pinguard"]["script"]
    (jenkins,) = blocks("groovy")
    assert all(given[f"audit_{name}_path"] in jenkins for name in ("junit", "sarif", "html"))


@pytest.mark.parametrize(
    "text",
    [blocks("yaml")[-1], (ROOT / "examples/waivers.yml").read_text(encoding="utf-8")],
    ids=["guide", "example"],
)
def test_its_waivers_are_such(text: str) -> None:
    (document,) = loading.parse(text, "waivers.yml")
    assert {waiver.rule for waiver in waivers(document)} <= {rule.code for rule in RULES}


@pytest.mark.skipif(not shutil.which("ansible-playbook"), reason="ansible-playbook is missing")
def test_its_example_fails_and_writes_what_it_names(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", folder)
    (command,) = [words for words in commands() if "audit_junit_path=junit.xml" in words]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 2, ended.stdout + ended.stderr
    root = ET.parse(folder / "junit.xml").getroot()
    assert int(root.get("failures", "0")) > 0
    assert int(root.get("skipped", "0")) == 2
    assert "2 waived" in ended.stdout
    assert "WV-0" not in ended.stdout
