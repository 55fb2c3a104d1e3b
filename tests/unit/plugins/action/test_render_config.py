# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t
from unittest import mock

import pytest
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.parsing.dataloader import DataLoader

from ansible_collections.pinguard.nova.plugins.action.render_config import ActionModule

if t.TYPE_CHECKING:
    import pathlib

SETS = {"cpu_shared_set": "0,2", "cpu_dedicated_set": "1,3"}


@pytest.fixture
def folder(tmp_path: pathlib.Path, host: dict[str, t.Any]) -> pathlib.Path:
    """Make a folder of facts, and one to write to."""
    for name in ("facts", "dest"):
        (tmp_path / name).mkdir()
    host["nova"]["options"] = {"vcpu_pin_set": {"value": "1,3", "where": "nova.conf:2"}}
    (tmp_path / "facts" / "a.json").write_text(json.dumps(host))
    return tmp_path


def run(folder: pathlib.Path, *, check: bool = False, **arguments: object) -> dict[str, t.Any]:
    loader = DataLoader()
    loader.set_basedir(str(folder))
    given = {"facts": "facts", "deployer": "kolla_ansible", **arguments}
    given = {key: value for key, value in given.items() if value is not None}
    task = mock.MagicMock(args=given, async_val=0, check_mode=check, diff=True)
    made = ActionModule(task, mock.MagicMock(), mock.MagicMock(), loader, mock.MagicMock(), None)
    made._load_name = "render_config"  # as Ansible's loader does
    found: dict[str, t.Any] = made.run(task_vars={})
    return found


def test_files_are_written_once(folder: pathlib.Path) -> None:
    dest = folder / "dest"
    first = run(folder, wish={}, dest=str(dest))
    assert first["changed"]
    assert [file["path"] for file in first["files"]] == [
        "nova/a/nova.conf",
        "kernel/a/cpu-partitioning-variables.conf",
    ]
    for file in first["files"]:
        assert (dest / file["path"]).read_text() == file["text"]
    assert [each["after"] for each in first["diff"]] == [file["text"] for file in first["files"]]
    second = run(folder, wish={}, dest=str(dest))
    assert (second["changed"], second["diff"]) == (False, [])


def test_check_mode_tells_and_writes_nothing(folder: pathlib.Path) -> None:
    found = run(folder, check=True, wish={}, dest=str(folder / "dest"))
    assert found["changed"]
    assert list((folder / "dest").iterdir()) == []


def test_without_a_folder_the_texts_are_returned(folder: pathlib.Path) -> None:
    found = run(folder, wish={})
    assert not found["changed"]
    assert found["files"][0]["hosts"] == ["a"]
    assert found["files"][0]["notes"] == [
        "Take out vcpu_pin_set (nova.conf:2): a merged file cannot unset it."
    ]


def test_sets_may_be_given(folder: pathlib.Path) -> None:
    (file, *_others) = run(folder, sets={"cpu_dedicated_set": "1,3"}, deployer="nova_conf")["files"]
    assert "cpu_dedicated_set = 1,3\n" in file["text"]


def test_servers_may_name_flavors(folder: pathlib.Path) -> None:
    flavor = {"name": "p", "vcpus": 1, "ram": 512, "extra_specs": {"hw:cpu_policy": "dedicated"}}
    (folder / "flavors.json").write_text(json.dumps([flavor]))
    places = [{"host_cell": 0, "pins": {"0": 3}}]
    server = {"id": "s1", "name": "s1", "host": "a", "flavor": "p", "cells": places}
    wanted: dict[str, t.Any] = {"wish": {}, "servers": {"servers": [server]}}
    found = run(folder, **wanted, flavors="flavors.json", images=[])
    assert found["files"]
    assert "warnings" not in found
    with pytest.raises(AnsibleActionFail, match="flavor"):
        run(folder, **wanted)


@pytest.mark.parametrize(
    ("servers", "usage", "warned"),
    [
        (None, [], True),
        ([], [], False),
        (None, [{"cell": 0, "pinned_cpus": "1"}], False),
    ],
)
def test_nobody_told_of_servers(
    folder: pathlib.Path, host: dict[str, t.Any], servers: t.Any, usage: list[t.Any], warned: bool
) -> None:
    (folder / "facts" / "a.json").unlink()
    (folder / "fleet.json").write_text(
        json.dumps({"format": 1, "hosts": [{**host, "names": ["a", "b"], "usage": usage}]})
    )
    found = run(folder, sets=SETS, facts=None, fleet="fleet.json", servers=servers)
    warnings = ["no servers are given, so hosts are taken to be empty"] if warned else []
    assert found.get("warnings", []) == warnings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"wish": {"shared_cores": 5}}, "host a: cell 0: 5 cores are wished shared"),
        ({"wish": {"x": 1}}, "wish: x: unknown key"),
        ({"sets": {"cpu_dedicated_set": "0-3"}}, "host a: rules refuse this: HC-13 "),
        ({"wish": {}, "dest": "/none/such"}, "/none/such: the folder does not exist"),
    ],
)
def test_bad_input_fails_in_one_line(
    folder: pathlib.Path, arguments: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(AnsibleActionFail, match=message) as caught:
        run(folder, **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "one of the following is required: wish, sets"),
        ({"wish": {}, "sets": SETS}, "mutually exclusive"),
        ({"wish": {}, "fleet": "x"}, "mutually exclusive"),
        ({"wish": {}, "deployer": "x"}, "value of deployer must be one of"),
    ],
)
def test_arguments_are_checked(
    folder: pathlib.Path, arguments: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(AnsibleError, match=message):
        run(folder, **arguments)
