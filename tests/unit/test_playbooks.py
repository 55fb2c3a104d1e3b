# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guides name every variable of the playbooks that they go through."""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml

ROOT = pathlib.Path(__file__).parent.parent.parent
HEADING = re.compile("^## Variables of the playbooks?\n", re.MULTILINE)
GUIDES = {
    "mixed-fleets": ["allocation_audit", "fallback_readiness", "restart_check", "upgrade_plan"],
    "live-cloud": ["fleet_info"],
}
"""Playbooks by guide."""


def told(guide: str) -> dict[str, dict[str, str]]:
    """Read the table of a guide: the variables by playbook, then option."""
    text = HEADING.split((ROOT / f"docs/{guide}.md").read_text(encoding="utf-8"))[1]
    lines = [line for line in text.partition("\n## ")[0].splitlines() if line.startswith("|")]
    head, _rule, *rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in lines]
    return {
        book: {row[0]: row[place] for row in rows if row[place]}
        for place, book in enumerate(head[1:-1], start=1)
    }


def taken(book: str) -> dict[str, str]:
    """Read a playbook: the variable that each option of its action is taken from."""
    (play,) = yaml.safe_load((ROOT / f"playbooks/{book}.yml").read_text(encoding="utf-8"))
    given = play["tasks"][-1][f"pinguard.nova.{book}"]
    found = {
        option: re.findall(r"(\w+) (?:\| default|}})", value)
        for option, value in given.items()
        if isinstance(value, str)
    }
    return {option: variable for option, (variable,) in found.items()}


@pytest.mark.parametrize("guide", GUIDES)
def test_the_guide_names_their_variables(guide: str) -> None:
    assert told(guide) == {book: taken(book) for book in GUIDES[guide]}
