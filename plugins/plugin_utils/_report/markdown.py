# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as Markdown, for tickets and merge requests."""

from __future__ import annotations

import typing as t

from . import rendering
from .findings import Places, hosts_of, standing, topic

if t.TYPE_CHECKING:
    from .._rules.rule import Finding
    from .findings import Findings

_NAMES = {
    "flavor_audit": "Flavors and hosts",
    "host_audit": "Hosts",
    "guest_audit": "Running guests",
    "allocation_audit": "Allocations in Placement",
    "restart_check": "Restart of nova-compute",
    "fallback_readiness": "Doing without the fallback query",
    "upgrade_plan": "Rolling upgrade",
}


def render(findings: Findings) -> str:
    """Write the findings: those that say the same of several subjects are put together."""
    places = Places()
    return rendering.render(
        "findings.md.j2",
        title=_NAMES.get(findings.command, findings.command),
        verdict=findings.verdict,
        parts=[
            (title, _groups([each for each in findings.found if each.counts is counts], places))
            for title, counts in (("Findings", True), ("Waived or known", False))
        ],
    )


def _groups(found: list[Finding], places: Places) -> list[dict[str, t.Any]]:
    groups: dict[t.Any, list[Finding]] = {}
    for each in found:
        texts = (each.what, each.effect, each.fix, standing(each))
        groups.setdefault((each.code, each.severity, texts), []).append(each)
    return [
        {
            "severity": severity.value,
            "code": code,
            "title": members[0].title,
            "page": about.page if (about := topic(code)) else "",
            "subjects": [
                {"name": each.subject, "hosts": _on(each), "where": places.told(each)}
                for each in members
            ],
            **dict(zip(("what", "effect", "fix", "standing"), texts, strict=True)),
        }
        for (code, severity, texts), members in groups.items()
    ]


def _on(finding: Finding) -> str:
    """Name the hosts that the subject does not name itself."""
    return "" if finding.subject == f"host {''.join(finding.names)}" else hosts_of(finding.names)
