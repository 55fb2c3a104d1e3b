# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import pathlib
import typing as t

import jsonschema
import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import Sources
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import allocation_report
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.allocation_report import (
    allocation_audit,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.run import Output

SCHEMA = json.loads(
    (pathlib.Path(allocation_report.__file__).parent / "schemas/allocations.json").read_text(
        encoding="utf-8"
    )
)


def server(number: int, flavor: dict[str, t.Any], **more: t.Any) -> dict[str, t.Any]:
    return {
        "id": f"00000000-0000-4000-8000-{number:012}",
        "name": f"db-{number}",
        "host": f"a{number}",
        "flavor": flavor,
        **more,
    }


def audited(
    host: dict[str, t.Any], servers: list[dict[str, t.Any]], **output: t.Any
) -> dict[str, t.Any]:
    names = ["spare", *(entry["host"] for entry in servers)]
    return allocation_audit(
        Sources(
            "27.1.0",
            named=dict.fromkeys(names, host),
            servers={"format": 1, "servers": servers},
        ),
        Output(**output),
    )


@pytest.fixture
def landed(pinned: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    return [server(number, pinned, allocation={"VCPU": 2}) for number in range(1, 6)]


def test_servers_with_the_same_fault_make_one_entry(
    host: dict[str, t.Any], landed: list[dict[str, t.Any]]
) -> None:
    report = audited(host, landed)["report"]
    assert report.count("FU-10") == 1
    assert "db-1..db-5 (5 servers)" in report
    assert "a1..a5 (5 hosts)" in report
    assert "and so on for 2 more servers" in report


def test_json_holds_to_its_schema_and_names_every_server(
    host: dict[str, t.Any], landed: list[dict[str, t.Any]], tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "allocations.json"
    result = audited(host, landed, paths={"json_path": str(path)})
    found = json.loads(path.read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    assert [each["id"] for each in found["findings"]] == [each["id"] for each in landed]
    assert found["findings"] == result["findings"]
    assert result["failed"] is True
    assert result["msg"] == found["verdict"]


def test_sound_servers_make_a_success(host: dict[str, t.Any], pinned: dict[str, t.Any]) -> None:
    result = audited(host, [server(1, pinned, allocation={"PCPU": 2}), server(2, pinned)])
    assert result["status"] == 0
    assert result["verdict"] == (
        "SUCCESS: 2 servers on 3 hosts at Nova 27.1.0: nothing wrong in Placement; "
        "of 1 server nobody told the allocation."
    )


def test_no_server_is_no_audit(host: dict[str, t.Any]) -> None:
    with pytest.raises(InputError, match="servers: there is no server"):
        audited(host, [])
