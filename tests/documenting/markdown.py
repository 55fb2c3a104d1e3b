# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small parts of Markdown that several kinds of pages are made of."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Iterable


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    r"""Make a table; a cell may hold Markdown, and no line break.

    >>> table(["a", "b"], [["1", "x|y"]])
    '| a | b |\n|---|---|\n| 1 | x\\|y |\n'
    """
    names = list(head)
    return "".join(map(_row, [names])) + "|---" * len(names) + "|\n" + "".join(map(_row, rows))


def _row(cells: Iterable[str]) -> str:
    shown = (" ".join(cell.split()).replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(shown)} |\n"


def prose(text: str) -> str:
    """Turn a docstring's references and doubled backticks into Markdown's code.

    >>> prose("see :data:`OLDEST` and ``nova/x.py``")
    'see `OLDEST` and `nova/x.py`'
    """
    return re.sub(r"(?::\w+:)?(`+)(.+?)\1", r"`\2`", text, flags=re.DOTALL)
