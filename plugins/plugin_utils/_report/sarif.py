# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as SARIF 2.1.0, which code scanning and editors show beside the lines.

Source: Static Analysis Results Interchange Format (SARIF) Version 2.1.0, OASIS Standard.
"""

from __future__ import annotations

import json
import re
import typing as t
import urllib.parse

from .._rules.rule import Severity
from .findings import Places, standing
from .rendering import visible

if t.TYPE_CHECKING:
    from .._rules.rule import Finding
    from .findings import Findings, Place, Topic

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_HOSTS = 100
"""Names of hosts that a result lists."""


def render(findings: Findings) -> str:
    """Write the findings."""
    return json.dumps(document(findings), indent=1) + "\n"


def document(findings: Findings) -> dict[str, t.Any]:
    """Make the log: one run with the rules that were run and a result for each finding."""
    topics = findings.topics()
    index = {topic.code: number for number, topic in enumerate(topics)}
    places = Places()
    baseline = any(each.known for each in findings.found)
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "pinguard.nova",
                        "informationUri": "https://example.org/pinguard/nova",
                        "rules": [_rule(topic) for topic in topics],
                    }
                },
                "automationDetails": {"id": f"pinguard.nova/{findings.command}/"},
                "invocations": [{"executionSuccessful": True}],
                "properties": {"status": findings.status, "verdict": findings.verdict},
                "results": [
                    _result(each, mark, index[each.code], places.of(each), baseline=baseline)
                    for each, mark in findings.numbered()
                ],
            }
        ],
    }


def _rule(topic: Topic) -> dict[str, t.Any]:
    text = topic.text or topic.title
    return {
        "id": topic.code,
        "shortDescription": {"text": topic.title},
        "fullDescription": {"text": text.partition("\n\n")[0]},
        "help": {"text": text.replace("`", ""), "markdown": text},
        "helpUri": topic.page,
        "defaultConfiguration": {"level": _LEVELS[topic.severity]},
    }


def _result(
    finding: Finding, mark: str, index: int, place: Place, *, baseline: bool
) -> dict[str, t.Any]:
    result: dict[str, t.Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {
            "text": _message(
                f"{finding.subject}: {finding.what}. Then: {finding.effect}. Fix: {finding.fix}"
            )
        },
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(place.path)},
                    "region": {"startLine": place.line},
                },
                "logicalLocations": [{"fullyQualifiedName": finding.subject, "kind": "resource"}],
            }
        ],
        "partialFingerprints": {"pinguard/v1": mark},
        "properties": {
            "effect": finding.effect,
            "fix": finding.fix,
            "hosts": list(finding.names[:_HOSTS]),
            "hostCount": len(finding.names),
        },
    }
    if finding.waiver:
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": standing(finding)}
        ]
    if baseline:
        result["baselineState"] = "unchanged" if finding.known else "new"
    return result


def _message(text: str) -> str:
    """Keep a text from being taken for links and placeholders (sections 3.11.5 and 3.11.6)."""
    return re.sub(r"\{([0-9]+)\}", r"{{\1}}", visible(text).replace("](", r"\]("))


def _uri(path: str) -> str:
    quoted = urllib.parse.quote(path, safe="/", errors="replace")
    return f"file://{quoted}" if path.startswith("/") else quoted
