# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the rules says what their files say."""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import rule_pages


def test_the_page_is_fresh() -> None:
    written = rule_pages.PAGE.read_text(encoding="utf-8")
    assert written == rule_pages.text(), (
        "write it anew: PYTHONPATH=build python tests/rule_pages.py"
    )
