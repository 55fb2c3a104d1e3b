# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit of running guests as an HTML page."""

from __future__ import annotations

import itertools
import typing as t

from ...module_utils._read.cpu_list import ids, mask, to_text
from . import cpu_drawing, html_report

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .._plan.guest_audit import GuestAudit, GuestLook
    from .findings import Findings
    from .grouping import Group

Data = dict[str, t.Any]


def page(
    view: Findings,
    found: GuestAudit,
    told: Mapping[str, t.Any],
    groups: Iterable[Group],
    table: Sequence[Sequence[str]],
    report: str,
) -> str:
    """Fill in the page.

    ``told`` are the parts of the report as text, ``groups`` all findings; ``table`` has a head, and
    a row for each guest in the order of ``found.looks``.
    """
    head, *rows = table
    places = {name: index for index, name in enumerate(found.hosts)}
    guests = {
        "id": "guests",
        "title": "Guests",
        "note": told["legend"],
        "head": ["host", *head],
        "rows": [
            {
                "classes": [places[look.case.domain.host]],
                "names": [look.name, look.case.domain.id],
                "cells": [look.case.domain.host, *(cell or "-" for cell in row)],
            }
            for look, row in zip(found.looks, rows, strict=True)
        ],
    }
    return html_report.findings_page(
        view,
        report,
        classes=[{"label": name, "names": [name], "hosts": name} for name in found.hosts],
        findings=list(html_report.listed(groups, places)),
        tables=[guests] if rows else [],
        maps=_maps(found.looks, places),
        subject="guest",
        parts={"lists": list(_lists(told))},
    )


def _maps(looks: Sequence[GuestLook], places: Mapping[str, int]) -> cpu_drawing.Maps:
    """Draw each host with guests: who is pinned where, and whose emulator threads run where."""
    drawn: list[cpu_drawing.Map] = []
    more = 0
    for host, members in itertools.groupby(looks, lambda look: look.case.domain.host):
        if len(drawn) == cpu_drawing.MOST:
            more += 1
            continue
        pinned: dict[int, list[str]] = {}
        emulators: dict[int, list[str]] = {}
        owners = []
        for look in members:
            case = look.case.host
            xml = look.case.domain.xml
            pins = xml.pins if xml else {}
            for vcpu, cpu in sorted(pins.items()):
                pinned.setdefault(cpu, []).append(f"{look.name} vCPU {vcpu}")
            cpus = look.emulator["threads"]
            cpus = look.emulator["live"] if cpus is None else cpus
            for cpu in ids(cpus or 0):
                emulators.setdefault(cpu, []).append(look.name)
            owners.append(
                f"{look.name}: vCPUs pinned to {to_text(mask(pins.values())) or 'no CPU'}, "
                f"emulator threads on {'unknown CPUs' if cpus is None else to_text(cpus) or 'none'}"
            )
        drawing = cpu_drawing.drawing(case, pinned, emulators)
        drawn.append(cpu_drawing.Map(host, (places[host],), drawing, owners=tuple(owners)))
    return cpu_drawing.Maps(tuple(drawn), more)


def _lists(told: Mapping[str, t.Any]) -> Iterator[Data]:
    """Make the sections of what guests need, what flavors can do, and what differs."""
    needs = [
        {
            "title": need.title,
            "lines": [f"and so on for {need.more} more, each as in the JSON report"]
            if need.more
            else [],
            "code": need.commands,
            "rows": [],
        }
        for need in told["needs"]
    ]
    firsts = [
        {
            "title": first.title,
            "lines": [f"{label}: {line}" for label, line in first.lines if label != "run"],
            "code": [line for label, line in first.lines if label == "run"],
            "rows": [],
        }
        for first in told["firsts"]
    ]
    differing = [
        {"title": diff.title, "lines": list(diff.notes), "code": [], "rows": diff.rows}
        for part in told["compared"]
        for diff in part.shown
    ]
    unread = [
        {"title": names, "lines": [line], "code": [], "rows": []} for names, line in told["unread"]
    ]
    if told["inferred"]:
        unread.append({"title": "Inferred", "lines": [told["inferred"]], "code": [], "rows": []})
    for name, title, note, entries in (
        ("needs", "What they need", "", needs),
        ("first", "What the flavor can do first", told["embedded"], firsts),
        ("differs", "Where the XMLs differ", "", differing),
        ("unread", "What is not known", "Neither sound nor faulty.", unread),
    ):
        if entries:
            yield {"id": name, "title": title, "note": note, "entries": entries}
