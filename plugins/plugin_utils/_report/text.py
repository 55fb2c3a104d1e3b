# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of an audit for a terminal."""

from __future__ import annotations

import typing as t

from .._rules.audit import new_findings
from . import emulator_report, rendering
from .cpu_map import WIDTH
from .grouping import grouped
from .json_report import kind, verdict
from .naming import compact

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._nova.outcome import Outcome
    from .._rules.audit import Audit

_ROWS = 60
"""Rows of the table from which on equal ones are folded."""
_FLAVORS = 32
"""Columns that names of flavors may take in the table."""


def report(
    now: Audit,
    then: Audit | None = None,
    width: int = WIDTH,
    threads: Sequence[emulator_report.Row] = (),
) -> str:
    """Write the report: verdict, hosts, table, threads, findings, what a target release changes."""
    return rendering.render(
        "report.txt.j2",
        verdict=verdict(now, then),
        width=width,
        audit=now,
        hosts=_hosts(now),
        table=_Table(now, width) if now.rows else None,
        threads=emulator_report.shown(threads, [label(index) for index in range(len(now.hosts))]),
        groups=grouped(now.findings),
        target=then.scheduler.release if then else "",
        changes=list(_changes(now, then)) if then else [],
        new=grouped(new_findings(now, then)) if then else (),
    )


def label(index: int) -> str:
    """Name the columns A to Z, then AA and on.

    >>> label(0), label(26)
    ('A', 'AA')
    """
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _hosts(audit: Audit) -> list[dict[str, str]]:
    return [
        {
            "label": label(index),
            "names": compact(case.names),
            "kind": f"{kind(case)}{', SMT' if case.host.topology.hyperthreading else ''}",
            "release": case.release.name,
            "fault": str(case.fault) if case.fault else "",
        }
        for index, case in enumerate(audit.hosts)
    ]


def _folded(rows: list[tuple[str, tuple[str, ...]]]) -> list[tuple[str, tuple[str, ...]]]:
    """Put rows with the same cells together."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, cells in rows:
        found.setdefault(cells, []).append(name)
    return [
        (names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more", cells)
        for cells, names in found.items()
    ]


class _Table:
    """Flavors by host classes, cut in bands of columns that a line takes."""

    def __init__(self, audit: Audit, width: int) -> None:
        self.reasons: dict[str, int] = {}
        rows: list[tuple[str, tuple[str, ...]]] = []
        for case in audit.rows:
            cells = tuple(map(self._cell, case.outcomes))
            rows.append((emulator_report.named(case), cells))
        if len(rows) > _ROWS:
            rows = _folded(rows)
        first = min(
            max(map(len, ["flavor", *(name for name, _rest in rows)])), max(_FLAVORS, width // 3)
        )
        names = [name if len(name) <= first else name[: first - 3] + "..." for name, _rest in rows]
        labels = [label(index) for index in range(len(audit.hosts))]
        columns = list(zip(*(cells for _rest, cells in rows), strict=True))
        widths = [
            max(map(len, [text, *column])) for text, column in zip(labels, columns, strict=True)
        ]
        self.bands = []
        start = 0
        while start < len(labels):
            end, left = start, width - first
            while end < len(labels) and (end == start or left >= widths[end] + 2):
                left -= widths[end] + 2
                end += 1
            self.bands.append(
                {
                    "widths": [first, *widths[start:end]],
                    "rows": [
                        ["flavor", *labels[start:end]],
                        *(
                            [name, *cells[start:end]]
                            for name, (_rest, cells) in zip(names, rows, strict=True)
                        ),
                    ],
                }
            )
            start = end

    def _cell(self, outcome: Outcome) -> str:
        short = cell(outcome)
        if outcome.boots or outcome.stage == "startup":
            return short
        number = self.reasons.setdefault(
            f"{outcome.stage}: {outcome.reason}", len(self.reasons) + 1
        )
        return f"{short} [{number}]"


def cell(outcome: Outcome) -> str:
    """Say in a word or two what a guest takes, or which stage refuses it."""
    if outcome.boots:
        unit = "PCPU" if "PCPU" in outcome.allocation else "VCPU"
        return f"{unit}, fallback" if outcome.query == "fallback" else unit
    return "down" if outcome.stage == "startup" else str(outcome.stage)


def _changes(now: Audit, then: Audit) -> Iterator[tuple[str, str, str, str]]:
    """List where the target release boots what is refused now, or the other way round."""
    known = {
        (emulator_report.named(case), host.host.name): outcome
        for case in now.rows
        for host, outcome in zip(case.hosts, case.outcomes, strict=True)
    }
    for case in then.rows:
        found: dict[tuple[str, str], list[str]] = {}
        for host, outcome in zip(case.hosts, case.outcomes, strict=True):
            before = known.get((emulator_report.named(case), host.host.name))
            if before is not None and _short(before) != _short(outcome):
                found.setdefault((_short(before), _short(outcome)), []).extend(host.names)
        for (before_text, after_text), names in found.items():
            yield emulator_report.named(case), compact(names), before_text, after_text


def _short(outcome: Outcome) -> str:
    return f"boots by the {outcome.query} query" if outcome.boots else f"refused ({outcome.stage})"
