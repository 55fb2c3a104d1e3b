# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleActionFail, AnsibleError

from ansible_collections.pinguard.nova.plugins.action import restart_check

from .test_audits import run

if t.TYPE_CHECKING:
    import pathlib


def test_facts_of_the_play_are_checked(tmp_path: pathlib.Path, host: dict[str, t.Any]) -> None:
    result = run(
        restart_check,
        tmp_path,
        {"a": host, "b": host, "c": None},
        options={"compute.cpu_shared_set": "0", "vcpu_pin_set": None},
    )
    assert [each["names"] for each in result["hosts"]] == [["a", "b"]]
    assert "no facts, so not checked: c" in str(result["warnings"])
    assert (result["status"], result["changed"]) == (1, False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"options": {"cpu_dedicated_set": "1"}}, r"options\.cpu_dedicated_set: unknown key"),
        ({"target_release": "none"}, "'none'"),
        ({"proposed_facts": "none"}, "none: "),
    ],
)
def test_bad_input_fails_in_one_line(
    tmp_path: pathlib.Path, host: dict[str, t.Any], arguments: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(AnsibleActionFail, match=message) as caught:
        run(restart_check, tmp_path, {"a": host}, **arguments)
    assert "\n" not in str(caught.value)


def test_facts_of_the_target_exclude_options(tmp_path: pathlib.Path) -> None:
    with pytest.raises(AnsibleError, match="mutually exclusive"):
        run(restart_check, tmp_path, {}, proposed_facts="a", options={})
