# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import typing as t
from unittest import mock

import pytest
import yaml
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.parsing.dataloader import DataLoader

from ansible_collections.pinguard.nova.plugins.action.tree_facts import ActionModule
from ansible_collections.pinguard.nova.plugins.module_utils._read.host import host_facts
from ansible_collections.pinguard.nova.plugins.modules import host_facts as module
from ansible_collections.pinguard.nova.plugins.modules import tree_facts as documentation

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


def run(basedir: pathlib.Path, **arguments: object) -> dict[str, t.Any]:
    loader = DataLoader()
    loader.set_basedir(str(basedir))
    task = mock.MagicMock(args=arguments, async_val=0, check_mode=True)
    action = ActionModule(task, mock.MagicMock(), mock.MagicMock(), loader, mock.MagicMock(), None)
    action._load_name = "tree_facts"  # as Ansible's loader does
    return action.run(task_vars={})


def test_the_facts_are_those_of_the_module(root: pathlib.Path) -> None:
    result = run(root, root=str(root), release="27.1.0", data_path_cpus="0x1")
    expected = host_facts(str(root), release="27.1.0", data_path_cpus="0x1")
    assert result["ansible_facts"] == {"pinguard": expected}
    assert result["changed"] is False
    assert "warnings" not in result


def test_a_relative_root_starts_at_the_playbook(root: pathlib.Path) -> None:
    result = run(root.parent, root=root.name)
    assert result["ansible_facts"] == {"pinguard": host_facts(str(root))}


def test_a_host_without_configuration_is_warned_of(root: pathlib.Path) -> None:
    os.remove(root / "etc/nova/nova.conf")
    assert "no nova.conf was found" in str(run(root, root=str(root))["warnings"])


def test_bad_input_fails_in_one_line(root: pathlib.Path) -> None:
    with pytest.raises(AnsibleActionFail) as caught:
        run(root, root=str(root), nova_conf=["/etc/nova/none"])
    assert str(caught.value) == (
        "/etc/nova/none: no such file; accepted: an existing file or directory"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "missing required arguments: root"),
        ({"root": "/", "page_kb": 5}, "value of page_kb must be one of: 4, 8, 16, 64"),
        ({"root": "/", "x": 1}, "Unsupported parameters"),
    ],
)
def test_arguments_are_checked(
    root: pathlib.Path, arguments: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(AnsibleError, match=message):
        run(root, **arguments)


def test_it_returns_what_the_module_returns() -> None:
    assert yaml.safe_load(documentation.RETURN) == yaml.safe_load(module.RETURN)
