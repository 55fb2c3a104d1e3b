# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings of any command, in the one form that tickets and pipelines are served from."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import hashlib
import importlib
import os
import re
import typing as t

from ...module_utils._read import files
from ...module_utils._read.errors import InputError
from .._rules.catalog import RULES
from .._rules.exceptions import key_of
from .._rules.rule import Severity, WaiverCase
from .naming import compact

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from .._rules.rule import Finding

PAGES = "https://example.org/pinguard/nova/docs/rules.md"
"""The page of all rules; the code of one, in small letters, is its anchor there."""

FAIL_ON = {"error": 2, "warning": 1, "never": 3}
"""Fail policies, each with the least status that fails."""

_HOSTS = 20
"""Ranges and names of hosts that are shown of one finding."""

_AT_LINE = re.compile(r"(?P<path>.+?):(?P<line>[1-9][0-9]{0,8})", re.DOTALL)
UNSET = "nova.conf"
"""What findings say of an option that is not set: no file of that name is at hand."""
_IN_FILES = ("flavor", "image", "server", "guest", "waiver")
"""Subjects whose files are on the controller."""

_WORDS = re.compile(r"""[\s"',:{}\[\]]+""")
"""What stands between the words of a file of YAML or JSON."""

_AT_KEY = re.compile(r"(?P<path>.+?): (?P<key>.+)", re.DOTALL)
_BY_CODE = {rule.code: rule for rule in RULES}


@dataclasses.dataclass(frozen=True, slots=True)
class Topic:
    """What findings of one code are about: a rule, or a word of the command's own."""

    code: str
    severity: Severity
    title: str
    text: str = ""
    """What it looks for, why, and where it is said so, in Markdown."""

    @property
    def page(self) -> str:
        """Where to read about it."""
        return f"{PAGES}#{self.code.lower()}" if self.code in _BY_CODE else PAGES


@dataclasses.dataclass(frozen=True, slots=True)
class Findings:
    """What a command found, all of it: what is waived or known too."""

    command: str
    status: int
    """0 success, 1 warnings, 2 failure, as of what counts."""
    verdict: str
    found: tuple[Finding, ...]
    subjects: Collection[type] = ()
    """What the rules are about that were run."""
    fail_on: str = "error"
    """The least severity of a finding that fails the run, or ``never``."""

    @property
    def failed(self) -> bool:
        """Whether the run fails."""
        return self.status >= FAIL_ON[self.fail_on]

    def numbered(self) -> Iterator[tuple[Finding, str]]:
        """List the findings, each with a fingerprint of its own that later runs give it again."""
        seen: collections.Counter[object] = collections.Counter()
        for finding in self.found:
            key = (*key_of(finding), finding.subject)
            seen[key] += 1
            text = "\0".join([self.command, *key, str(seen[key])])
            yield finding, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]

    def topics(self) -> tuple[Topic, ...]:
        """List the rules that were run, and what else was found, by code."""
        run = {*self.subjects, WaiverCase}
        found = {rule.code: topic(rule.code) for rule in RULES if rule.subject in run}
        for each in self.found:
            if each.code not in found:
                found[each.code] = topic(each.code) or Topic(each.code, each.severity, each.title)
        return tuple(each for _code, each in sorted(found.items()) if each)

    def fails(self, finding: Finding) -> bool:
        """Whether a finding is a failure: an error, or a warning where that fails the run."""
        warned = self.fail_on == "warning" and finding.severity is Severity.WARNING
        return finding.counts and (warned or finding.severity is Severity.ERROR)


def topic(code: str) -> Topic | None:
    """Give what a rule is about; None for what is no rule."""
    rule = _BY_CODE.get(code)
    if rule is None:
        return None
    page = importlib.import_module(rule.check.__module__).__doc__ or rule.title
    return Topic(code, rule.severity, rule.title, page.strip().replace("``", "`"))


class Place(t.NamedTuple):
    """Where a finding points to."""

    path: str
    line: int = 1
    key: str = ""
    """Key within the file, where it is told by that."""


class Places:
    """The places of findings; the line of a flavor is looked up in its file."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[str, int]] = {}

    def of(self, finding: Finding) -> Place:
        """Tell the place of a finding: where it has none, its subject stands for one.

        A path below the current directory is told relative to it, as pipelines want it.
        """
        where, subject = finding.where, finding.subject
        if where == UNSET:
            where = ""
            if subject == "fleet" and finding.names:
                subject = f"host {finding.names[0]}"
        if found := _AT_LINE.fullmatch(where):
            return Place(_relative(found["path"]), int(found["line"]))
        if found := _AT_KEY.fullmatch(where):
            line = self._line(found["path"], finding.subject)
            return Place(_relative(found["path"]), line, found["key"])
        if "/" in where or "." in where:
            return Place(_relative(where))
        return Place(re.sub(r"[^\w.-]+", "/", subject, flags=re.ASCII).strip("/."))

    def told(self, finding: Finding) -> str:
        """Tell file and line of a finding that is told by a key, and what it says of any other."""
        place = self.of(finding)
        found = place.key and place.line > 1
        return f"{place.path}:{place.line}" if found else finding.where

    def _line(self, path: str, subject: str) -> int:
        """Find the first line that names a flavor, an image or a server; 1 where none does."""
        kind, _rest, name = subject.partition(" ")
        if kind not in _IN_FILES:
            return 1
        name = name.partition(" with image ")[0]
        first, _rest, last = name.rpartition(" (")
        return self._words(path).get(first or last, 1)

    def _words(self, path: str) -> dict[str, int]:
        """Map each word of a file to the first line that has it; none where it cannot be read."""
        if path not in self._lines:
            found: dict[str, int] = {}
            with contextlib.suppress(InputError):
                for number, line in enumerate(files.read_text(path).splitlines(), 1):
                    for word in _WORDS.split(line):
                        found.setdefault(word, number)
            self._lines[path] = found
        return self._lines[path]


def _relative(path: str) -> str:
    if not os.path.isabs(path):
        return path
    inside = os.path.relpath(path)
    return path if inside.startswith(os.pardir) else inside


@functools.lru_cache(maxsize=256)
def hosts_of(names: tuple[str, ...]) -> str:
    """Name the hosts of a finding in short; many findings are about the same thousands."""
    return compact(names, parts=_HOSTS)


def standing(finding: Finding) -> str:
    """Say in short why a finding does not count; "" where it does."""
    if waiver := finding.waiver:
        return f"waived until {waiver.expires.isoformat()} by {waiver.owner}: {waiver.reason}"
    return "known from the baseline" if finding.known else ""


def aside(found: Iterable[Finding]) -> str:
    """Say how many findings do not count, as the end of a verdict; "" where all do."""
    found = tuple(found)
    waived = sum(each.waiver is not None for each in found)
    known = sum(each.known and not each.waiver for each in found)
    parts = [
        f"{number} {word}" for number, word in ((waived, "waived"), (known, "known")) if number
    ]
    return f"; besides {' and '.join(parts)}" if parts else ""
