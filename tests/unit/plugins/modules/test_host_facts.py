# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t
from unittest import mock

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.host import NO_FILE
from ansible_collections.pinguard.nova.plugins.modules import host_facts

testing = pytest.importorskip(
    "ansible.module_utils.testing", reason="ansible-core 2.18 has no way to pass arguments"
)

if t.TYPE_CHECKING:
    import pathlib


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    """Make the tree of a host with one CPU and give its root."""
    for path, text in {
        "sys/devices/system/cpu/online": "0\n",
        "proc/meminfo": "MemTotal: 4096 kB\n",
        "etc/nova/nova.conf": "[compute]\ncpu_shared_set = 0\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], **arguments: object) -> dict[str, t.Any]:
    with testing.patch_module_args(arguments), pytest.raises(SystemExit):
        host_facts.main()
    result: dict[str, t.Any] = json.loads(capsys.readouterr().out)
    return result


@pytest.mark.parametrize("check_mode", [False, True])
def test_facts_are_returned_under_one_name(
    capsys: pytest.CaptureFixture[str], root: pathlib.Path, check_mode: bool
) -> None:
    result = run(capsys, root=str(root), release="27.1.0", _ansible_check_mode=check_mode)
    assert not result["changed"]
    assert set(result["ansible_facts"]) == {"pinguard"}
    facts = result["ansible_facts"]["pinguard"]
    assert (facts["format"], facts["release"]) == (1, "27.1.0")
    assert facts["nova"]["options"]["compute.cpu_shared_set"]["value"] == "0"


def test_a_host_without_configuration_is_warned_of(
    capsys: pytest.CaptureFixture[str], root: pathlib.Path
) -> None:
    with mock.patch("ansible.module_utils.basic.AnsibleModule.warn") as warn:
        result = run(capsys, root=str(root), nova_conf=[])
        assert result["ansible_facts"]["pinguard"]["nova"]["options"] == {}
        warn.assert_called_once_with(NO_FILE)
        run(capsys, root=str(root))
        warn.assert_called_once()


def test_bad_input_fails_in_one_line(
    capsys: pytest.CaptureFixture[str], root: pathlib.Path
) -> None:
    (root / "etc/nova/nova.conf").write_text("cpu_shared_set = 0\n")
    result = run(capsys, root=str(root))
    assert result["failed"]
    assert result["msg"] == (
        "/etc/nova/nova.conf:1: a key stands before any section; accepted: [section] first"
    )
    assert "ansible_facts" not in result
