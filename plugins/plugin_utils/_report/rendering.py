# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The templates of reports."""

from __future__ import annotations

import pathlib
import re
import textwrap
import typing as t

import jinja2

from .naming import compact, counted

if t.TYPE_CHECKING:
    from collections.abc import Iterable

_COMMENT = re.compile(r"(?:^|\s)#(?:\s|$)")

_MARKS = re.compile(r"[\\`*{}\[\]<>#|~&]|(?<![^\W_])_|_(?![^\W_])")
"""What means something in Markdown."""

FOLDER = pathlib.Path(__file__).parent / "templates"


def render(name: str, **values: t.Any) -> str:
    """Fill in a template of :data:`FOLDER`."""
    return _ENVIRONMENT.get_template(name).render(values)


def printable(value: object) -> str:
    r"""Show a value on one line without characters that a terminal would obey.

    >>> printable("a\x1b[2Jb")
    'a?[2Jb'
    """
    text = " ".join(str(value).split())
    return "".join(character if character.isprintable() else "?" for character in text)


def visible(text: str) -> str:
    r"""Put ``?`` for characters that hide others or turn them around; lines stay as they are.

    >>> visible("a\nb\u202ec\x00")
    'a\nb?c?'
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else "?" for each in text)


def wrapped(
    value: str, width: int, first: str = "", rest: str = "", *, several: bool = False
) -> str:
    r"""Break a text in lines of at most ``width`` columns, with what starts the lines.

    What follows ``#`` stays a comment where it is broken. A text of ``several`` lines keeps them;
    of any other, line breaks are blanks, as names may hold them.

    >>> wrapped("reboot x # a\nb", 40)
    'reboot x # a b'
    """
    lines: list[str] = []
    for line in (value.splitlines() if several else [value]) or [""]:
        text = printable(line)
        comment = _has_comment(text)
        parts = textwrap.wrap(
            text,
            max(width, 40) - (len("# ") if comment else 0),
            initial_indent=rest if lines else first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [first.rstrip()]
        commented = False
        for part in parts:
            lines.append(f"{rest}# {part[len(rest) :]}" if commented else part)
            commented = commented or _has_comment(part)
    return "\n".join(lines)


def _has_comment(text: str) -> bool:
    """Say whether a text has a comment; ``#`` in quotes begins none."""
    found = _COMMENT.search(text)
    return found is not None and text.count("'", 0, found.start()) % 2 == 0


def marked(value: object) -> str:
    r"""Show a value on one line of Markdown, as it is; ``_`` within a word means nothing there.

    >>> marked("a_b _c|*")
    'a_b \\_c\\|\\*'
    """
    return _MARKS.sub(r"\\\g<0>", printable(value))


def code(value: str) -> str:
    """Show a text as code in Markdown: one line within a line, several as a block of their own.

    >>> code("echo `id` a")
    '``echo `id` a``'
    """
    lines = [visible(line) for line in value.splitlines()]
    longest = max((len(run) for run in re.findall("`+", value)), default=0)
    if len(lines) > 1:
        fence = "`" * max(longest + 1, 3)
        return "\n".join([fence, *lines, fence])
    text = printable(value)
    edge = " " if text.startswith("`") or text.endswith("`") else ""
    ticks = "`" * (longest + 1)
    return f"{ticks}{edge}{text}{edge}{ticks}" if text else ""


def _padded(cells: Iterable[str], widths: Iterable[int]) -> str:
    return "  ".join(
        printable(cell).ljust(width) for cell, width in zip(cells, widths, strict=True)
    ).rstrip()


_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(FOLDER),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # Plain text, not HTML.
    finalize=lambda value: "" if value is None else value,
)
_ENVIRONMENT.filters.update(
    code=code,
    compact=compact,
    counted=counted,
    marked=marked,
    padded=_padded,
    printable=printable,
    wrapped=wrapped,
)
