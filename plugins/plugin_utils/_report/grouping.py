# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings that say the same of several flavors or hosts, put together."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .findings import standing

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from .._rules.rule import Finding, Severity

_KINDS = ("flavor", "image", "host")


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """Findings that differ in nothing but the names of what they are about."""

    code: str
    severity: Severity
    title: str
    kind: str
    """``flavor``, ``image``, ``guest``, ``host`` or ``fleet``."""
    subjects: tuple[str, ...]
    """Names of the subjects, each once."""
    hosts: tuple[str, ...]
    what: str
    effect: str
    fix: str
    """Holds a placeholder for the name where there are several: ``FLAVOR``, ``HOST``."""
    where: tuple[str, ...]
    standing: str = ""
    """Why they do not count; "" where they do."""


def grouped(findings: Iterable[Finding]) -> tuple[Group, ...]:
    """Group findings, in the order of the first of each group."""
    found: dict[t.Any, list[tuple[str, Finding]]] = {}
    for finding in findings:
        kind, name, label = _subject(finding)
        key = (
            finding.code,
            finding.severity,
            kind,
            *(_masked(text, name, kind) for text in (finding.what, finding.effect, finding.fix)),
            () if kind == "host" else finding.names,
            standing(finding),
        )
        found.setdefault(key, []).append((label, finding))
    return tuple(_group(key, members) for key, members in found.items())


def _subject(finding: Finding) -> tuple[str, str, str]:
    """Split a subject in its kind, the name that texts may hold, and what lists show."""
    kind, _rest, name = finding.subject.partition(" ")
    if kind not in _KINDS:
        return "fleet", "", finding.subject
    return kind, name.partition(" with image ")[0], name


def _masked(text: str, name: str, kind: str) -> str:
    if not name:
        return text
    return re.sub(rf"(?<![\w.:-]){re.escape(name)}(?![\w.:-])", kind.upper(), text)


def _group(key: t.Any, members: list[tuple[str, Finding]]) -> Group:
    code, severity, kind, *texts, _names, aside = key
    first = members[0][1]
    what, effect, fix = texts if len(members) > 1 else (first.what, first.effect, first.fix)
    if kind == "host":
        hosts = tuple(name for _rest, finding in members for name in finding.names)
    else:
        hosts = first.names
    return Group(
        code,
        severity,
        first.title,
        kind,
        tuple(dict.fromkeys(label for label, _rest in members)),
        hosts,
        what,
        effect,
        fix,
        tuple(dict.fromkeys(finding.where for _rest, finding in members if finding.where)),
        aside,
    )
