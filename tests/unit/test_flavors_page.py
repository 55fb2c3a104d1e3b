# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the page on flavors shows is what its command answers."""

from __future__ import annotations

import pathlib
import re
import typing as t
from unittest import mock

import yaml
from ansible.parsing.dataloader import DataLoader

from ansible_collections.pinguard.nova.plugins.action.render_flavors import ActionModule
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.schema import schema
from ansible_collections.pinguard.nova.plugins.plugin_utils._render.flavor_forms import FORMS

ROOT = pathlib.Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/flavors.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def answered(**more: t.Any) -> dict[str, t.Any]:
    """Run the command of the page."""
    (told,) = re.findall(r'-a "(.*)"', block("console"), re.DOTALL)
    given = {**dict(part.split("=") for part in told.replace("\\\n", "").split()), **more}
    loader = DataLoader()
    loader.set_basedir(str(ROOT / "examples"))
    task = mock.MagicMock(args=given, async_val=0, check_mode=False, diff=False)
    made = ActionModule(task, mock.MagicMock(), mock.MagicMock(), loader, mock.MagicMock(), None)
    made._load_name = "render_flavors"  # as Ansible's loader does
    found: dict[str, t.Any] = made.run(task_vars={})
    return found


def test_the_command_answers_as_shown() -> None:
    assert answered()["msg"].split() == block("text").split()
    (file,) = answered(accept=["pinned.large"])["files"]
    assert block("sh") in file["text"]


def test_the_wish_is_the_first_of_the_example() -> None:
    example = yaml.safe_load((ROOT / "examples/wishes.yml").read_text(encoding="utf-8"))
    assert yaml.safe_load(block("yaml"))["wishes"] == example["wishes"][:1]


def test_every_key_and_form_is_named() -> None:
    keys = schema("flavor_wishes")["$defs"]["wish"]["properties"]
    assert not [key for key in keys if f"`{key}`" not in PAGE]
    assert not [name for name, form in FORMS.items() if f"| `{name}` | `{form.path}`" not in PAGE]
