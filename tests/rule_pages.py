# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write ``docs/rules.md`` from the docstrings of the rules: ``PYTHONPATH=build rule_pages.py``."""

from __future__ import annotations

import importlib
import pathlib
import sys
import typing as t

from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.catalog import RULES

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import Rule

PAGE = pathlib.Path(__file__).parent.parent / "docs/rules.md"


def text() -> str:
    """Give the page of all rules as Markdown."""
    rules = sorted(RULES, key=lambda rule: rule.code)
    rows = "".join(
        f"| [{rule.code}](#{rule.code.lower()}) | {rule.severity.value} | {rule.title} |\n"
        for rule in rules
    )
    parts = "\n".join(map(_part, rules))
    return (
        "# Rules\n\n"
        "What each rule looks for, why, and where Nova, libvirt or the kernel say so. Codes are "
        "never used again.\n\n"
        f"| rule | severity | what it finds |\n|---|---|---|\n{rows}\n{parts}"
    )


def body(rule: Rule[t.Any]) -> str:
    """Give what the docstring of a rule's file says below its title."""
    module = importlib.import_module(rule.check.__module__)
    return (module.__doc__ or "").strip().partition("\n")[2].strip()


def _part(rule: Rule[t.Any]) -> str:
    return f"## {rule.code}\n\n**{rule.title}** ({rule.severity.value})\n\n{body(rule)}\n"


if __name__ == "__main__":
    sys.stdout.write(f"{PAGE.write_text(text(), encoding='utf-8')} characters\n")
