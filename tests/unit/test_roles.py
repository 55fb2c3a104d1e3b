# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of roles are those that their argument specifications name."""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest
import yaml

ROOT = pathlib.Path(__file__).parent.parent.parent
ROLES = ("audit", "guest_audit")


def read(role: str, path: str) -> t.Any:
    return yaml.safe_load((ROOT / "roles" / role / path).read_text(encoding="utf-8"))


def options(role: str) -> dict[str, t.Any]:
    found: dict[str, t.Any] = read(role, "meta/argument_specs.yml")["argument_specs"]["main"]
    given: dict[str, t.Any] = found["options"]
    return given


@pytest.mark.parametrize("role", ROLES)
def test_tasks_use_the_variables_that_the_specification_names(role: str) -> None:
    texts = [
        file.read_text(encoding="utf-8") for file in (ROOT / "roles" / role / "tasks").iterdir()
    ]
    used = {name for text in texts for name in re.findall(rf"(?<![\w.]){role}_\w+", text)}
    own = {f"{role}_result", f"{role}_failing"}
    assert used - own == set(options(role))


@pytest.mark.parametrize("role", ROLES)
def test_defaults_are_those_that_the_specification_tells(role: str) -> None:
    told = {name: each["default"] for name, each in options(role).items() if "default" in each}
    assert read(role, "defaults/main.yml") == told


@pytest.mark.parametrize("role", ROLES)
def test_the_readme_names_only_variables_that_there_are(role: str) -> None:
    text = (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(rf"(?<!pinguard_)\b{role}_\w+", text)) - {f"{role}_result"}
    assert named <= set(options(role))


@pytest.mark.parametrize("role", ROLES)
def test_an_intent_is_refused_where_no_host_is_read(role: str) -> None:
    first = read(role, "tasks/main.yml")[0]
    told = first["ansible.builtin.assert"]
    assert all(f"{role}_{name}" in told["that"] for name in ("intent", "facts", "fleet"))
    assert "\n" not in told["fail_msg"].strip()
