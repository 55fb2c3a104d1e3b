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

from ansible_collections.pinguard.nova.plugins.action.render_flavors import ActionModule

if t.TYPE_CHECKING:
    import pathlib

WISH: dict[str, t.Any] = {"name": "pinned", "intent": "pinned", "vcpus": 2, "ram": 1024}


@pytest.fixture
def folder(tmp_path: pathlib.Path, host: dict[str, t.Any]) -> pathlib.Path:
    """Make a folder of facts, and one to write to."""
    for name in ("facts", "dest"):
        (tmp_path / name).mkdir()
    (tmp_path / "facts" / "a.json").write_text(json.dumps(host))
    return tmp_path


def run(folder: pathlib.Path, *, check: bool = False, **arguments: object) -> dict[str, t.Any]:
    loader = DataLoader()
    loader.set_basedir(str(folder))
    given = {
        "facts": "facts",
        "form": "commands",
        "flavors": [],
        "wishes": [WISH],
        "dest": str(folder / "dest"),
        **arguments,
    }
    given = {key: value for key, value in given.items() if value is not None}
    task = mock.MagicMock(args=given, async_val=0, check_mode=check, diff=True)
    made = ActionModule(task, mock.MagicMock(), mock.MagicMock(), loader, mock.MagicMock(), None)
    made._load_name = "render_flavors"  # as Ansible's loader does
    found: dict[str, t.Any] = made.run(task_vars={})
    return found


def test_a_file_is_written_once(folder: pathlib.Path) -> None:
    first = run(folder)
    (file,) = first["files"]
    assert (first["changed"], file["path"]) == (True, "flavors.sh")
    assert (folder / "dest" / "flavors.sh").read_text() == file["text"]
    assert [each["after"] for each in first["diff"]] == [file["text"]]
    second = run(folder)
    assert (second["changed"], second["diff"]) == (False, [])


def test_check_mode_tells_and_writes_nothing(folder: pathlib.Path) -> None:
    found = run(folder, check=True)
    assert (found["changed"], len(found["diff"])) == (True, 1)
    assert list((folder / "dest").iterdir()) == []


def test_the_result_says_why_and_where(folder: pathlib.Path) -> None:
    found = run(folder, dest=None)
    (flavor,) = found["flavors"]
    assert not found["changed"]
    assert flavor["hosts"] == "a"
    assert flavor["extra_specs"] == {"hw:cpu_policy": "dedicated", "hw:mem_page_size": "small"}
    assert {"key", "value", "why"} == flavor["reasons"][0].keys()
    assert [each["kind"] for each in found["changes"]] == ["create"]


def test_wishes_may_be_a_file(folder: pathlib.Path) -> None:
    (folder / "w.json").write_text(json.dumps({"wishes": [WISH]}))
    assert run(folder, wishes="w.json")["flavors"][0]["name"] == "pinned"


SERVER = {"id": "s1", "name": "db-1", "host": "a", "flavor": "pinned"}


def test_what_would_go_is_refused_until_it_is_accepted(
    folder: pathlib.Path, pinned: dict[str, t.Any]
) -> None:
    today = {**pinned, "vcpus": 1}
    given: dict[str, t.Any] = {"flavors": [today], "servers": {"servers": [SERVER]}}
    refused = run(folder, **given)
    assert refused["failed"]
    assert (
        "servers on it keep it as it is today until they are resized: db-1 on a" in refused["msg"]
    )
    (change,) = refused["changes"]
    assert (change["kind"], change["accept"]) == ("recreate", True)
    assert change["sizes"] == {"vcpus": {"before": 1, "after": 2}}
    assert list((folder / "dest").iterdir()) == []
    assert run(folder, check=True, **given)["failed"]
    accepted = run(folder, **given, accept=["pinned"])
    assert "failed" not in accepted
    assert "openstack flavor delete pinned\n" in (folder / "dest" / "flavors.sh").read_text()


def test_extra_specs_change_freely_where_nobody_is(
    folder: pathlib.Path, pinned: dict[str, t.Any]
) -> None:
    found = run(folder, flavors=[pinned], servers=[])
    assert [each["kind"] for each in found["changes"]] == ["update"]
    assert "flavor set --property hw:mem_page_size=small pinned\n" in found["files"][0]["text"]
    refused = run(folder, flavors=[pinned])
    assert "nobody told which servers run on it" in refused["msg"]


def test_a_fleet_file_tells_whether_servers_were_left_out(
    folder: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    document = {"hosts": [{**host, "name": "a"}], "flavors": [pinned], "servers": []}
    given: dict[str, t.Any] = {"fleet": "f.json", "facts": None, "flavors": None}
    (folder / "f.json").write_text(json.dumps(document))
    assert run(folder, **given)["changed"]
    (folder / "f.json").write_text(json.dumps({**document, "servers_left_out": 2}))
    assert "left out and may run on it: 2" in run(folder, **given)["msg"]
    assert "left out and may run on it: 2" in run(folder, **given, servers=[])["msg"]


def test_terraform_destroys_nothing_unaccepted(folder: pathlib.Path) -> None:
    given: dict[str, t.Any] = {"form": "terraform", "servers": []}
    run(folder, **given)
    other = {**WISH, "name": "other"}
    refused = run(folder, **given, wishes=[other])
    assert refused["msg"].startswith("pinned is deleted; no server runs on it.")
    assert run(folder, **given, wishes=[other], accept=["pinned"])["changed"]


def test_a_file_of_the_operator_is_not_replaced(folder: pathlib.Path) -> None:
    (folder / "dest" / "flavors.sh").write_text("openstack flavor list\n")
    with pytest.raises(AnsibleActionFail, match="was not written by this action"):
        run(folder)


@pytest.mark.parametrize(("flavors", "warned"), [(None, True), ([], False)])
def test_nobody_told_of_flavors(folder: pathlib.Path, flavors: t.Any, warned: bool) -> None:
    warnings = ["no flavors are given, so all are taken to be new"] if warned else []
    assert run(folder, flavors=flavors).get("warnings", []) == warnings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"wishes": [{**WISH, "vcpus": 3}]}, "pinned: no host takes it: a refuses at placement"),
        ({"wishes": [{**WISH, "x": 1}]}, r"wishes\[0\].x: unknown key"),
        ({"wishes": "none.yml"}, "none.yml"),
        ({"accept": ["x"]}, "accept: 'x' is none of the flavors"),
        ({"release": "1.0"}, "release"),
        ({"dest": "/none/such"}, "/none/such: the folder does not exist"),
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
        ({"wishes": None}, "missing required arguments: wishes"),
        ({"form": "x"}, "value of form must be one of"),
        ({"fleet": "x"}, "mutually exclusive"),
    ],
)
def test_arguments_are_checked(
    folder: pathlib.Path, arguments: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(AnsibleError, match=message):
        run(folder, **arguments)
