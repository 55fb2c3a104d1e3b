# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many names in few words."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})([^0-9]*)", re.DOTALL)
_PARTS = 4
"""Ranges and single names that are shown of one list."""


def ranges(names: Iterable[str]) -> list[str]:
    """Join names that count up to ranges; in natural order.

    >>> ranges(["cmp-01", "cmp-03", "cmp-02", "big"])
    ['big', 'cmp-01..cmp-03']
    """
    keyed = sorted({name: _key(name) for name in names}.items(), key=lambda item: item[1])
    result: list[str] = []
    index = 0
    while index < len(keyed):
        last = index
        while last + 1 < len(keyed) and _follows(keyed[last][1], keyed[last + 1][1]):
            last += 1
        if last - index < 2:
            last = index
            result.append(keyed[index][0])
        else:
            result.append(f"{keyed[index][0]}..{keyed[last][0]}")
        index = last + 1
    return result


_Key = tuple[str, str, int, str]


def _key(name: str) -> _Key:
    """Take a name apart at its last number: what is before, after, the number, its digits."""
    found = _NUMBERED.fullmatch(name)
    if not found:
        return name, "", -1, ""
    before, digits, after = found.groups()
    return before, after, int(digits), digits


def _follows(left: _Key, right: _Key) -> bool:
    before, after, number, digits = left
    return number >= 0 and right == (
        before,
        after,
        number + 1,
        str(number + 1).zfill(len(digits)),
    )


def compact(names: Sequence[str], kind: str = "host", parts: int = _PARTS) -> str:
    """Name them in short, with how many they are unless each is spelled out.

    >>> compact(["a1", "a2", "a3"]), compact(["a", "b"])
    ('a1..a3 (3 hosts)', 'a, b')
    """
    found = ranges(names)
    shown = ", ".join(found[:parts]) + (", ..." if len(found) > parts else "")
    count = len(set(names))
    return shown if len(found) == count and count <= parts else f"{shown} ({count} {kind}s)"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Put a noun to a number.

    >>> counted(1, "host"), counted(2, "host"), counted(0, "class", "classes")
    ('1 host', '2 hosts', '0 classes')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
