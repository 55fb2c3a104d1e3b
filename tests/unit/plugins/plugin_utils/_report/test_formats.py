# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every format owes: each finding once, whatever its name, and marked where it is waived."""

from __future__ import annotations

import dataclasses
import datetime
import json
import pathlib
import re
import typing as t
import xml.etree.ElementTree as ET

import hypothesis
import jsonschema
import pytest
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.waivers import Waiver
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import (
    codequality,
    junit,
    markdown,
    sarif,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.findings import (
    Findings,
    Place,
    Places,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import status_of
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import (
    Finding,
    FlavorCase,
    HostCase,
    Severity,
)

FIXTURES = pathlib.Path(__file__).parents[3] / "fixtures"
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((FIXTURES / "sarif-2.1.0.json").read_text(encoding="utf-8"))
)
WAIVER = Waiver("HC-11", "replaced soon", "ops", datetime.date(2027, 3, 31))
HOSTILE = [
    "a|b`c",
    "<script>alert(1)</script>",
    "]]>&amp;",
    "\x00\x1b[2J\ud800\ufffe",
    "x\n# y",
    "*_~",
]


def finding(number: int = 0, **more: t.Any) -> Finding:
    values: dict[str, t.Any] = {
        "code": "HC-11",
        "severity": Severity.ERROR,
        "title": "A core is split",
        "subject": f"host cmp-{number}",
        "names": (f"cmp-{number}",),
        "what": f"core {number} is split",
        "effect": "guests share it",
        "fix": "keep it whole",
        "where": "/etc/nova/nova.conf:3",
    }
    return Finding(**{**values, **more})


def of(*found: Finding, fail_on: str = "error") -> Findings:
    status = status_of(found)
    return Findings("host_audit", status, "FAILURE: it is so.", found, (HostCase,), fail_on)


def results(findings: Findings) -> list[dict[str, t.Any]]:
    log = sarif.document(findings)
    SCHEMA.validate(log)
    found: list[dict[str, t.Any]] = log["runs"][0]["results"]
    return found


def cases(findings: Findings) -> list[ET.Element]:
    return list(ET.fromstring(junit.render(findings)).iter("testcase"))


def test_sarif_names_rule_place_and_text() -> None:
    log = sarif.document(of(finding(), finding(1, where="a b.yml: flavors[3]")))
    SCHEMA.validate(log)
    (run,) = log["runs"]
    first, second = run["results"]
    rule = run["tool"]["driver"]["rules"][first["ruleIndex"]]
    assert rule["id"] == "HC-11"
    assert rule["helpUri"].endswith("/rules.md#hc-11")
    assert "Source:" in rule["help"]["text"]
    assert first["message"]["text"].startswith("host cmp-0: core 0 is split. Then: guests share it")
    (place,) = first["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "file:///etc/nova/nova.conf"},
        "region": {"startLine": 3},
    }
    assert second["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b.yml"


def test_sarif_lists_the_rules_that_found_nothing() -> None:
    rules = sarif.document(of())["runs"][0]["tool"]["driver"]["rules"]
    assert {rule["id"][:2] for rule in rules} == {"HC", "WV"}


def test_sarif_makes_no_links_and_placeholders_of_names() -> None:
    (result,) = results(of(finding(what="[a](http://b) {0}")))
    assert r"[a\](http://b) {{0}}" in result["message"]["text"]


def test_waived_findings_stay_and_are_marked() -> None:
    waived = of(finding(waiver=WAIVER))
    told = "waived until 2027-03-31 by ops: replaced soon"
    (result,) = results(waived)
    assert result["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": told}
    ]
    case = next(each for each in cases(waived) if each.find("skipped") is not None)
    assert case.find("skipped").get("message") == told  # type: ignore[union-attr]
    (issue,) = codequality.document(waived)
    assert (issue["severity"], told in issue["description"]) == ("info", True)
    text = markdown.render(waived)
    assert "## Waived or known" in text
    assert f"- {told}\n" in text
    assert "## Findings" not in text


def test_known_findings_stay_and_are_marked() -> None:
    found = of(finding(known=True), finding(1))
    assert [each["baselineState"] for each in results(found)] == ["unchanged", "new"]
    assert [each["severity"] for each in codequality.document(found)] == ["info", "critical"]
    assert "- known from the baseline\n" in markdown.render(found)


@pytest.mark.parametrize(
    ("fail_on", "severity", "failures"),
    [
        ("error", Severity.ERROR, 1),
        ("error", Severity.WARNING, 0),
        ("warning", Severity.WARNING, 1),
        ("warning", Severity.INFO, 0),
        ("never", Severity.ERROR, 1),
    ],
)
def test_junit_fails_as_the_run_does(fail_on: str, severity: Severity, failures: int) -> None:
    root = ET.fromstring(junit.render(of(finding(severity=severity), fail_on=fail_on)))
    assert root.get("failures") == str(failures)
    assert len(list(root.iter("failure"))) == failures


def test_junit_fails_where_the_run_does_without_any_finding() -> None:
    view = dataclasses.replace(of(fail_on="warning"), status=1)
    root = ET.fromstring(junit.render(view))
    assert root.get("failures") == "1"
    assert [case.get("name") for case in root.iter("testcase") if len(case)] == [view.verdict]
    assert ET.fromstring(junit.render(of(fail_on="never"))).get("failures") == "0"


def test_junit_counts_what_it_holds() -> None:
    root = ET.fromstring(junit.render(of(finding(), finding(1, waiver=WAIVER))))
    for suite in (root, *root):
        assert suite.get("tests") == str(len(list(suite.iter("testcase"))))
        assert suite.get("failures") == str(len(list(suite.iter("failure"))))
        assert suite.get("skipped") == str(len(list(suite.iter("skipped"))))


def test_thousands_of_hosts_are_named_in_short() -> None:
    found = of(finding(names=tuple(f"cmp-{number:05}" for number in range(10_000))))
    for text in (junit.render(found), markdown.render(found)):
        assert "cmp-00000..cmp-09999 (10000 hosts)" in text.replace("\\", "")


def test_fingerprints_stay_while_numbers_change() -> None:
    first = of(finding(what="cores 3-5 are split"), finding(1))
    again = of(finding(1), finding(what="cores 7,9 are split"))
    marks = [each["fingerprint"] for each in codequality.document(first)]
    assert marks == [each["fingerprint"] for each in codequality.document(again)][::-1]


def test_a_place_is_the_line_that_names_the_subject(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "flavors.yml"
    path.write_text("flavors:\n  - name: m1.small\n  - {name: m1, vcpus: 1}\n")
    places = Places()

    def line(subject: str) -> int:
        return places.of(finding(subject=subject, where=f"{path}: flavors[1]")).line

    assert [line("flavor m1"), line("flavor m1 with image x"), line("flavor other")] == [3, 3, 1]
    found = (finding(subject=f"flavor {name}", where=f"{path}: flavors[1]") for name in ("m1", "x"))
    text = markdown.render(of(*found)).replace("\\", "")
    assert f"- of flavor m1 on cmp-0 ({path}:3)\n" in text
    assert f"- of flavor x on cmp-0 ({path}: flavors[1])\n" in text


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("nova.conf", Place("host/cmp-0")),
        ("/proc/irq", Place("/proc/irq")),
        ("/etc/nova/nova.conf:12", Place("/etc/nova/nova.conf", 12)),
        ("", Place("host/cmp-0")),
        ("options", Place("host/cmp-0")),
    ],
)
def test_places(where: str, place: Place) -> None:
    assert Places().of(finding(where=where)) == place


def test_an_option_that_is_not_set_points_to_its_host() -> None:
    unset = finding(subject="fleet", names=("cmp-4",), where="nova.conf")
    assert Places().of(unset) == Place("host/cmp-4")


def test_a_place_in_the_current_directory_is_relative(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Places().of(finding(where=f"{tmp_path}/a/b.conf:2")) == Place("a/b.conf", 2)


TEXTS = st.one_of(st.text(max_size=20), st.sampled_from(HOSTILE))
FOUND = st.builds(
    lambda number, severity, texts, waiver, known: finding(
        number,
        severity=severity,
        subject=f"flavor {texts[0]}",
        what=f"nr{number}nr {texts[1]}",
        effect=texts[2],
        fix=texts[3],
        where=texts[4],
        waiver=waiver and dataclasses.replace(waiver, reason=texts[2]),
        known=known,
    ),
    st.integers(100, 120),
    st.sampled_from(list(Severity)),
    st.lists(TEXTS, min_size=5, max_size=5),
    st.sampled_from([None, WAIVER]),
    st.booleans(),
)


@hypothesis.given(st.lists(FOUND, max_size=5, unique_by=lambda each: each.what.split()[0]))
def test_every_format_has_each_finding_once(found: list[Finding]) -> None:
    findings = of(*found)
    marks = [each.what.split()[0] for each in found]
    shown: dict[str, list[str]] = {
        "sarif": [each["message"]["text"] for each in results(findings)],
        "junit": [str(case.get("name")) for case in cases(findings)],
        "codequality": [each["description"] for each in codequality.document(findings)],
        "markdown": [
            line for line in markdown.render(findings).splitlines() if line.startswith("- what: ")
        ],
    }
    for texts in shown.values():
        for mark in marks:
            assert sum(f"{mark} " in f"{text} " for text in texts) == 1
    prints = [mark for _finding, mark in findings.numbered()]
    assert len(set(prints)) == len(prints)
    for text in (
        sarif.render(findings),
        junit.render(findings),
        codequality.render(findings),
        markdown.render(findings),
    ):
        assert text.encode("utf-8").endswith(b"\n")


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_holds_hostile_names_harmless(name: str) -> None:
    text = markdown.render(of(finding(subject=f"flavor {name}", what=name, fix=name)))
    head, mark, fix = text.partition("- fix:")
    assert not re.search(r"(?<!\\)[`<|]", re.sub(r"\[HC-11\]\([^)]*\)", "", head))
    code = re.fullmatch(r"(`+)([^`].*?[^`])\1", fix.strip(), re.DOTALL)
    assert mark
    assert code
    assert code[1] not in code[2]
    assert not any(line == "# y" for line in text.splitlines())
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", text)


def test_markdown_has_fixes_to_be_copied() -> None:
    one = finding(what="hw:cpu_policy is not set", fix="openstack flavor set a_b # or `c`")
    several = finding(fix="[compute]\ncpu_shared_set = 0-1")
    text = markdown.render(of(one, several))
    assert "- what: hw:cpu_policy is not set\n" in text
    assert "- fix: `` openstack flavor set a_b # or `c` ``\n" in text
    assert "- fix:\n\n  ```\n  [compute]\n  cpu_shared_set = 0-1\n  ```\n" in text


def test_no_name_turns_texts_around() -> None:
    found = of(finding(subject="flavor a\u202eb", what="x\u200b", fix="y\x9b", names=("h\u2066",)))
    (result,) = results(found)
    shown = [
        result["message"]["text"],
        *(each["description"] for each in codequality.document(found)),
        junit.render(found),
        markdown.render(found),
    ]
    for text in shown:
        assert "flavor a?b" in text
        assert text.replace("\n", "").isprintable()


def test_what_is_no_rule_is_told_with_its_title() -> None:
    found = finding(code="fallback-loss", title="Gets worse", subject="fleet")
    view = Findings("fallback_readiness", 1, "v", (found,))
    assert "**error fallback-loss: Gets worse**" in markdown.render(view)
    assert {"fallback-loss"} < {topic.code for topic in view.topics()}
    results(view)


def test_flavor_rules_are_those_of_flavors() -> None:
    view = Findings("flavor_audit", 0, "v", (), (FlavorCase,))
    assert {topic.code[:2] for topic in view.topics()} == {"FL", "WV"}
