# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t
from unittest import mock

import pytest
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader

from ansible_collections.pinguard.nova.plugins.action import fallback_readiness

if t.TYPE_CHECKING:
    import pathlib


def run(folder: pathlib.Path, **arguments: object) -> dict[str, t.Any]:
    loader = DataLoader()
    loader.set_basedir(str(folder))
    task = mock.MagicMock(args=arguments, async_val=0, check_mode=False, diff=False)
    made = fallback_readiness.ActionModule(
        task, mock.MagicMock(), mock.MagicMock(), loader, mock.MagicMock(), None
    )
    made._load_name = "fallback_readiness"  # as Ansible's loader does
    found: dict[str, t.Any] = made.run(task_vars={})
    return found


@pytest.fixture
def fleet(tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]) -> str:
    """Write a fleet of a new-style and a legacy host, and a server that isolates on the latter."""
    legacy = {**host, "nova": {"options": {"vcpu_pin_set": "0-3"}}}
    hosts = [{"name": "new", **host}, {"names": ["old", "other"], **legacy}]
    document = {"format": 1, "hosts": hosts, "flavors": [pinned]}
    (tmp_path / "fleet.json").write_text(json.dumps(document))
    specs = {**pinned["extra_specs"], "hw:cpu_thread_policy": "isolate"}
    server = {
        "id": "6f3c0000-0000-4000-8000-000000000001",
        "name": "db-1",
        "host": "old",
        "flavor": {**pinned, "name": "isolated", "vcpus": 1, "extra_specs": specs},
        "cells": [{"host_cell": 0, "pins": {"0": 1}}],
        "allocation": {"VCPU": 1},
    }
    (tmp_path / "servers.json").write_text(json.dumps({"format": 1, "servers": [server]}))
    return "fleet.json"


def test_servers_are_read_and_judged(tmp_path: pathlib.Path, fleet: str) -> None:
    result = run(tmp_path, fleet=fleet, servers="servers.json")
    assert (result["status"], result["failed"], result["changed"]) == (2, True, False)
    assert [each["servers"] for each in result["blockers"]] == [["db-1"]]


def test_warnings_fail_where_they_are_to(tmp_path: pathlib.Path, fleet: str) -> None:
    assert "failed" not in run(tmp_path, fleet=fleet)
    result = run(tmp_path, fleet=fleet, fail_on="warning")
    assert (result["status"], result["may_turn_off"]) == (1, True)
    assert result["msg"] == result["verdict"]


def test_a_report_is_written(tmp_path: pathlib.Path, fleet: str) -> None:
    target = tmp_path / "readiness.txt"
    result = run(tmp_path, fleet=fleet, report_path=str(target))
    assert target.read_text() == result["report"]
    assert run(tmp_path, fleet=fleet, report_path=str(target))["changed"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fleet": "none.yml"}, "none.yml: "),
        ({"servers": "none.yml"}, "none.yml: "),
        ({"flavors": 3}, "3 is out of place"),
    ],
)
def test_bad_input_fails_in_one_line(
    tmp_path: pathlib.Path, fleet: str, arguments: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(AnsibleActionFail, match=message) as caught:
        run(tmp_path, **{"fleet": fleet, **arguments})
    assert "\n" not in str(caught.value)
