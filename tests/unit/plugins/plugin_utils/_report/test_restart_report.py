# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import Sources
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.restart_report import (
    Proposed,
    restart_check,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.run import Output

if t.TYPE_CHECKING:
    import pathlib

HOSTS = [f"cmp-{number:03}" for number in range(1, 501)]


def server(number: int, flavor: t.Any, **other: t.Any) -> dict[str, t.Any]:
    return {
        "id": f"{number:08}-0000-4000-8000-000000000000",
        "name": f"s{number}",
        "host": HOSTS[number],
        "flavor": flavor,
        **other,
    }


def sources(host: dict[str, t.Any], servers: list[dict[str, t.Any]], count: int = 3) -> Sources:
    given = {"format": 1, "servers": servers}
    return Sources("27.1.0", dict.fromkeys(HOSTS[:count], host), servers=given if servers else None)


def test_500_equal_hosts_are_one_line(host: dict[str, t.Any]) -> None:
    floating = server(0, {"name": "f", "vcpus": 1, "ram": 512})
    result = restart_check(
        sources(host, [floating], 500), Proposed({"compute.cpu_shared_set": "0"}), Output()
    )
    assert result["report"].count("cmp-001..cmp-500 (500 hosts)") == 2
    assert [len(each["names"]) for each in result["hosts"]] == [1, 499]
    assert result["hosts"][1]["inventory"]["after"]["VCPU"]["total"] == 1


def test_findings_of_many_servers_are_shortened(host: dict[str, t.Any]) -> None:
    floating = {"name": "f", "vcpus": 1, "ram": 512}
    guests = [server(number, floating) for number in range(100)]
    unset = Proposed({"compute.cpu_shared_set": None})
    result = restart_check(sources(host, guests, 100), unset, Output("never", width=80))
    assert result["status"] == 2
    assert result["report"].count("error FU-01") == 4
    assert "cmp-004..cmp-100 (97 hosts)" in result["report"]
    assert max(map(len, result["report"].splitlines())) <= 80


def test_each_host_may_have_its_own_options(host: dict[str, t.Any]) -> None:
    floating = server(1, {"name": "f", "vcpus": 1, "ram": 512})
    proposed = Proposed(
        {"compute.cpu_shared_set": None}, {HOSTS[1]: {"compute.cpu_shared_set": "0,2"}}
    )
    result = restart_check(sources(host, [floating]), proposed, Output())
    assert [each["starts"] for each in result["hosts"]] == [True, True]
    assert "VCPU" not in result["hosts"][0]["inventory"]["after"]
    other = Proposed({"compute.cpu_shared_set": None})
    result = restart_check(sources(host, [floating]), other, Output())
    fates = {name: each["error"] for each in result["hosts"] for name in each["names"]}
    assert fates[HOSTS[0]] is None
    assert fates[HOSTS[1]]["name"] == "InvalidConfiguration"
    assert result["failed"] is True
    assert result["msg"] == result["verdict"]


def test_without_servers_nothing_is_called_safe(host: dict[str, t.Any]) -> None:
    result = restart_check(sources(host, []), Proposed(), Output("warning"))
    assert (result["status"], result["hosts"][0]["judged"], result["failed"]) == (1, False, True)
    assert "starts, as far as is known" in result["report"]


def test_proposed_facts_and_reports_are_files(
    host: dict[str, t.Any], tmp_path: pathlib.Path
) -> None:
    wanted = {**host, "nova": {"options": {"compute.cpu_dedicated_set": "1-3"}}}
    folder = tmp_path / "facts"
    folder.mkdir()
    for name in HOSTS[:3]:
        (folder / f"{name}.json").write_text(json.dumps(wanted))
    target = tmp_path / "restart.json"
    floating = server(0, {"name": "f", "vcpus": 1, "ram": 512}, allocation={"VCPU": 1})
    proposed = Proposed(facts=str(folder))
    for check, exists in ((True, False), (False, True)):
        output = Output("never", {"json_path": str(target)}, check=check, diff=True)
        result = restart_check(sources(host, [floating]), proposed, output)
        assert (result["changed"], target.exists()) == (True, exists)
        assert len(result["diff"]) == 1
    assert json.loads(target.read_text())["hosts"] == result["hosts"]
    (folder / f"{HOSTS[1]}.json").unlink()
    with pytest.raises(InputError, match="no facts of cmp-002"):
        restart_check(sources(host, [floating]), proposed, Output())


def test_a_host_that_is_not_checked_is_refused(host: dict[str, t.Any]) -> None:
    with pytest.raises(InputError, match="'other' is no host that is checked"):
        restart_check(sources(host, []), Proposed(of_hosts={"other": {}}), Output())
