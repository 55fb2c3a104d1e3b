# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports as one HTML file that needs nothing beside itself.

What is short stands in the page as it is. What grows with the fleet (findings, the table of
flavors by hosts, classes of hosts) stands in it as JSON, which the page's own script shows piece by
piece; without scripts the report as text is shown instead. The policy of the page lets neither any
other script run nor anything be loaded.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import hashlib
import typing as t

import jinja2

from .._rules.audit import new_findings
from .._rules.rule import Severity
from . import cpu_drawing, emulator_report, json_report, text
from .grouping import grouped
from .naming import compact, counted
from .rendering import FOLDER, visible

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .._rules.audit import Audit
    from .cpu_drawing import Change
    from .findings import Findings
    from .grouping import Group

Data = dict[str, t.Any]

TITLES = {
    "flavor_audit": "Audit of flavors and hosts",
    "host_audit": "Audit of hosts",
    "guest_audit": "Audit of running guests",
    "allocation_audit": "Audit of allocations",
    "restart_check": "Check of restarts",
    "fallback_readiness": "Readiness to turn the fallback query off",
    "upgrade_plan": "Plan of a rolling upgrade",
}
"""What pages are called, by command."""

SHOWN_PLACES = 20
"""Places (files and lines) that one finding shows."""
MOST_CELLS = 400_000
"""Cells of the table of flavors by hosts that a page holds; columns beyond it are left out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tile:
    """One number at the top of the page."""

    number: int
    label: str
    kind: str = ""
    """A severity, or what becomes of a boot; "" for a plain number."""


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """One report, ready to be filled in."""

    title: str
    verdict: str
    status: int
    """0 success, 1 warnings, 2 failure."""
    tiles: Sequence[Tile]
    classes: Sequence[Data]
    """Classes of equal hosts: label, names, release, kind, sets and fault."""
    findings: Sequence[Data]
    report: str
    """The report as text, for readers without scripts."""
    maps: cpu_drawing.Maps = dataclasses.field(default_factory=cpu_drawing.Maps)
    matrices: Sequence[Data] = ()
    """Tables of flavors by classes of hosts: now, and at the target release."""
    tables: Sequence[Data] = ()
    """Other tables: id, title, head, rows."""
    subject: str = "flavor"
    """What findings are about, beside hosts; "" where they are not to be narrowed by it."""
    with_hosts: bool = True
    """Whether the classes are known well enough for a table."""
    parts: Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    """What only some reports have, by the name of the template's variable."""


def page(shown: Page) -> str:
    """Fill in the page."""
    style, script = (_source(name) for name in ("report.css", "report.js"))
    data = {
        "classes": shown.classes,
        "findings": shown.findings,
        "matrices": shown.matrices,
        "tables": shown.tables,
        "subject": shown.subject,
        "lettered": shown.with_hosts,
    }
    return _ENVIRONMENT.get_template("report.html.j2").render(
        page=shown,
        words=json_report.WORDS,
        style=style,
        script=script,
        hashes={"style": _hash(style), "script": _hash(script)},
        data=_cleaned(data),
        rules=_rules(shown.findings),
        severities=list(Severity),
        legend=cpu_drawing.legend(shown.maps),
        **{"threads": None, "plan": None, "lists": (), **shown.parts},
    )


def findings_page(
    view: Findings,
    report: str,
    changes: Iterable[Change] = (),
    hosts: Iterable[str] = (),
    **more: t.Any,
) -> str:
    """Show the findings of any command, and what becomes of the CPUs of hosts that are changed.

    ``report`` is the same as text, ``hosts`` come first among those that there are, and ``more``
    are other fields of the page.
    """
    changes = list(changes)
    named = dict.fromkeys(hosts)
    named |= dict.fromkeys(name for each in view.found for name in each.names)
    named |= dict.fromkeys(name for change in changes for name in change.names)
    places = {name: index for index, name in enumerate(named)}
    counts = collections.Counter(each.severity.value for each in view.found if each.counts)
    counts["waived"] = sum(each.waiver is not None for each in view.found)
    counts["known"] = sum(each.known and not each.waiver for each in view.found)
    given: Data = {
        "title": TITLES.get(view.command, view.command),
        "verdict": view.verdict,
        "status": view.status,
        "tiles": list(_counts(counts)),
        "classes": [{"label": name, "names": [name], "hosts": name} for name in named],
        "findings": list(listed(grouped(view.found), places)),
        "report": report,
        "maps": cpu_drawing.changed(changes, places),
        "subject": "",
        "with_hosts": False,
    }
    return page(Page(**{**given, **more}))


def audit_page(
    view: Findings,
    now: Audit,
    then: Audit | None,
    threads: Sequence[emulator_report.Row],
    report: str,
) -> str:
    """Show an audit, as things are and at the target release where one is planned.

    ``report`` is the same as text.
    """
    total = json_report.summary(now)
    labels = [text.label(index) for index in range(len(now.hosts))]
    audits = [(f"now, Nova {now.scheduler.release}", now, now.findings)]
    if then is not None:
        audits.append((f"at Nova {then.scheduler.release}", then, new_findings(now, then)))
    return page(
        Page(
            title=TITLES[view.command],
            verdict=view.verdict,
            status=view.status,
            tiles=list(_tiles(total, with_flavors=bool(now.rows))),
            classes=_classes(now, labels),
            findings=[
                {**each, "when": when if index else ""}
                for index, (when, audit, found) in enumerate(audits)
                for each in listed(grouped(found), _places(now), len(_places(audit)))
            ],
            report=report,
            subject="flavor" if now.rows else "",
            maps=cpu_drawing.maps(now.hosts, labels),
            matrices=[
                {"label": when, **_matrix(audit, _places(now))}
                for when, audit, _found in audits
                if audit.rows
            ],
            parts={"threads": emulator_report.shown(threads, labels)},
        )
    )


def _counts(total: Mapping[str, int]) -> Iterator[Tile]:
    """Count findings: those of each severity, and those that do not count."""
    for severity in Severity:
        yield tile(total[severity.value], severity.value, kind=severity.value)
    for word in ("waived", "known"):
        if total[word]:
            yield Tile(total[word], word)


def _tiles(total: Data, *, with_flavors: bool) -> Iterator[Tile]:
    yield from _counts(total)
    yield tile(total["hosts"], "host")
    yield tile(total["host_classes"], "class of hosts", "classes of hosts")
    if with_flavors:
        yield tile(total["flavors"], "flavor")
        for query, kind in (("primary", "ok"), ("fallback", "fallback")):
            words = f"boot by the {query} query", f"boots by the {query} query"
            yield tile(total[query], *words, kind=kind)
        yield tile(total["refused"], "boot refused", "boots refused", kind="refused")


def tile(number: int, noun: str, nouns: str = "", *, kind: str = "") -> Tile:
    """Make a tile of a number and the noun that goes with it."""
    return Tile(number, counted(number, noun, nouns).partition(" ")[2], kind)


def _places(audit: Audit) -> dict[str, int]:
    """Host to the place of its class."""
    return {name: index for index, case in enumerate(audit.hosts) for name in case.names}


def _classes(audit: Audit, labels: Sequence[str]) -> list[Data]:
    return [
        {
            "label": label,
            "hosts": compact(plain["names"]),
            "names": plain["names"],
            "release": plain["release"],
            "kind": plain["kind"] + (", SMT" if plain["smt"] else ""),
            "shared": plain["shared"] or "",
            "dedicated": plain["dedicated"] or "",
            "fault": str(case.fault) if case.fault else "",
        }
        for label, plain, case in zip(labels, json_report.hosts(audit), audit.hosts, strict=True)
    ]


def listed(groups: Iterable[Group], places: Mapping[str, int], total: int = 0) -> Iterator[Data]:
    """Show groups of findings; those that do not count come last.

    ``places`` has the class of each host; ``total`` is the number of hosts that there are, where a
    finding may be about all of them.
    """
    known: dict[int, tuple[str, list[int]]] = {}
    for group in sorted(groups, key=lambda group: bool(group.standing)):
        key = id(group.hosts)
        if group.kind not in ("flavor", "image") or key not in known:
            everyone = total > 1 and len(set(group.hosts)) == total
            hosts = f"all {total} hosts" if everyone else compact(group.hosts)
            known[key] = hosts, sorted({places[name] for name in group.hosts if name in places})
        yield entry(group, *known[key])


def entry(group: Group, hosts: str, classes: list[int]) -> Data:
    """Show one group of findings, with its hosts in short and by the places of their classes."""
    return {
        "code": group.code,
        "severity": group.severity.value,
        "title": group.title,
        "kind": "of" if group.kind == "fleet" else group.kind,
        "subjects": []
        if group.kind == "host"
        else [each for each in group.subjects if each != "fleet"],
        "hosts": hosts,
        "classes": classes,
        "what": group.what,
        "effect": group.effect,
        "fix": group.fix,
        "where": list(group.where[:SHOWN_PLACES]),
        "standing": group.standing,
        "when": "",
    }


def _rules(found: Iterable[Data]) -> list[tuple[str, str]]:
    """List the rules of findings with their titles, for the filter."""
    return sorted({each["code"]: each["title"] for each in found}.items())


def _matrix(audit: Audit, places: Mapping[str, int]) -> Data:
    """Make the table of flavors by classes of hosts; equal rows and columns stand together.

    Columns name classes by their places in the hosts of today, whatever the audit's own are.
    """
    cells: dict[tuple[str, str, str], int] = {}
    rows: dict[tuple[int, ...], list[str]] = {}
    for case in audit.rows:
        row = tuple(cells.setdefault(cell, len(cells)) for cell in map(_cell, case.outcomes))
        rows.setdefault(row, []).append(emulator_report.named(case))
    columns: dict[tuple[int, ...], set[int]] = {}
    for index, hosts in enumerate(audit.hosts):
        column = tuple(row[index] for row in rows)
        columns.setdefault(column, set()).update(places[name] for name in hosts.names)
    kept = list(columns.items())[: max(1, MOST_CELLS // max(1, len(rows)))]
    return {
        "cells": [{"text": text_, "kind": kind, "why": why} for text_, kind, why in cells],
        "columns": [sorted(members) for _column, members in kept],
        "rows": [
            {"names": names, "cells": list(row)}
            for names, row in zip(
                rows.values(), zip(*(column for column, _rest in kept), strict=True), strict=True
            )
        ],
        "left_out": len(columns) - len(kept),
    }


def _cell(outcome: t.Any) -> tuple[str, str, str]:
    """Show what becomes of a boot: the text, its kind, and why."""
    short = text.cell(outcome)
    if outcome.boots:
        kind = "fallback" if outcome.query == "fallback" else "ok"
        return short, kind, f"boots by the {outcome.query} query"
    return short, "refused", f"refused, {outcome.stage}: {outcome.reason}"


def _source(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hash(source: str) -> str:
    """Name a text in a Content Security Policy: the only inline one that may be used."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def _cleaned(value: t.Any) -> t.Any:
    """Put ``?`` for characters in texts that would change how others are shown."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _cleaned(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(each) for each in value]
    return value


def _final(value: t.Any) -> t.Any:
    if value is None:
        return ""
    markup = not isinstance(value, str) or hasattr(value, "__html__")
    return value if markup else visible(value)


_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(FOLDER),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=True,
    finalize=_final,
)
_ENVIRONMENT.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
_ENVIRONMENT.filters.update(cleaned=_cleaned, compact=compact, counted=counted)
