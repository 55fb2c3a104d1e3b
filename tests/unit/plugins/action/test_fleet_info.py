# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import sys
import types
import typing as t

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.pinguard.nova.plugins.action import fleet_info

from ..plugin_utils._report.test_fleet_file import FACTS, Recorded
from .test_audits import run

if t.TYPE_CHECKING:
    import pathlib


class SdkError(Exception):
    """Stands for both kinds of errors."""


class Adapter:
    """A service of the SDK that answers what was recorded."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._recorded = Recorded()

    def get_endpoint_data(self) -> types.SimpleNamespace:
        return types.SimpleNamespace(max_microversion=self._recorded.newest(self._service))

    def get(self, path: str, microversion: str | None, raise_exc: bool) -> types.SimpleNamespace:
        assert not raise_exc
        if path.startswith("/os-services"):
            raise SdkError("Unable to establish connection:\n  http://nova")
        status, text = self._recorded.get(self._service, path, microversion or "")
        return types.SimpleNamespace(status_code=status, text=text)


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make an openstacksdk of one cloud in one region."""

    def connect(cloud: str, region_name: str) -> types.SimpleNamespace:
        if (cloud, region_name) != ("admin", "north"):
            raise SdkError(f"Cloud {cloud} was not found.")
        return types.SimpleNamespace(
            **{name: Adapter(name) for name in ("compute", "image", "placement")}
        )

    exceptions = types.SimpleNamespace(SDKException=SdkError)
    made = types.SimpleNamespace(connect=connect, exceptions=exceptions)
    errors = types.SimpleNamespace(ClientException=SdkError)
    monkeypatch.setitem(sys.modules, "openstack", made)
    monkeypatch.setitem(sys.modules, "keystoneauth1.exceptions", errors)


@pytest.mark.usefixtures("sdk")
def test_a_cloud_is_read_with_the_facts_of_the_play(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "fleet.json"
    known = {"a": FACTS, "z": FACTS, "y": None}
    result = run(fleet_info, tmp_path, known, cloud="admin", region="north", path=str(path))
    assert (result["changed"], result["release"]) == (True, "31.0.0")
    assert result["diff"][0]["after"] == path.read_text(encoding="utf-8")
    assert [host["name"] for host in json.loads(result["diff"][0]["after"])["hosts"]] == ["a"]
    for text in (
        "no facts, so left out: y",
        "not read: services: cloud admin: Unable to establish connection: http://nova",
        "hosts of the cloud without facts, left out: b, c",
        "hosts with facts that the cloud does not have, left out: z",
        "31.0.0 is taken",
    ):
        assert any(text in warning for warning in result["warnings"]), text


@pytest.mark.usefixtures("sdk")
def test_a_folder_of_facts_is_taken(tmp_path: pathlib.Path) -> None:
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "b.json").write_text(json.dumps(FACTS), encoding="utf-8")
    result = run(
        fleet_info,
        tmp_path,
        {},
        cloud="admin",
        region="north",
        path=str(tmp_path / "fleet.json"),
        facts="facts",
        release="32.0.0",
    )
    assert result["summary"]["hosts"] == 1


@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cloud": "other"}, "cloud other: Cloud other was not found"),
        ({"path": "/none/fleet.json"}, "path: .*the folder does not exist"),
        ({"release": "none"}, "release: 'none' is no release"),
        ({"names": {"a": "none"}}, "names: no host with facts is in the cloud"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: pathlib.Path, arguments: dict[str, t.Any], message: str
) -> None:
    given = {"cloud": "admin", "region": "north", "path": str(tmp_path / "x")} | arguments
    with pytest.raises(AnsibleActionFail, match=message) as caught:
        run(fleet_info, tmp_path, {"a": FACTS}, **given)
    assert "\n" not in str(caught.value)


def test_without_the_sdk_the_way_out_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setitem(sys.modules, "openstack", None)
    with pytest.raises(AnsibleActionFail, match="accepted: pip install openstacksdk"):
        run(fleet_info, tmp_path, {"a": FACTS}, cloud="admin", path=str(tmp_path / "x"))
