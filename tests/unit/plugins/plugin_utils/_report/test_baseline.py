# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waivers and baselines through every command, on the bundled examples."""

from __future__ import annotations

import datetime
import json
import pathlib
import typing as t

import jsonschema
import pytest
import yaml

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import Sources
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import run
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.allocation_report import (
    allocation_audit,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.baseline import baseline
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.guest_report import guest_audit
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.restart_report import (
    Proposed,
    restart_check,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import TODAY

EXAMPLES = pathlib.Path(__file__).parents[5] / "examples"
SCHEMAS = pathlib.Path(run.__file__).parent / "schemas"
SARIF = pathlib.Path(__file__).parents[3] / "fixtures/sarif-2.1.0.json"


def told(**more: t.Any) -> Sources:
    paths = {
        "facts": str(EXAMPLES / "facts"),
        **{name: str(EXAMPLES / f"{name}.yml") for name in ("flavors", "images", "servers")},
        "guests": str(EXAMPLES / "guests"),
    }
    return Sources("27.1.0", **{**paths, **more})


def misplaced() -> list[dict[str, t.Any]]:
    """Give the example's servers, all of them with VCPU in Placement."""
    document = yaml.safe_load((EXAMPLES / "servers.yml").read_text(encoding="utf-8"))
    for server in document["servers"]:
        server["allocation"] = {"VCPU": 1}
    return [document]


COMMANDS: dict[str, tuple[str, t.Callable[[run.Output], dict[str, t.Any]]]] = {
    "flavor_audit": ("report", lambda output: run.flavor_audit(told(), output)),
    "flavor_audit ahead": ("report", lambda output: run.flavor_audit(told(), output, "34.0.0")),
    "host_audit": ("report", lambda output: run.host_audit(told(), output)),
    "guest_audit": ("guests_report", lambda output: guest_audit(told(), output)),
    "allocation_audit": (
        "allocations",
        lambda output: allocation_audit(told(servers=misplaced()), output),
    ),
    "restart_check": (
        "restart",
        lambda output: restart_check(told(), Proposed({"compute.cpu_shared_set": "0"}), output),
    ),
}


@pytest.fixture(params=COMMANDS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def reported(
    name: str, folder: pathlib.Path, waivers: pathlib.Path | None, known: pathlib.Path | None
) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
    """Run a command: its result, and its report as JSON."""
    schema, command = COMMANDS[name]
    folder.mkdir()
    paths = {option: str(folder / option) for option in run.PATHS if option != "html_path"}
    given = [str(path) if path else None for path in (waivers, known)]
    exceptions = run.exceptions(given[0], given[1], (str(folder),), TODAY)
    result = command(run.Output("warning", paths, exceptions=exceptions))
    document = json.loads((folder / "json_path").read_text())
    form = json.loads((SCHEMAS / f"{schema}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(form).validate(document)
    sarif = json.loads(SARIF.read_text(encoding="utf-8"))
    log = json.loads((folder / "sarif_path").read_text())
    jsonschema.Draft202012Validator(sarif).validate(log)
    return result, document


def found(document: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """List the findings of a report, wherever it has them."""
    return [
        *document.get("findings", []),
        *(each for host in document.get("hosts", ()) for each in host.get("findings", [])),
        *document.get("waivers", []),
        *((document.get("target") or {}).get("new", [])),
    ]


def test_nothing_of_a_report_is_new_to_itself(name: str, tmp_path: pathlib.Path) -> None:
    before, first = reported(name, tmp_path / "a", None, None)
    after, second = reported(name, tmp_path / "b", None, tmp_path / "a" / "json_path")
    assert before["failed"]
    assert len(found(second)) == len(found(first))
    assert all(each["known"] for each in found(second))
    unread = name == "guest_audit"
    assert (after["status"], "failed" in after) == ((1, True) if unread else (0, False))
    assert "known" in second["verdict"]
    assert "but   known from the baseline" in after["report"]


def test_what_is_waived_stays_and_does_not_count(name: str, tmp_path: pathlib.Path) -> None:
    _result, first = reported(name, tmp_path / "a", None, None)
    codes = sorted({each["code"] for each in found(first)})
    waivers = [
        {"rule": code, "reason": "so", "owner": "ops", "expires": TODAY.isoformat()}
        for code in codes
    ]
    path = tmp_path / "waivers.yml"
    path.write_text(yaml.safe_dump({"waivers": waivers}))
    result, second = reported(name, tmp_path / "b", path, None)
    assert len(found(second)) == len(found(first))
    assert all(each["waived"]["owner"] == "ops" for each in found(second))
    assert result["status"] == (1 if name == "guest_audit" else 0)
    assert "waived" in second["verdict"]
    assert "but   waived until 2026-11-30 by ops: so" in result["report"]
    for option in ("junit_path", "codequality_path", "markdown_path", "sarif_path"):
        assert "waived until 2026-11-30 by ops: so" in (tmp_path / "b" / option).read_text()


def test_what_was_waived_is_not_known(name: str, tmp_path: pathlib.Path) -> None:
    _result, first = reported(name, tmp_path / "a", None, None)
    code = found(first)[0]["code"]
    waiver = {"rule": code, "reason": "so", "owner": "ops", "expires": TODAY.isoformat()}
    path = tmp_path / "waivers.yml"
    path.write_text(yaml.safe_dump({"waivers": [waiver]}))
    reported(name, tmp_path / "b", path, None)
    _result, later = reported(name, tmp_path / "c", None, tmp_path / "b" / "json_path")
    assert {each["code"] for each in found(later) if not each["known"]} == {code}


def test_what_is_waived_is_unchanged_where_the_baseline_has_it(
    name: str, tmp_path: pathlib.Path
) -> None:
    _result, first = reported(name, tmp_path / "a", None, None)
    code = found(first)[0]["code"]
    waiver = {"rule": code, "reason": "so", "owner": "ops", "expires": TODAY.isoformat()}
    path = tmp_path / "waivers.yml"
    path.write_text(yaml.safe_dump({"waivers": [waiver]}))
    reported(name, tmp_path / "b", path, None)
    for before in "ab":
        folder = tmp_path / f"after-{before}"
        reported(name, folder, path, tmp_path / before / "json_path")
        results = json.loads((folder / "sarif_path").read_text())["runs"][0]["results"]
        assert {each["baselineState"] for each in results} == {"unchanged"}
        assert any("suppressions" in each for each in results)


def test_a_copy_of_a_host_and_one_that_is_mended_make_nothing_else_new(
    tmp_path: pathlib.Path,
) -> None:
    reported("flavor_audit", tmp_path / "a", None, None)
    facts = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in (EXAMPLES / "facts").glob("*.json")
    }
    facts["aaa"] = facts["cmp-05"]
    facts["cmp-08"] = facts["cmp-05"]
    exceptions = run.exceptions(None, str(tmp_path / "a" / "json_path"), (), TODAY)
    output = run.Output("never", {}, exceptions=exceptions)
    result = run.flavor_audit(told(facts=None, named=facts), output)
    fresh = [each for each in result["findings"] if not each["known"]]
    assert fresh
    assert {each["hosts"] for each in fresh} <= {"aaa", "cmp-08", "aaa, cmp-08"}


def test_an_expired_waiver_is_found_in_every_report(name: str, tmp_path: pathlib.Path) -> None:
    _result, first = reported(name, tmp_path / "a", None, None)
    day = (TODAY - datetime.timedelta(days=1)).isoformat()
    code = found(first)[0]["code"]
    waiver = {"rule": code, "reason": "so", "owner": "ops", "expires": day}
    path = tmp_path / "waivers.yml"
    path.write_text(yaml.safe_dump({"waivers": [waiver]}))
    result, second = reported(name, tmp_path / "b", path, None)
    assert [each["code"] for each in found(second)].count("WV-01") == 1
    assert len(found(second)) == len(found(first)) + 1
    assert "WV-01" in result["report"]
    for option in ("junit_path", "codequality_path", "markdown_path", "sarif_path"):
        assert "expired on" in (tmp_path / "b" / option).read_text()


def test_what_is_known_now_is_known_at_any_target_release(tmp_path: pathlib.Path) -> None:
    _result, first = reported("flavor_audit ahead", tmp_path / "a", None, None)
    first["target"]["findings"].clear()
    path = tmp_path / "known.json"
    path.write_text(json.dumps(first))
    result, later = reported("flavor_audit ahead", tmp_path / "b", None, path)
    fresh = [each for each in later["target"]["findings"] if not each["known"]]
    assert len(fresh) == len(later["target"]["new"])
    assert ("failed" in result) == bool(fresh)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([], "this is no report"),
        ({}, "this is no report"),
        ({"verdict": "", "format": 1, "flavors": []}, "this report is of a command without rules"),
        ({"verdict": "", "format": 2}, "this report is of another version"),
        ({"verdict": "", "format": 1, "findings": 5}, "the findings of this report are broken"),
        ({"verdict": "", "format": 1, "findings": [{"code": 1}]}, "the findings of this report"),
        (
            {
                "verdict": "",
                "format": 1,
                "hosts": [],
                "findings": [{"code": "", "subject": "", "what": "", "classes": [7]}],
            },
            "the findings of this report are broken",
        ),
    ],
)
def test_what_is_no_report_is_refused(document: t.Any, told: str) -> None:
    with pytest.raises(InputError, match=f"^b: {told}"):
        baseline(document, "b")
