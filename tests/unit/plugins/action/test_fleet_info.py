# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import itertools
import json
import sys
import types
import typing as t

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.pinguard.nova.plugins.action import fleet_info
from ansible_collections.pinguard.nova.plugins.plugin_utils._face.cloud import PATIENCE

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

    def get(
        self, path: str, microversion: str | None, raise_exc: bool, stream: bool
    ) -> types.SimpleNamespace:
        assert (raise_exc, stream) == (False, True)
        if path.startswith("/os-services"):
            raise SdkError("Unable to establish connection:\n  http://nova")
        if path.startswith("/os-aggregates"):
            raise ValueError("what the SDK lets through")
        status, text = self._recorded.get(self._service, path, microversion or "")
        body = itertools.repeat(b" " * 2**20) if path.startswith("/images") else [text.encode()]
        return types.SimpleNamespace(
            status_code=status, iter_content=lambda _size: iter(body), close=lambda: None
        )


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> types.SimpleNamespace:
    """Make an openstacksdk of one cloud in one region, and give its session."""
    session = types.SimpleNamespace(timeout=None)
    broken = getattr(request, "param", "") == "broken"

    def connect(cloud: str, region_name: str) -> types.SimpleNamespace:
        if (cloud, region_name) != ("admin", "north"):
            raise SdkError(f"Cloud {cloud} was not found.")
        if broken:
            raise AttributeError("'NoneType' object has no attribute 'get'")
        return types.SimpleNamespace(
            session=session, **{name: Adapter(name) for name in ("compute", "image", "placement")}
        )

    exceptions = types.SimpleNamespace(SDKException=SdkError)
    made = types.SimpleNamespace(connect=connect, exceptions=exceptions)
    errors = types.SimpleNamespace(ClientException=SdkError)
    monkeypatch.setitem(sys.modules, "openstack", made)
    monkeypatch.setitem(sys.modules, "keystoneauth1.exceptions", errors)
    return session


def test_a_cloud_is_read_with_the_facts_of_the_play(
    tmp_path: pathlib.Path, sdk: types.SimpleNamespace
) -> None:
    path = tmp_path / "fleet.json"
    known = {"a": FACTS, "z": FACTS, "y": None}
    result = run(fleet_info, tmp_path, known, cloud="admin", region="north", path=str(path))
    assert (result["changed"], result["release"]) == (True, "31.0.0")
    assert result["diff"][0]["after"] == path.read_text(encoding="utf-8")
    assert [host["name"] for host in json.loads(result["diff"][0]["after"])["hosts"]] == ["a"]
    for text in (
        "no facts, so left out: y",
        "not read: services: cloud admin: Unable to establish connection: http://nova",
        "not read: aggregates: cloud admin: ValueError: what the SDK lets through",
        "not read: images: cloud admin, GET /images: the answer is too large",
        "hosts of the cloud without facts, left out: b, c",
        "hosts with facts that the cloud does not have, left out: z",
        "31.0.0 is taken",
    ):
        assert any(text in warning for warning in result["warnings"]), text
    assert sdk.timeout == PATIENCE


@pytest.mark.parametrize("sdk", ["broken"], indirect=True)
@pytest.mark.usefixtures("sdk")
def test_what_the_sdk_does_not_catch_is_one_line(tmp_path: pathlib.Path) -> None:
    given = {"cloud": "admin", "region": "north", "path": str(tmp_path / "x")}
    with pytest.raises(AnsibleActionFail, match=r"AttributeError: .*a clouds\.yaml that openst"):
        run(fleet_info, tmp_path, {"a": FACTS}, **given)


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
