# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t
from unittest import mock

import pytest
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader

from ansible_collections.pinguard.nova.plugins.action import upgrade_plan

if t.TYPE_CHECKING:
    import pathlib


def run(folder: pathlib.Path, *, check: bool = False, **arguments: object) -> dict[str, t.Any]:
    loader = DataLoader()
    loader.set_basedir(str(folder))
    task = mock.MagicMock(args=arguments, async_val=0, check_mode=check, diff=True)
    made = upgrade_plan.ActionModule(
        task, mock.MagicMock(), mock.MagicMock(), loader, mock.MagicMock(), None
    )
    made._load_name = "upgrade_plan"  # as Ansible's loader does
    found: dict[str, t.Any] = made.run(task_vars={})
    return found


@pytest.fixture
def given(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> dict[str, t.Any]:
    """Write a fleet of two legacy hosts, and the goal that they become new ones."""
    legacy = {**host, "nova": {"options": {"vcpu_pin_set": "0-3"}}}
    fleet = {"format": 1, "hosts": [{"names": ["a", "b"], **legacy}], "flavors": [pinned]}
    (tmp_path / "fleet.json").write_text(json.dumps(fleet))
    goal = {"format": 1, "hosts": [{"match": "*", "sets": {"cpu_dedicated_set": "1,3"}}]}
    (tmp_path / "goal.yml").write_text(json.dumps(goal))
    return {"fleet": "fleet.json", "servers": [], "goal": "goal.yml", "release": "27.5.1"}


def test_files_beside_the_playbook_are_read(tmp_path: pathlib.Path, given: t.Any) -> None:
    result = run(tmp_path, **given)
    assert (result["status"], result["changed"]) == (1, False)
    assert [step["kind"] for step in result["plan"]["steps"]] == [
        "reconfigure",
        "reconfigure",
        "flip",
        "clean",
    ]


def test_check_mode_shows_what_would_be_written(tmp_path: pathlib.Path, given: t.Any) -> None:
    paths = {name: tmp_path / name for name in ("report_path", "markdown_path", "json_path")}
    result = run(tmp_path, check=True, **given, **{name: str(p) for name, p in paths.items()})
    assert result["changed"] is True
    assert [each["before"] for each in result["diff"]] == ["", "", ""]
    assert not any(path.exists() for path in paths.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"goal": None}, "missing required arguments: goal"),
        ({"goal": "none.yml"}, "none.yml"),
        ({"fleet": "none.json"}, "none.json"),
        ({"facts": "x"}, "mutually exclusive"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    tmp_path: pathlib.Path, given: t.Any, arguments: dict[str, t.Any], message: str
) -> None:
    wanted = {name: value for name, value in {**given, **arguments}.items() if value is not None}
    with pytest.raises(AnsibleError, match=message) as caught:
        run(tmp_path, **wanted)
    assert "\n" not in str(caught.value)
