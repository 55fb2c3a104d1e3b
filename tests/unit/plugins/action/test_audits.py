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

from ansible_collections.pinguard.nova.plugins.action import (
    allocation_audit,
    flavor_audit,
    guest_audit,
    host_audit,
)

if t.TYPE_CHECKING:
    import pathlib


class Variables(dict[str, t.Any]):
    """Stands for the variables of all hosts."""

    def raw_get(self, name: str) -> t.Any:
        return self[name]


def run(
    action: t.Any,
    folder: pathlib.Path,
    known: dict[str, t.Any],
    told: dict[str, t.Any] | None = None,
    /,
    **arguments: object,
) -> dict[str, t.Any]:
    """Run an action with the facts of hosts and, if ``told``, of their guests."""
    loader = DataLoader()
    loader.set_basedir(str(folder))
    task = mock.MagicMock(args=arguments, async_val=0, check_mode=False, diff=True)
    hostvars = Variables(
        {
            name: {
                "ansible_facts": ({"pinguard": host} if host else {})
                | ({"pinguard_guests": told[name]} if told and name in told else {})
            }
            for name, host in known.items()
        }
    )
    variables = {
        "hostvars": hostvars,
        "groups": {"compute": list(known)},
        "ansible_play_hosts_all": list(known),
    }
    made = action.ActionModule(
        task, mock.MagicMock(), mock.MagicMock(), loader, mock.MagicMock(), None
    )
    made._load_name = "audit"  # as Ansible's loader does
    found: dict[str, t.Any] = made.run(task_vars=variables)
    return found


def test_hosts_of_the_play_are_audited_by_their_facts(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    result = run(flavor_audit, tmp_path, {"a": host, "b": host, "c": None}, flavors=[pinned])
    assert [each["names"] for each in result["hosts"]] == [["a", "b"]]
    assert "no facts, so not audited: c" in str(result["warnings"])
    assert result["changed"] is False


def test_files_are_read_and_written(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    (tmp_path / "fleet.json").write_text(json.dumps({"hosts": [{"name": "x", **host}]}))
    (tmp_path / "flavors.json").write_text(json.dumps({"format": 1, "flavors": [pinned]}))
    target = tmp_path / "report.txt"
    result = run(
        flavor_audit,
        tmp_path,
        {},
        fleet="fleet.json",
        flavors="flavors.json",
        report_path=str(target),
        fail_on="never",
    )
    assert target.read_text() == result["report"]
    assert result["changed"] is True
    assert [each["after"] for each in result["diff"]] == [result["report"]]


def test_a_group_of_hosts_is_mapped(tmp_path: pathlib.Path, host: dict[str, t.Any]) -> None:
    result = run(host_audit, tmp_path, {"a": host}, hosts=["compute"], fail_on="never")
    assert "cell 0" in result["maps"]["a"]


def test_allocations_are_audited_from_files_of_servers(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    server = {
        "id": "6f3c",
        "name": "db",
        "host": "a",
        "flavor": "pinned",
        "allocation": {"VCPU": 2},
    }
    (tmp_path / "servers.json").write_text(json.dumps({"format": 1, "servers": [server]}))
    result = run(
        allocation_audit, tmp_path, {"a": host}, servers=["servers.json"], flavors=[pinned]
    )
    assert [each["code"] for each in result["findings"]] == ["FU-10"]
    assert result["failed"] is True


def test_guests_are_audited_by_the_facts_of_the_same_hosts(
    tmp_path: pathlib.Path, host: dict[str, t.Any]
) -> None:
    domain = {"id": "6f3c", "name": "probe", "running": False, "persistent": {"vcpus": 1}}
    told = {"a": {"format": 1, "domains": [domain]}}
    result = run(guest_audit, tmp_path, {"a": host, "b": host, "c": None}, told, fail_on="never")
    assert [(each["name"], each["guests"]) for each in result["hosts"]] == [("a", 1), ("b", None)]
    assert [(each["id"], each["managed"]) for each in result["guests"]] == [("6f3c", False)]
    assert "no facts, so not audited: c" in str(result["warnings"])


def test_guests_are_audited_from_folders(tmp_path: pathlib.Path, host: dict[str, t.Any]) -> None:
    for name in ("facts", "guests/a"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "facts/a.json").write_text(json.dumps(host))
    (tmp_path / "guests/a/probe.xml").write_text(
        "<domain type='kvm' id='3'><name>probe</name><uuid>6f3c</uuid><vcpu>1</vcpu></domain>"
    )
    target = tmp_path / "report.md"
    result = run(
        guest_audit,
        tmp_path,
        {},
        facts="facts",
        guests="guests",
        fail_on="never",
        markdown_path=str(target),
    )
    assert [(each["domain"], each["running"]) for each in result["guests"]] == [("probe", True)]
    assert target.read_text().startswith("# Running guests")
    assert result["changed"] is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"flavors": []}, "hosts: no host has facts"),
        ({"hosts": ["x"]}, "'x' is not in the inventory"),
        ({"fleet": "none.yml"}, "none.yml: "),
        ({"release": "99"}, "^release: Nova '99' is not known"),
        ({"target_release": "x"}, "^target_release: 'x' is no release of Nova"),
    ],
)
def test_bad_input_fails_in_one_line(
    tmp_path: pathlib.Path, arguments: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(AnsibleActionFail, match=message) as caught:
        run(flavor_audit, tmp_path, {}, **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fleet": "a", "facts": "b"}, "mutually exclusive"),
        ({"fail_on": "x"}, "value of fail_on must be one of"),
        ({"x": 1}, "Unsupported parameters"),
    ],
)
def test_arguments_are_checked(
    tmp_path: pathlib.Path, arguments: dict[str, t.Any], message: str
) -> None:
    for action in (allocation_audit, flavor_audit, guest_audit, host_audit):
        with pytest.raises(AnsibleError, match=message):
            run(action, tmp_path, {}, **arguments)


def test_waivers_and_a_baseline_are_read_from_files(
    tmp_path: pathlib.Path, host: dict[str, t.Any]
) -> None:
    misspelt = {"name": "m1", "vcpus": 1, "ram": 512, "extra_specs": {"hw:cpu_polciy": "shared"}}
    given = {"a": host}
    old = str(tmp_path / "old.json")
    first = run(flavor_audit, tmp_path, given, flavors=[misspelt], json_path=old)
    assert (first["status"], first["failed"]) == (2, True)
    again = run(flavor_audit, tmp_path, given, flavors=[misspelt], baseline="old.json")
    assert (again["status"], again["summary"]["error"]) == (0, 0)
    waivers = [
        {"rule": code, "reason": "so", "owner": "ops", "expires": "2999-12-31"}
        for code in {finding["code"] for finding in first["findings"]}
    ]
    (tmp_path / "waivers.json").write_text(json.dumps({"waivers": waivers}))
    sarif = tmp_path / "x.sarif"
    waived = run(
        flavor_audit,
        tmp_path,
        given,
        flavors=[misspelt],
        waivers="waivers.json",
        sarif_path=str(sarif),
    )
    assert (waived["status"], waived["summary"]["waived"]) == (0, len(first["findings"]))
    (made,) = json.loads(sarif.read_text())["runs"]
    assert all("suppressions" in each for each in made["results"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"waivers": "none.yml"}, "none.yml: no such file"),
        ({"baseline": "none.json"}, "none.json: no such file"),
        ({"waivers": "bad.json"}, "there is no rule 'HC-00'"),
        ({"baseline": "bad.json"}, "this is no report"),
    ],
)
def test_broken_exceptions_fail_in_one_line(
    tmp_path: pathlib.Path, host: dict[str, t.Any], arguments: dict[str, t.Any], message: str
) -> None:
    waiver = {"rule": "HC-00", "reason": "so", "owner": "ops", "expires": "2999-12-31"}
    (tmp_path / "bad.json").write_text(json.dumps({"waivers": [waiver]}))
    with pytest.raises(AnsibleActionFail, match=message) as caught:
        run(host_audit, tmp_path, {"a": host}, **arguments)
    assert "\n" not in str(caught.value)
