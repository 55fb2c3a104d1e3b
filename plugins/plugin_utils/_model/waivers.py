# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings that somebody answers for, and those that an earlier report has."""

from __future__ import annotations

import dataclasses
import datetime
import fnmatch
import typing as t

from ...module_utils._read.errors import InputError, quoted
from . import loading
from .schema import check, plain, within

if t.TYPE_CHECKING:
    from collections.abc import Iterable


@dataclasses.dataclass(frozen=True, slots=True)
class Waiver:
    """One rule that is waived for some subjects, up to a day."""

    rule: str
    reason: str
    owner: str
    expires: datetime.date
    """The last day on which it holds."""
    flavor: tuple[str, ...] = ()
    """Patterns of names; none stands for any. So do the next ones."""
    image: tuple[str, ...] = ()
    guest: tuple[str, ...] = ()
    """Of servers and running guests, by name or id."""
    host: tuple[str, ...] = ()
    host_class: tuple[str, ...] = ()
    """Of any host of a class: all hosts that are equal to it are meant."""
    where: str = ""

    @property
    def scope(self) -> str:
        """Say in short what it is about.

        >>> Waiver("HC-11", "", "", datetime.date.max, host=("a*", "b")).scope
        'host a*, b'
        """
        parts = {
            "flavor": self.flavor,
            "image": self.image,
            "guest": self.guest,
            "host": self.host,
            "host class": self.host_class,
        }
        told = [f"{kind} {', '.join(patterns)}" for kind, patterns in parts.items() if patterns]
        return "; ".join(told) or "everything"


def matches(patterns: Iterable[str], *names: str) -> bool:
    """Whether any of the names matches any of the patterns."""
    return any(fnmatch.fnmatchcase(name, each) for each in patterns for name in names if name)


def read(path: str) -> tuple[Waiver, ...]:
    """Read a file of waivers. Raises ``InputError`` as :func:`waivers` and ``loading.load`` do."""
    return waivers(loading.load(path), path)


def waivers(document: object, where: str = "waivers") -> tuple[Waiver, ...]:
    """Build waivers from their document. Raises ``InputError`` that names the bad key."""
    with within(where):
        given: dict[str, t.Any] = plain(document)
        check(given, "waivers:1")
        return tuple(
            _waiver(each, f"waivers[{index}]", where) for index, each in enumerate(given["waivers"])
        )


def _waiver(given: dict[str, t.Any], at: str, where: str) -> Waiver:
    try:
        expires = datetime.date.fromisoformat(given["expires"])
    except ValueError:
        raise InputError(
            f"{quoted(given['expires'])} is no day", "YYYY-MM-DD", f"{at}.expires"
        ) from None
    scope = {
        kind: (patterns,) if isinstance(patterns, str) else tuple(patterns)
        for kind, patterns in given.get("scope", {}).items()
    }
    return Waiver(
        given["rule"], given["reason"], given["owner"], expires, **scope, where=f"{where}: {at}"
    )
