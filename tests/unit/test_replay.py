# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
import gzip
import json
import pathlib
import sys
import typing as t

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import replay

GOOD: dict[str, t.Any] = {
    "kind": "spec",
    "cases": [
        {
            "id": "spec-one",
            "kind": "cpuspec",
            "spec": "0-4,^2",
            "verdicts": [{"releases": ["20.0.0", "34.0.0"], "verdict": {"cpus": [0, 1, 3, 4]}}],
        }
    ],
}
PLACEMENT: dict[str, t.Any] = {
    "kind": "placement",
    "cases": [
        {
            "id": "placement-one",
            "providers": [{"name": "a", "traits": [], "inventories": {"VCPU": {"total": 4}}}],
            "allocations": [{"provider": "a", "resources": {"VCPU": 1}}],
            "queries": [
                {
                    "resources": {"VCPU": 3},
                    "required": [],
                    "forbidden": [],
                    "status": 200,
                    "candidates": [{"a": {"VCPU": 3}}],
                }
            ],
        }
    ],
}


def written(folder: pathlib.Path, document: object, name: str = "one.json") -> str:
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def test_recordings_agree(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, GOOD)
    with gzip.open(tmp_path / "two.json.gz", "wt", encoding="utf-8") as stream:
        json.dump(PLACEMENT, stream)
    assert replay.main([str(tmp_path)]) == 0
    assert "3 agreed, 0 disagreed" in capsys.readouterr().out


def test_a_falsified_verdict_is_shown(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    false = copy.deepcopy(GOOD)
    false["cases"][0]["verdicts"][0]["verdict"]["cpus"] = [0, 1, 2]
    assert replay.main([written(tmp_path, false)]) == 1
    out = capsys.readouterr().out
    assert "spec spec-one on 20.0.0" in out
    for line in ("--- recorded", "+++ ours", "-  2", "+  4", "0 agreed, 2 disagreed"):
        assert line in out


def test_falsified_candidates_are_shown(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    false = copy.deepcopy(PLACEMENT)
    false["cases"][0]["queries"][0]["candidates"] = []
    assert replay.main([written(tmp_path, false)]) == 1
    assert "placement placement-one" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be read"),
        ("", "cannot be read"),
        ("[]", "the format verdicts.json"),
        ('{"kind": "odd", "cases": []}', "odd"),
        ('{"kind": "spec"}', "cases"),
        ('{"kind": "spec", "cases": [{"id": "x", "verdicts": 1}]}', "$.cases[0].verdicts"),
        ('{"kind": "placement", "cases": [{"id": "x"}]}', "placement.json"),
        (
            '{"kind": "spec", "cases": [{"id": "x", "kind": "cpuspec", "verdicts":'
            ' [{"releases": ["20.0.0"], "verdict": {}}]}]}',
            "case x",
        ),
        (
            '{"kind": "spec", "cases": [{"id": "x", "kind": "cpuspec", "spec": "0", "verdicts":'
            ' [{"releases": ["35.0.0"], "verdict": {}}]}]}',
            "35.0.0",
        ),
    ],
)
def test_a_broken_file_is_refused_by_name(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text, encoding="utf-8")
    assert replay.main([str(path)]) == 2
    err = capsys.readouterr().err
    assert str(path) in err
    assert told in err
    assert "Traceback" not in err
    assert err.count("\n") == 1


def test_a_broken_archive_is_refused(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.json.gz"
    path.write_bytes(gzip.compress(json.dumps(GOOD).encode())[:40])
    assert replay.main([str(path)]) == 2
    assert str(path) in capsys.readouterr().err


def test_paths_that_lead_nowhere(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing.json"
    assert replay.main([str(missing)]) == 2
    assert str(missing) in capsys.readouterr().err
    assert replay.main([str(tmp_path)]) == 2
    assert "no recording" in capsys.readouterr().err


def one_domain() -> dict[str, t.Any]:
    """Write down the XML of a floating guest on a host of two shared CPUs."""
    xml = {
        "vcpu": '<vcpu cpuset="0-1">1</vcpu>',
        "cpu": '<cpu match="exact" mode="host-model"><topology cores="1" sockets="1" threads="1"/>'
        "</cpu>",
        "cputune": None,
        "iothreads": "<iothreads>1</iothreads>",
        "memoryBacking": None,
        "numatune": None,
    }
    verdict = {"stage": "ok", "error": None, "numa_topology": None, "xml": xml}
    case = {
        "name": "domain-one",
        "flavor": {"vcpus": 1, "memory_mb": 512, "extra_specs": {}},
        "host": {"simple": {"cores": 2, "mem_gib": 4}},
        "options": {"compute": {"cpu_shared_set": "0-1"}},
        "verdicts": [{"releases": ["34.0.0"], "verdict": verdict}],
    }
    return {"kind": "xml", "cases": [case]}


def test_domain_xml_is_compared_as_elements(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = one_domain()
    assert replay.main([written(tmp_path, given)]) == 0
    verdict = given["cases"][0]["verdicts"][0]["verdict"]
    verdict["xml"]["vcpu"] = '<vcpu cpuset="0">1</vcpu>'
    assert replay.main([written(tmp_path, given)]) == 1
    assert "xml domain-one on 34.0.0" in capsys.readouterr().out
    verdict |= {"stage": "compute: _get_guest_config", "error": "Invalid", "xml": None}
    assert replay.main([written(tmp_path, given)]) == 1


def one_cloud() -> dict[str, t.Any]:
    """Write down a cloud of one host of two cores on which one floating server boots."""
    cell = {"id": 0, "cpuset": [0, 1], "pcpuset": [0, 1], "siblings": [[0], [1]]}
    numa = [{**cell, "pinned_cpus": [], "cpu_usage": 0, "socket": 0}]
    vcpus = {"total": 2, "reserved": 0, "allocation_ratio": 4.0, "max_unit": 2}
    host = {"inventory": {"VCPU": vcpus}, "usage": {"VCPU": 0}, "HT_trait": False, "numa": numa}
    end = {"status": "ACTIVE", "host": "h", "allocations": {"h": {"VCPU": 1}}, "boots": True}
    boot = {
        "result": end,
        "queries": [{"candidates": [["h", {"VCPU": 1}]]}],
        "filter": [["h", True]],
        "claims": [{"node": "h", "ok": True}],
    }
    scenario = {
        "hosts": [{"name": "h", "cpu": {"cores": 2}}],
        "steps": [{"do": "boot", "name": "s", "vcpus": 1}],
    }
    steps = [{"do": "start h", "started": True, "host": host}, boot]
    recorded = [{"release": "34.0.0", "result": [{"name": "one", "steps": steps}]}]
    return {"name": "one", "scenario": [scenario], "recorded": recorded}


def test_a_recorded_cloud_agrees(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, one_cloud())
    assert replay.main([str(tmp_path)]) == 0
    assert "2 agreed, 0 disagreed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("row", "path", "value"),
    [
        (0, ("host", "inventory", "VCPU", "total"), 3),
        (0, ("host", "HT_trait"), True),
        (0, ("host", "numa"), []),
        (1, ("result", "allocations"), {"h": {"PCPU": 1}}),
        (1, ("result", "status"), "ERROR"),
        (1, ("filter",), [["h", False]]),
        (1, ("queries",), []),
    ],
)
def test_a_falsified_cloud_is_shown(
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    row: int,
    path: tuple[str, ...],
    value: object,
) -> None:
    document = one_cloud()
    place = document["recorded"][0]["result"][0]["steps"][row]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    written(tmp_path, document)
    assert replay.main([str(tmp_path)]) == 1
    assert "1 agreed, 1 disagreed" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change", [{"do": "fly"}, {"vcpus": "many"}, {"host": "nowhere"}, {"name": None, "vcpus": None}]
)
def test_a_broken_cloud_is_refused(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], change: dict[str, t.Any]
) -> None:
    document = one_cloud()
    document["scenario"][0]["steps"][0] |= change
    written(tmp_path, document)
    assert replay.main([str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.parametrize("document", [{"kind": "spec", "cases": []}, {"kind": "xml", "cases": []}])
def test_nothing_to_replay_is_an_error(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], document: object
) -> None:
    assert replay.main([written(tmp_path, document)]) == 2
    assert "nothing to replay" in capsys.readouterr().err
    assert replay.main([]) == 2
