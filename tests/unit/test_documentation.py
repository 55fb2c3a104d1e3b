# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pages of the documentation site are made of."""

from __future__ import annotations

import dataclasses
import doctest
import pathlib
import sys
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import releases as nova
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.catalog import RULES

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import documentation
from documenting import formats, markdown, releases, rules

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import Rule

PAGES = rules.pages()


def test_the_examples_in_docstrings_are_true() -> None:
    assert not doctest.testmod(documentation).failed
    assert not doctest.testmod(markdown).failed


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))
def test_the_page_of_a_rule_shows_what_it_finds(rule: Rule[t.Any]) -> None:
    page = PAGES[rules.path(rule)]
    assert f"# {rule.code}: {rule.title}\n" in page
    assert f"\n{rule.severity.value} {rule.code}: " in page or "  what  " in page
    assert "  fix   " in page


def test_every_change_of_a_release_is_described() -> None:
    told = releases.docstrings()
    behaviours = [field.name for field in dataclasses.fields(nova.Release) if field.metadata]
    assert all(told[name].endswith(".") for name in behaviours)
    changes = {(change.release, change.ends) for change in releases.changes()}
    assert {("27.2.0", False), ("34.0.0", True)} <= changes


def test_every_schema_has_a_page() -> None:
    schemas = (path.stem for path in (ROOT / "plugins/plugin_utils").glob("*/schemas/*.json"))
    assert {f"formats/{name}.md" for name in schemas} | {"formats/index.md"} == set(formats.pages())
    page = formats.pages()["formats/goal.md"]
    assert "| `hosts` | list of [selector](#format-goal-selector) |" in page


def test_a_guide_that_the_first_page_does_not_name_is_in_the_menu() -> None:
    assert ":caption: More\n\nother.md\n" in documentation.index(["faq.md", "other.md"])
