# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as JUnit XML, which every pipeline server shows.

Each rule that was run is a test suite. Each of its findings is a test case: it fails where the run
fails over it, is skipped where it is waived or known, and else passes with its text as output. A
rule that found nothing is one case that passes. A run may fail without any finding, as over what
could not be read: then the verdict is a case of its own.
"""

from __future__ import annotations

import typing as t
import xml.etree.ElementTree as ET

from .findings import hosts_of, standing
from .rendering import visible

if t.TYPE_CHECKING:
    from .._rules.rule import Finding
    from .findings import Findings, Topic


def render(findings: Findings) -> str:
    """Write the findings."""
    root = ET.Element("testsuites", {"name": f"pinguard.nova.{findings.command}"})
    by_code: dict[str, list[Finding]] = {}
    for finding in findings.found:
        by_code.setdefault(finding.code, []).append(finding)
    for topic in findings.topics():
        _suite(root, topic, by_code.get(topic.code, []), findings)
    if findings.failed and not any(map(findings.fails, findings.found)):
        _verdict(root, findings)
    for name in ("tests", "failures", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("errors", "0")
    ET.indent(root, " ")
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, topic: Topic, found: list[Finding], findings: Findings) -> None:
    suite = ET.SubElement(
        root,
        "testsuite",
        {
            "name": f"{topic.code}: {topic.title}",
            "tests": str(max(1, len(found))),
            "failures": str(sum(map(findings.fails, found))),
            "errors": "0",
            "skipped": str(sum(not each.counts for each in found)),
        },
    )
    for finding in found:
        case = _case(suite, topic.code, f"{finding.subject}: {finding.what}", findings)
        if findings.fails(finding):
            attributes = {"type": finding.severity.value, "message": visible(finding.what)}
            ET.SubElement(case, "failure", attributes).text = _text(finding)
        elif finding.counts:
            told = f"{finding.severity.value}: {_text(finding)}"
            ET.SubElement(case, "system-out").text = told
        else:
            ET.SubElement(case, "skipped", {"message": visible(standing(finding))})
            ET.SubElement(case, "system-out").text = _text(finding)
    if not found:
        _case(suite, topic.code, "nothing found", findings)


def _verdict(root: ET.Element, findings: Findings) -> None:
    about = {"name": "verdict", "tests": "1", "failures": "1", "errors": "0", "skipped": "0"}
    case = _case(ET.SubElement(root, "testsuite", about), "verdict", findings.verdict, findings)
    ET.SubElement(case, "failure", {"type": "verdict", "message": visible(findings.verdict)})


def _case(suite: ET.Element, code: str, name: str, findings: Findings) -> ET.Element:
    about = {"classname": f"{findings.command}.{visible(code)}", "name": visible(name), "time": "0"}
    return ET.SubElement(suite, "testcase", about)


def _text(finding: Finding) -> str:
    lines = [
        finding.title,
        f"what: {finding.what}",
        f"then: {finding.effect}",
        f"fix: {finding.fix}",
    ]
    if finding.names:
        lines.append(f"on: {hosts_of(finding.names)}")
    if finding.where:
        lines.append(f"see: {finding.where}")
    return visible("\n".join(lines))
