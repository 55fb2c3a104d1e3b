# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guide names every variable of the playbooks that it goes through."""

from __future__ import annotations

import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).parent.parent.parent
HEADING = "## Variables of the playbooks\n"


def told() -> dict[str, dict[str, str]]:
    """Read the guide's table: the variables by playbook, then option."""
    text = (ROOT / "docs/mixed-fleets.md").read_text(encoding="utf-8")
    lines = [line for line in text.partition(HEADING)[2].splitlines() if line.startswith("|")]
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


def test_the_guide_names_their_variables() -> None:
    books = ["allocation_audit", "fallback_readiness", "restart_check", "upgrade_plan"]
    assert told() == {book: taken(book) for book in books}
