# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings that do not count: those that are waived, and those that an earlier report has.

They are marked and stay where they are.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ...module_utils._read.errors import InputError, quoted
from .._model.waivers import matches
from .audit import BY_SUBJECT, NAME, findings, parted, ranked, split
from .catalog import RULES
from .rule import WaiverCase

if t.TYPE_CHECKING:
    import datetime
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from .._model.host import HostClass
    from .._model.waivers import Waiver
    from .rule import Finding

Key = tuple[str, str, str]
"""Code, subject and what is wrong, without what changes from day to day."""

_NUMBERS = re.compile(r"[0-9][0-9,.-]*")
_CODES = {rule.code: rule.subject for rule in RULES}


def key(code: str, subject: str, what: str, names: Collection[str] = ()) -> Key:
    """Tell findings apart that another run finds again, with other numbers.

    Hosts are told by the ``names`` of a finding: which of them is the first of its class, and so
    in the words, may change.

    >>> key("HC-11", "host cmp-01", "cores 3-5 are split")
    ('HC-11', 'host', 'cores # are split')
    """
    kind, _rest, name = subject.partition(" ")
    if code in BY_SUBJECT:
        return code, subject, ""
    if kind == "host" and name:
        what = what.replace(name, "#")
    elif kind == "fleet":
        hosts = frozenset(names)
        what = NAME.sub(lambda found: "#" if found[0] in hosts else found[0], what)
    return code, kind if kind == "host" else subject, _NUMBERS.sub("#", what)


def key_of(finding: Finding) -> Key:
    """Tell a finding apart as :func:`key` does."""
    return key(finding.code, finding.subject, finding.what, finding.names)


@dataclasses.dataclass(frozen=True, slots=True)
class Baseline:
    """The findings of an earlier report, each with the hosts that it is about."""

    now: Mapping[Key, Collection[str]]
    then: Mapping[Key, Collection[str]]
    """Those, and the ones at the target release of that report where it has one."""
    held: Mapping[Key, Collection[str]] = dataclasses.field(default_factory=dict)
    """All of these, and those that were waived: for the ones that are waived today too."""


class Exceptions:
    """Waivers and a baseline over the findings of one run; remembers which waivers are used."""

    def __init__(
        self,
        waivers: Iterable[Waiver],
        today: datetime.date,
        baseline: Baseline | None = None,
    ) -> None:
        """Take the exceptions. Raises ``InputError`` for one of no rule, or of waivers."""
        self._today = today
        self._baseline = baseline
        self._used: set[Waiver] = set()
        self._grouped: tuple[Sequence[HostClass], list[frozenset[str]]] = ((), [])
        self._waivers: dict[str, list[Waiver]] = {}
        for waiver in waivers:
            if waiver.rule not in _CODES:
                raise InputError(
                    f"there is no rule {quoted(waiver.rule)}", "a code such as HC-11", waiver.where
                )
            if _CODES[waiver.rule] is WaiverCase:
                raise InputError(
                    f"{waiver.rule} is about waivers, which are mended or deleted",
                    "another rule",
                    waiver.where,
                )
            self._waivers.setdefault(waiver.rule, []).append(waiver)

    def marked(
        self,
        found: Iterable[Finding],
        classes: Sequence[HostClass] = (),
        *,
        target: bool = False,
    ) -> tuple[Finding, ...]:
        """Mark what is waived and what is known.

        A finding about hosts of which only some are excepted becomes several. ``classes`` are
        those of the fleet; ``target`` says that the findings are those at the target release.
        """
        known: Mapping[Key, Collection[str]] = {}
        held = known
        if self._baseline:
            known = self._baseline.then if target else self._baseline.now
            held = self._baseline.held
        groups = self._groups(classes) if self._waivers else []
        return tuple(
            part
            for finding in found
            for piece in self._waived(finding, groups)
            for part in _known(piece, held if piece.waiver else known)
        )

    def faults(self, subjects: Collection[type]) -> tuple[Finding, ...]:
        """Find what is wrong with the waivers whose rules are about any of ``subjects``.

        Others say nothing of a run that could not find what they waive.
        """
        return ranked(
            finding
            for code, waivers in self._waivers.items()
            if _CODES[code] in subjects
            for waiver in waivers
            for finding in findings(
                WaiverCase(waiver, self._today, waiver in self._used), f"waiver {code}"
            )
        )

    def _groups(self, classes: Sequence[HostClass]) -> list[frozenset[str]]:
        """Give the names of each class; many calls in a row are about the same classes."""
        if self._grouped[0] is not classes:
            self._grouped = classes, [frozenset(each.names) for each in classes]
        return self._grouped[1]

    def _waived(self, finding: Finding, groups: list[frozenset[str]]) -> Iterator[Finding]:
        left = finding
        for waiver in self._waivers.get(finding.code, ()):
            if not _about(waiver, left):
                continue
            names = _hosts(waiver, left, groups)
            if names is None:
                continue
            self._used.add(waiver)
            if self._today > waiver.expires:
                continue
            taken, rest = split(left, names)
            yield dataclasses.replace(taken, waiver=waiver)
            if rest is None:
                return
            left = rest
        yield left


def _about(waiver: Waiver, finding: Finding) -> bool:
    """Whether the finding's subject is in the scope of the waiver, its hosts aside."""
    kind, _rest, name = finding.subject.partition(" ")
    flavor, _rest, image = name.partition(" with image ")
    named = {
        "flavor": (flavor,) if kind == "flavor" else (),
        "image": (image,) if kind == "flavor" else (name,) if kind == "image" else (),
        "guest": _of_guest(name) if kind in ("guest", "server", "consumer") else (),
    }
    return all(
        matches(patterns, *names)
        for what, names in named.items()
        if (patterns := getattr(waiver, what))
    )


def _of_guest(name: str) -> tuple[str, ...]:
    """Split ``NAME (ID)``; a consumer has its id alone."""
    first, _rest, last = name.rpartition(" (")
    return (first, last.removesuffix(")")) if first else (name,)


def _hosts(waiver: Waiver, finding: Finding, groups: list[frozenset[str]]) -> frozenset[str] | None:
    """Choose the hosts of the finding that are in the scope; None where that does not do."""
    if not waiver.host and not waiver.host_class:
        return frozenset(finding.names)
    names = frozenset(finding.names)
    if waiver.host_class:
        matched = [group for group in groups if matches(waiver.host_class, *group)]
        names &= frozenset().union(*matched)
    if waiver.host:
        names = frozenset(name for name in names if matches(waiver.host, name))
    whole = names.issuperset(finding.names)
    return names if names and (whole or finding.subject.startswith("host ")) else None


def _known(finding: Finding, known: Mapping[Key, Collection[str]]) -> Iterator[Finding]:
    old, new = parted(finding, known.get(key_of(finding)))
    if old is not None:
        yield dataclasses.replace(old, known=True)
    if new is not None:
        yield new
