# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pathlib

import pytest

PLUGINS = pathlib.Path(__file__).resolve().parent.parent.parent / "plugins"
NAMES = sorted(
    ".".join(path.relative_to(PLUGINS).with_suffix("").parts)
    for folder in ("module_utils", "plugin_utils")
    for path in (PLUGINS / folder).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    module = importlib.import_module(f"ansible_collections.pinguard.nova.plugins.{name}")
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
