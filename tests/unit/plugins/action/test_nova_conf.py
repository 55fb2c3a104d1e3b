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
from ansible.playbook.task import Task

from ansible_collections.pinguard.nova.plugins.action.nova_conf import ActionModule

if t.TYPE_CHECKING:
    import pathlib

SHARED = "compute.cpu_shared_set"
DEDICATED = "compute.cpu_dedicated_set"
MODULE = "pinguard.nova.nova_conf"
FACTS = "pinguard.nova.host_facts"


class Action(ActionModule):
    """The action before a host whose modules answer from a table."""

    def __init__(self, facts: dict[str, t.Any], arguments: dict[str, t.Any]) -> None:
        task = Task()
        task.args = {"release": "27.1.0", **arguments}
        task.check_mode = False
        super().__init__(
            task, mock.MagicMock(), mock.MagicMock(), DataLoader(), mock.MagicMock(), None
        )
        self.facts = facts
        self.calls: list[tuple[str, bool | None]] = []
        self.answers: dict[str, dict[str, t.Any]] = {}

    def _execute_module(self, *_args: t.Any, **given: t.Any) -> dict[str, t.Any]:
        module_name, module_args = given["module_name"], given["module_args"]
        self.calls.append((module_name, self._task.check_mode))
        if module_name in self.answers:
            return self.answers[module_name]
        if module_name == FACTS:
            assert module_args == {"release": self._task.args["release"], "nova_conf": []}
            return {"ansible_facts": {"pinguard": self.facts}}
        assert module_args == self._task.args
        options = dict(self.facts["nova"]["options"])
        for line, (key, value) in enumerate(module_args["settings"].items()):
            options.pop(key, None)
            if value is not None:
                options[key] = {"value": value, "where": f"nova.conf:{line}"}
        return {
            "changed": True,
            "options": {key: {} for key in module_args["settings"]},
            "nova": {"before": self.facts["nova"], "after": {"options": options}},
        }

    def judged(self) -> dict[str, t.Any]:
        """Run it, and give its result."""
        return self.run(task_vars={"inventory_hostname": "cmp-01"})


def test_a_sound_change_is_written_after_it_was_judged(host: dict[str, t.Any]) -> None:
    action = Action(host, {"settings": {SHARED: "0", DEDICATED: "1,3"}})
    host["nova"]["options"][SHARED]["value"] = "0"
    assert action.judged()["changed"]
    assert action.calls == [(MODULE, True), (FACTS, False), (MODULE, False)]


def test_check_mode_never_asks_for_writing(host: dict[str, t.Any]) -> None:
    action = Action(host, {"settings": {SHARED: "0,2"}})
    action._task.check_mode = True
    assert action.judged()["changed"]
    assert action.calls == [(MODULE, True), (FACTS, True)]


def test_what_is_refused_is_not_written(host: dict[str, t.Any]) -> None:
    action = Action(host, {"settings": {SHARED: "0-2"}})
    result = action.judged()
    assert result["failed"]
    assert result["msg"].startswith("HC-01: CPU 1 is in cpu_shared_set (0-2)")
    assert "; fix: " in result["msg"]
    assert "HC-01" in {each["code"] for each in result["findings"]}
    assert (MODULE, False) not in action.calls


def test_an_error_that_stays_is_warned_of(host: dict[str, t.Any]) -> None:
    host["nova"]["options"]["libvirt.realtime_scheduler_priority"] = {"value": "100"}
    action = Action(host, {"settings": {"reserved_host_memory_mb": "1024"}})
    assert "HC-17" in str(action.judged()["warnings"])


def test_servers_are_read_from_a_file(
    host: dict[str, t.Any], pinned: dict[str, t.Any], tmp_path: pathlib.Path
) -> None:
    server = {"id": "s1", "host": "cmp-01", "flavor": pinned}
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"servers": [server, {**server, "id": "s2", "host": "x"}]}))
    action = Action(host, {"settings": {SHARED: "0,2"}, "servers": str(path)})
    assert action.judged()["servers"] == 1
    refused = Action(host, {"settings": {DEDICATED: None}, "servers": str(path)}).judged()
    assert "server s1" in refused["msg"]


def test_servers_may_name_flavors(
    host: dict[str, t.Any], pinned: dict[str, t.Any], tmp_path: pathlib.Path
) -> None:
    servers, flavors = tmp_path / "servers.json", tmp_path / "flavors.json"
    named = {"id": "s1", "host": "cmp-01", "flavor": pinned["name"]}
    servers.write_text(json.dumps({"servers": [named]}))
    flavors.write_text(json.dumps([pinned]))
    given = {"settings": {SHARED: "0,2"}, "servers": str(servers)}
    assert Action(host, {**given, "flavors": str(flavors), "images": []}).judged()["servers"] == 1
    with pytest.raises(AnsibleActionFail, match=pinned["name"]):
        Action(host, given).judged()


def test_without_guard_the_module_is_alone(host: dict[str, t.Any]) -> None:
    action = Action(host, {"settings": {SHARED: "0-2"}, "guard": "no"})
    assert action.judged()["changed"]
    assert action.calls == [(MODULE, False)]


def test_servers_that_are_not_there_fail_in_one_line(host: dict[str, t.Any]) -> None:
    action = Action(host, {"settings": {SHARED: "0,2"}, "servers": "/none.json"})
    with pytest.raises(AnsibleActionFail, match=r"/none\.json: "):
        action.judged()
    assert (MODULE, False) not in action.calls


@pytest.mark.parametrize("name", [MODULE, FACTS])
def test_a_failure_on_the_host_is_handed_on(host: dict[str, t.Any], name: str) -> None:
    action = Action(host, {"settings": {SHARED: "0,2"}})
    action.answers[name] = {"failed": True, "msg": "/etc/nova/nova.conf: no such file"}
    assert action.judged()["msg"] == "/etc/nova/nova.conf: no such file"
    assert (MODULE, False) not in action.calls


def test_an_unknown_release_fails_in_one_line(host: dict[str, t.Any]) -> None:
    host["release"] = "99"
    action = Action(host, {"settings": {SHARED: "0,2"}, "release": "99"})
    with pytest.raises(AnsibleActionFail, match=r"^release: Nova '99' is not known"):
        action.judged()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"guard": "maybe"}, "guard: 'maybe' is neither true nor false"),
        ({"servers": [5]}, "servers: 5 is out of place"),
        ({"servers": ["/\u202e.json"]}, r"/\\u202e\.json: no such file"),
    ],
)
def test_bad_options_fail_in_one_line_that_names_them(
    host: dict[str, t.Any], arguments: dict[str, t.Any], message: str
) -> None:
    action = Action(host, {"settings": {SHARED: "0,2"}, **arguments})
    with pytest.raises(AnsibleActionFail, match=f"^{message}"):
        action.judged()
