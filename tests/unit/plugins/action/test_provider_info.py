# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import http.server
import json
import re
import sys
import threading
import types
import typing as t
from unittest import mock

import pytest
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.task import Task

from ansible_collections.pinguard.nova.plugins.action.provider_info import ActionModule
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import providers

if t.TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "4e1d0a52-0a8e-4a35-9c5d-4f6b55a2f001"
ANSWERS: dict[str, t.Any] = {
    "/resource_providers?name=cmp-01": {"resource_providers": [{"uuid": KEY}]},
    "/resource_providers?name=cmp+02": {"resource_providers": []},
    f"/resource_providers/{KEY}/inventories": {"inventories": {"PCPU": {"total": 4}}},
    f"/resource_providers/{KEY}/usages": {"usages": {"PCPU": 2}},
    f"/resource_providers/{KEY}/traits": {"traits": ["HW_CPU_X86_VMX", "CUSTOM_A"]},
    f"/resource_providers/{KEY}/allocations": {"allocations": {"c1": {"resources": {"PCPU": 2}}}},
    "/resource_providers?name=strange": {"versions": []},
}
FOUND = {
    "cmp-01": {
        "uuid": KEY,
        "inventories": {"PCPU": {"total": 4}},
        "usages": {"PCPU": 2},
        "traits": ["CUSTOM_A", "HW_CPU_X86_VMX"],
        "allocations": {"c1": {"PCPU": 2}},
    }
}


class Placement(http.server.BaseHTTPRequestHandler):
    """Answers from the table to the token ``sesame``."""

    def do_GET(self) -> None:
        status = {"sesame": 200, "reader": 403}.get(self.headers["X-Auth-Token"], 401)
        if status == 200 and self.path not in ANSWERS:
            status = 404
        assert self.headers["OpenStack-API-Version"] == "placement 1.6"
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(ANSWERS.get(self.path)).encode())

    def log_message(self, *_arguments: object) -> None:
        """Keep no log."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), Placement) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def asked(**arguments: t.Any) -> dict[str, t.Any]:
    """Run the action, and give its result."""
    task = Task()
    task.args = {"names": ["cmp-01"], **arguments}
    return ActionModule(
        task, mock.MagicMock(), mock.MagicMock(), DataLoader(), mock.MagicMock(), None
    ).run(task_vars={})


def test_a_provider_is_read_with_a_token(endpoint: str) -> None:
    result = asked(endpoint=f"{endpoint}/", token="sesame")
    assert (result["changed"], result["providers"]) == (False, FOUND)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"token": "wrong"}, r"GET /resource_providers\?name=cmp-01: the token is not accepted"),
        ({"token": "reader"}, "may not read resource providers .status 403"),
        ({"names": ["cmp 02"]}, "names: no resource provider is named 'cmp 02'"),
        ({"names": ["none"]}, "there is no Placement API .status 404"),
        ({"names": ["strange"]}, "not Placement's: the key 'resource_providers' is missing"),
        ({"names": []}, "names: the list is empty"),
        ({"token": ""}, "token: it is empty"),
        ({"timeout": 10**12}, "timeout: 1000000000000 is out of range; accepted: 1 to 3600"),
        ({"token": "sesame\nX-Roles: admin"}, "token: it has characters that no token has"),
        ({"endpoint": "placement"}, "endpoint: this is no URL"),
        ({"endpoint": "http://127.0.0.1:1"}, "Placement does not answer .*refused"),
        ({"endpoint": "http://127.0.0.1:port"}, "Placement does not answer"),
    ],
)
def test_what_fails_is_one_line_without_the_token(
    endpoint: str, arguments: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(AnsibleActionFail, match=message) as caught:
        asked(**{"endpoint": endpoint, "token": "sesame", **arguments})
    assert "\n" not in str(caught.value)
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("part", "body"),
    [
        ("?name=cmp-01", "[1]"),
        ("?name=cmp-01", "5"),
        ("?name=cmp-01", '"x"'),
        ("?name=cmp-01", "<html>"),
        ("?name=cmp-01", "[" * 100_000),
        ("?name=cmp-01", "9" * 5000),
        ("?name=cmp-01", '{"resource_providers": [{}]}'),
        ("?name=cmp-01", '{"resource_providers": {"a": 1}}'),
        ("/inventories", '{"inventories": null}'),
        ("/inventories", '{"inventories": []}'),
        ("/inventories", '{"inventories": {"PCPU": 5}}'),
        ("/usages", '{"usages": {"PCPU": "2"}}'),
        ("/traits", '{"traits": null}'),
        ("/traits", '{"traits": "abc"}'),
        ("/traits", '{"traits": ["A", 5]}'),
        ("/allocations", '{"allocations": []}'),
        ("/allocations", '{"allocations": {"a": {}}}'),
    ],
)
def test_an_answer_that_is_malformed_is_one_line(part: str, body: str) -> None:
    def get(path: str) -> tuple[int, str]:
        return 200, body if path.endswith(part) else json.dumps(ANSWERS[path])

    where = rf"Placement, GET /resource_providers.*{re.escape(part)}: the answer is not Placement's"
    with pytest.raises(InputError, match=where) as caught:
        providers.read(["cmp-01"], get)
    assert "; accepted: " in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "arguments",
    [{}, {"endpoint": "http://x"}, {"cloud": "c", "endpoint": "http://x", "token": "x"}],
)
def test_there_is_one_way_to_ask(arguments: dict[str, str]) -> None:
    with pytest.raises(AnsibleActionFail):
        asked(**arguments)


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """Make an openstacksdk that answers from the table."""

    class ConfigError(Exception):
        pass

    class ClientError(Exception):
        pass

    def get(path: str, **options: t.Any) -> types.SimpleNamespace:
        assert options == {"microversion": "1.6", "raise_exc": False, "stream": True}
        body = json.dumps(ANSWERS[path]).encode()
        return types.SimpleNamespace(
            status_code=200, iter_content=lambda _size: [body], close=lambda: None
        )

    def connect(cloud: str) -> types.SimpleNamespace:
        if cloud != "admin":
            raise ConfigError(f"Cloud {cloud} was not found.")
        session = types.SimpleNamespace(timeout=None)
        return types.SimpleNamespace(session=session, placement=types.SimpleNamespace(get=get))

    made = types.SimpleNamespace(
        connect=connect, exceptions=types.SimpleNamespace(SDKException=ConfigError)
    )
    errors = types.SimpleNamespace(ClientException=ClientError)
    monkeypatch.setitem(sys.modules, "openstack", made)
    monkeypatch.setitem(sys.modules, "keystoneauth1.exceptions", errors)
    return made


@pytest.mark.usefixtures("sdk")
def test_a_provider_is_read_by_cloud() -> None:
    assert asked(cloud="admin")["providers"] == FOUND


@pytest.mark.usefixtures("sdk")
def test_a_cloud_that_is_unknown_is_one_line() -> None:
    with pytest.raises(AnsibleActionFail, match="cloud other: Cloud other was not found"):
        asked(cloud="other")


def test_without_the_sdk_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openstack", None)
    with pytest.raises(AnsibleActionFail, match="pip install openstacksdk, or endpoint and token"):
        asked(cloud="admin")
