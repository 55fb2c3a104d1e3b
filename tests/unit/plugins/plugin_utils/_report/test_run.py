# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import pathlib
import typing as t

import jsonschema
import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import Sources
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import (
    json_report,
    rendering,
    run,
    writing,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.cpu_map import LEGEND
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.naming import compact, ranges

SCHEMA = json.loads(
    (pathlib.Path(json_report.__file__).parent / "schemas/report.json").read_text(encoding="utf-8")
)


def sources(host: dict[str, t.Any], *flavors: dict[str, t.Any], count: int = 1) -> Sources:
    named = {f"cmp-{number:02}": host for number in range(1, count + 1)}
    return Sources("27.1.0", named, flavors=list(flavors))


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["a"], "a"),
        (["b", "a"], "a, b"),
        ([f"cmp-{n:02}" for n in range(1, 21)], "cmp-01..cmp-20 (20 hosts)"),
        ([f"n{n}.x" for n in range(8, 12)], "n8.x..n11.x (4 hosts)"),
        (["n098", "n099", "n100", "n101"], "n098..n101 (4 hosts)"),
        (["a1", "a2"], "a1, a2"),
        (["a", "b", "c", "d", "e"], "a, b, c, d, ... (5 hosts)"),
    ],
)
def test_names_are_compact(names: list[str], shown: str) -> None:
    assert compact(names) == shown


def test_ranges_skip_gaps() -> None:
    assert ranges(["h1", "h2", "h3", "h5"]) == ["h1..h3", "h5"]


def test_500_equal_hosts_are_one_line(host: dict[str, t.Any], pinned: dict[str, t.Any]) -> None:
    result = run.flavor_audit(sources(host, pinned, count=500), run.Output("never"))
    assert result["report"].count("cmp-01..cmp-500 (500 hosts)") >= 1
    assert len(result["hosts"]) == 1
    assert "failed" not in result


def test_the_report_starts_with_its_verdict_and_keeps_the_width(
    host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    result = run.flavor_audit(sources(host, pinned), run.Output(width=80), "34.0.0")
    assert " ".join(result["report"].split()).startswith(result["summary"]["verdict"])
    assert max(map(len, result["report"].splitlines())) <= 80
    assert "PCPU" in result["report"]
    assert result["target"]["release"] == "34.0.0"


def test_equal_findings_are_folded(host: dict[str, t.Any], pinned: dict[str, t.Any]) -> None:
    wrong = {**pinned, "extra_specs": {"hw:cpu_realtime": "yes"}}
    flavors = [{**wrong, "name": f"rt{number}"} for number in range(1, 6)]
    result = run.flavor_audit(sources(host, *flavors), run.Output("never"))
    found = [each for each in result["findings"] if each["subject"].startswith("flavor ")]
    assert len(found) >= 5
    assert result["report"].count("rt1..rt5 (5 flavors)") == len(found) // 5


def test_control_characters_do_not_reach_the_terminal(
    host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    evil = {**pinned, "name": "a\x1b[2J"}
    assert "\x1b" not in run.flavor_audit(sources(host, evil), run.Output("never"))["report"]


@pytest.mark.parametrize(
    ("fail_on", "spec", "failed"),
    [
        ("error", {"hw:cpu_realtime": "yes"}, True),
        ("never", {"hw:cpu_realtime": "yes"}, False),
    ],
)
def test_the_fail_policy(
    host: dict[str, t.Any], pinned: dict[str, t.Any], fail_on: str, spec: t.Any, failed: bool
) -> None:
    wrong = {**pinned, "extra_specs": spec}
    result = run.flavor_audit(sources(host, wrong), run.Output(fail_on))
    assert result.get("failed", False) is failed
    assert result["findings"]


def test_json_holds_to_its_schema_and_is_written_once(
    host: dict[str, t.Any], pinned: dict[str, t.Any], tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "report.json"
    output = run.Output(
        "never", {"report_path": str(tmp_path / "report.txt"), "json_path": str(path)}
    )
    first = run.flavor_audit(sources(host, pinned), output, "34.0.0")
    again = run.flavor_audit(sources(host, pinned), output, "34.0.0")
    assert (first["changed"], again["changed"]) == (True, False)
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(path.read_text()))


def test_check_mode_writes_nothing(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x"
    assert writing.write(str(path), "a", check=True).changed
    assert not path.exists()


def test_a_missing_folder_is_refused(
    host: dict[str, t.Any], pinned: dict[str, t.Any], tmp_path: pathlib.Path
) -> None:
    output = run.Output(paths={"report_path": str(tmp_path / "none" / "x")})
    with pytest.raises(InputError, match="the folder does not exist"):
        run.flavor_audit(sources(host, pinned), output)


def test_what_is_no_path_is_refused(host: dict[str, t.Any], pinned: dict[str, t.Any]) -> None:
    with pytest.raises(InputError, match=r"^json_path: '/a.x00b' is no path"):
        run.flavor_audit(sources(host, pinned), run.Output(paths={"json_path": "/a\0b"}))


def test_reports_do_not_share_a_file(
    host: dict[str, t.Any], pinned: dict[str, t.Any], tmp_path: pathlib.Path
) -> None:
    paths = dict.fromkeys(("report_path", "json_path"), str(tmp_path / "x"))
    with pytest.raises(InputError, match=r"json_path: .*two reports go to one file"):
        run.flavor_audit(sources(host, pinned), run.Output("never", paths))


@pytest.mark.parametrize("name", ["web\nrm -rf /", "web\u2028rm -rf /", "web" + " rm -rf /" * 20])
def test_a_name_does_not_leave_its_comment(name: str) -> None:
    lines = rendering.wrapped(f"reboot s1 # {name}", 60, "  run   ", "        ").splitlines()
    assert lines[0].startswith("  run   reboot s1 # web")
    assert all(line.startswith("        # ") for line in lines[1:])
    assert max(map(len, lines)) <= 60


def test_a_text_of_several_lines_keeps_them() -> None:
    assert rendering.wrapped("[a]\nb = 1", 60, "  ", "  ", several=True) == "  [a]\n  b = 1"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Sources("27.1.0", {}, flavors=[]), "there is no host"),
        (Sources("27.1.0", facts="/nonexistent"), "cannot be read"),
    ],
)
def test_nothing_to_audit_is_loud(given: Sources, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run.flavor_audit(given, run.Output())


def test_no_flavor_is_loud(host: dict[str, t.Any]) -> None:
    with pytest.raises(InputError, match="there is no flavor"):
        run.flavor_audit(sources(host), run.Output())


def test_the_map_shows_each_cpu_by_its_role(host: dict[str, t.Any]) -> None:
    shown = run.host_audit(sources(host), run.Output("never"))["maps"]["cmp-01"]
    assert "thread 0  0S 1D" in shown
    assert "thread 1  2S 3D" in shown
    assert LEGEND["D"] in shown
    assert LEGEND["S"] in shown
    assert LEGEND["X"] not in shown


def test_progress_is_told_now_and_again() -> None:
    told: list[str] = []
    times = iter([0.0, 1.0, 4.0, 4.0, 5.0])
    progress = run.Progress(told.append, lambda: next(times))
    for done in (1, 2, 3):
        progress(done, 9)
    assert told == ["audited 2 of 9 flavors"]


def test_progress_without_a_total_counts_what_is_read() -> None:
    told: list[str] = []
    progress = run.Progress(told.append, iter([0.0, 4.0, 4.0]).__next__, line="read {} servers")
    progress(5, 0)
    assert told == ["read 5 servers"]
