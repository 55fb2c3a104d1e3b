# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as a GitLab Code Quality report, which merge requests show.

What is waived or known is there as ``info``. Source: GitLab documentation, Code Quality, custom
tools.
"""

from __future__ import annotations

import json
import typing as t

from .._rules.rule import Severity
from .findings import Places, standing
from .rendering import visible

if t.TYPE_CHECKING:
    from .._rules.rule import Finding
    from .findings import Findings

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(findings: Findings) -> str:
    """Write the findings."""
    return json.dumps(document(findings), indent=1) + "\n"


def document(findings: Findings) -> list[dict[str, t.Any]]:
    """Make the list of issues."""
    places = Places()
    result = []
    for finding, mark in findings.numbered():
        place = places.of(finding)
        result.append(
            {
                "description": _description(finding),
                "check_name": finding.code,
                "fingerprint": mark,
                "severity": _SEVERITIES[finding.severity] if finding.counts else "info",
                "location": {"path": place.path, "lines": {"begin": place.line}},
            }
        )
    return result


def _description(finding: Finding) -> str:
    aside = standing(finding)
    text = f"{finding.subject}: {finding.what}. Then: {finding.effect}. Fix: {finding.fix}"
    return visible(f"({aside}) {text}" if aside else text)
