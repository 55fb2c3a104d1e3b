# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one exception of everything that reads input, and how it shows texts."""

from __future__ import annotations

_SHOWN = 80


def quoted(value: object) -> str:
    """Quote ``value`` for a message: on one line, cut after 80 characters."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of very many digits"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def one_line(text: str) -> str:
    """Put a text on one line of printable characters."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))


class InputError(ValueError):
    """Input that cannot be used; its text is one line of printable characters.

    ``where`` names the file (with ``:line``) or the key, ``what`` says what was wrong, ``accepted``
    what would have been right.
    """

    def __init__(self, what: str, accepted: str = "", where: str = "") -> None:
        self.what = what
        self.accepted = accepted
        self.where = where
        text = what + (f"; accepted: {accepted}" if accepted else "")
        super().__init__(one_line(f"{where}: {text}" if where else text))

    def at(self, where: str) -> InputError:
        """Give the same error, told of ``where`` (put before what it knew)."""
        joined = f"{where}: {self.where}" if self.where else where
        return type(self)(self.what, self.accepted, joined)
