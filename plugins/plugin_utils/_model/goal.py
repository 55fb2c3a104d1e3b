# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a rolling upgrade is to lead, and what must hold on the way."""

from __future__ import annotations

import dataclasses
import fnmatch
import typing as t

from ...module_utils._read.errors import InputError, quoted
from .schema import check, plain, within
from .wish import explicit_sets
from .wish import wish as read_wish

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from .wish import ExplicitSets, Wish


@dataclasses.dataclass(frozen=True, slots=True)
class Selector:
    """Hosts by patterns of their names, and the sets that they are to have."""

    match: tuple[str, ...]
    wanted: Wish | ExplicitSets

    def selects(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.match)


@dataclasses.dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a rolling upgrade."""

    release: str = ""
    """Nova release to reach; "" to stay."""
    hosts: tuple[Selector, ...] = ()
    """Sets of the hosts that are to change; the first selector of a host counts."""
    batch_size: int = 1
    """Hosts that are out at once."""
    spare: int = 0
    """Further guests of each flavor in use that must find room while a batch is out."""
    leave: frozenset[str] = frozenset()
    """Hosts to leave as they are."""
    live: bool = False
    """Migrate servers live where Nova can; otherwise, and where it cannot, they are migrated cold.
    """
    disable_fallback: bool = True
    """Turn the fallback query off in the end."""


def goal(document: object, names: Iterable[str], where: str = "goal") -> Goal:
    """Build a goal from its document; ``names`` are those of the hosts that there are.

    Raises ``InputError`` that names the key, also for a pattern that matches no host.
    """
    known = frozenset(names)
    with within(where):
        given: dict[str, t.Any] = plain(document)
        check(given, "goal:1")
        selectors = []
        for index, entry in enumerate(given.get("hosts", ())):
            at = f"hosts[{index}]"
            match = entry["match"]
            patterns = tuple(match) if isinstance(match, list) else (match,)
            for pattern in patterns:
                if not any(fnmatch.fnmatchcase(name, pattern) for name in known):
                    raise InputError(f"{quoted(pattern)} matches no host", "names of hosts", at)
            wanted = (
                read_wish(entry["wish"], f"{at}.wish")
                if "wish" in entry
                else explicit_sets(entry["sets"], f"{at}.sets")
            )
            selectors.append(Selector(patterns, wanted))
        leave = frozenset(given.get("leave", ()))
        if leave - known:
            stray = quoted(min(leave - known))
            raise InputError(f"there is no host {stray}", "names of hosts", "leave")
    return Goal(
        str(given.get("release", "")),
        tuple(selectors),
        given.get("batch_size", 1),
        given.get("spare", 0),
        leave,
        given.get("live", False),
        given.get("disable_fallback", True),
    )
