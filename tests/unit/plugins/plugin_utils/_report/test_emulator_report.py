# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import pathlib
import typing as t

import jsonschema
import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    Fleet,
    HostClass,
    Scheduler,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import (
    emulator_report,
    json_report,
    text,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import Audit, audit
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import new_style, no_smt

SCHEMA = json.loads(
    (pathlib.Path(json_report.__file__).parent / "schemas/report.json").read_text(encoding="utf-8")
)
REALTIME = {"hw:cpu_policy": "dedicated", "hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "^0"}


def an_audit(*flavors: tuple[str, dict[str, str]], more: int = 0) -> Audit:
    hosts = [new_style(name="smt").host, no_smt(name="plain").host]
    return audit(
        Fleet(
            Scheduler("34.0.0"),
            tuple(HostClass(host, (host.name,)) for host in hosts),
            (
                *(Flavor(name, 4, 4096, specs) for name, specs in flavors),
                *(Flavor(f"rt-{n}", 2 + n % 4, 1024 + n, REALTIME) for n in range(more)),
            ),
        )
    )


def section(found: Audit, width: int = 100) -> list[str]:
    shown = text.report(found, None, width, emulator_report.rows(found))
    assert max(map(len, shown.splitlines())) <= width
    return shown.partition("Emulator threads: ")[2].partition("\nFindings")[0].splitlines()


def test_each_class_has_its_cpus_and_what_they_are() -> None:
    isolate = {**REALTIME, "hw:emulator_threads_policy": "isolate"}
    lines = section(an_audit(("rt.own", isolate), ("plain", {"hw:cpu_policy": "dedicated"})))
    assert lines == [
        "one possible placement of one guest on an empty host",
        "  rt.own on A: emulator threads on 19 (a CPU of its own), realtime vCPU 1-3 on 1,7,17",
        "  rt.own on B: emulator threads on 1 (a CPU of its own), realtime vCPU 1-3 on 2,4-5",
    ]


def test_a_flavor_without_policy_is_shown_what_one_would_do() -> None:
    lines = section(an_audit(("rt.a", REALTIME), ("rt.b", REALTIME)))
    assert (
        "  rt.a, rt.b on A: emulator threads on 23 (CPUs of vCPU 0), realtime vCPU 1-3 on"
        in (lines[1])
    )
    start = lines.index("  rt.a, rt.b on B: emulatorpin 6, an empty host takes 2 guests")
    assert lines[start + 1 : start + 3] == [
        "    share: emulatorpin 0,8, no PCPU more, takes 2 [3] [2]",
        "    isolate: emulatorpin 1, 1 PCPU more, takes 2",
    ]
    assert any(line.startswith("    [3] share takes all of cpu_shared_set") for line in lines)


def test_a_policy_may_be_what_a_refused_flavor_lacks() -> None:
    lines = section(an_audit(("rt.all", {"hw:cpu_policy": "dedicated", "hw:cpu_realtime": "yes"})))
    start = lines.index("  rt.all on B: does not boot today")
    assert lines[start + 2] == "    isolate: emulatorpin 1, takes 2"


def test_there_is_no_section_without_such_flavors() -> None:
    assert section(an_audit(("plain", {"hw:cpu_policy": "dedicated"}))) == []


def test_many_flavors_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulator_report, "MOST_PROPOSALS", 20)
    monkeypatch.setattr(emulator_report, "_BLOCKS", 3)
    found = an_audit(more=40)
    lines = section(found, 80)
    assert len(lines) < 40
    assert any("more, which only the JSON report has" in line for line in lines)
    assert any(line.startswith("  and 30 more of such flavors") for line in lines)
    rows = json_report.document(found, None, emulator_report.rows(found))["threads"]
    assert len(rows) == 40
    assert sum(row["options_left_out"] for row in rows) == 30


def test_the_json_report_keeps_to_its_schema() -> None:
    found = an_audit(("rt.a", REALTIME), ("rt.b", REALTIME))
    document: dict[str, t.Any] = json_report.document(found, None, emulator_report.rows(found))
    jsonschema.validate(document, SCHEMA)
    (row,) = document["threads"]
    assert row["flavors"] == ["rt.a", "rt.b"]
    assert row["places"][1] == {
        "emulator": "6",
        "kind": "CPUs of vCPU 0",
        "realtime": {"1": 2, "2": 5, "3": 4},
        "classes": [1],
    }
    share = next(each for each in row["options"] if each["classes"] == [1])
    assert share["differs"][0] == {"element": "emulatorpin", "now": "6", "then": "0,8"}
    assert (share["policy"], share["resource"], share["cost"]) == ("share", "PCPU", 0)
