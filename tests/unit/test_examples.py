# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bundled examples show what they promise."""

from __future__ import annotations

import pathlib

from ansible_collections.pinguard.nova.plugins.plugin_utils._model import gathering
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.guest_report import guest_audit
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.plan_report import upgrade_plan
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.run import Output
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import audit

EXAMPLES = pathlib.Path(__file__).parent.parent.parent / "examples"


def test_the_fleet_file_is_audited() -> None:
    fleet = gathering.fleet(gathering.Sources("34.0.0", fleet=str(EXAMPLES / "fleet.yml")))
    found = audit(fleet)
    assert [case.names for case in found.hosts] == [("cmp-01", "cmp-02"), ("cmp-03",)]
    by_flavor = {case.flavor.name: case for case in found.rows if not case.image.name}
    pinned, isolated = (by_flavor[name] for name in ("pinned.small", "isolated.small"))
    assert [outcome.query for outcome in pinned.outcomes] == ["primary", "fallback"]
    assert [outcome.stage for outcome in isolated.outcomes] == ["filter", None]
    assert set(pinned.outcomes[0].pins.values()) <= {5, 6, 7, 13, 14, 15}


def test_the_eight_hosts_hold_both_faults() -> None:
    sources = gathering.Sources(
        "27.1.0",
        facts=str(EXAMPLES / "facts"),
        flavors=str(EXAMPLES / "flavors.yml"),
        images=str(EXAMPLES / "images.yml"),
    )
    found = audit(gathering.fleet(sources))
    assert sum(len(case.names) for case in found.hosts) == 8
    assert {"FL-08", "FL-49", "HC-60"} <= {finding.code for finding in found.findings}
    assert found.status == 2


def test_the_plan_for_the_eight_hosts_reaches_its_goal() -> None:
    sources = gathering.Sources(
        "27.1.0",
        facts=str(EXAMPLES / "facts"),
        flavors=str(EXAMPLES / "flavors.yml"),
        images=str(EXAMPLES / "images.yml"),
        servers=str(EXAMPLES / "servers.yml"),
    )
    result = upgrade_plan(sources, str(EXAMPLES / "goal.yml"), Output())
    plan = result["plan"]
    assert (plan["complete"], plan["legacy"]) == (True, {"before": 2, "after": 0})
    assert [step["kind"] for step in plan["steps"]] == [
        "reconfigure",
        *("upgrade", "control"),
        *["upgrade"] * 4,
        *["reconfigure"] * 3,
        *("flip", "clean"),
    ]
    hosts = [host for step in plan["steps"] for host in step["hosts"]]
    assert [move["name"] for host in hosts for move in host["moves"]] == ["db-4", "ran-1"]
    assert len({each["id"] for host in hosts for each in host["reboots"]}) == 5


def test_the_guests_of_three_hosts_show_what_is_found_in_guests() -> None:
    sources = gathering.Sources(
        "27.1.0",
        facts=str(EXAMPLES / "facts"),
        flavors=str(EXAMPLES / "flavors.yml"),
        images=str(EXAMPLES / "images.yml"),
        servers=[str(EXAMPLES / "servers.yml"), str(EXAMPLES / "realtime_servers.yml")],
        guests=str(EXAMPLES / "guests"),
    )
    result = guest_audit(sources, Output())
    guests = {guest["name"]: guest for guest in result["guests"]}
    assert sorted(guests) == ["db-3", "db-5", "dsp-2", "edge-1", "probe", "ran-2", "ran-3", "ran-4"]
    assert not any(guest["unpredicted"] for guest in guests.values() if guest["managed"])
    codes = {
        name: {each["code"] for each in result["findings"] if each["id"] == guest["id"]}
        for name, guest in guests.items()
    }
    # Healthy; of the form that users report; moved in part by `virsh emulatorpin --live`.
    assert (guests["ran-2"]["needs"], codes["ran-2"]) == ("nothing", set())
    assert (guests["ran-3"]["reported_form"], guests["ran-3"]["needs"]) == (True, "reboot")
    assert "DM-02" in codes["ran-3"]
    assert {"DM-01", "DM-18", "DM-24"} <= codes["ran-4"]
    assert (guests["probe"]["managed"], codes["probe"]) == (False, {"DM-22"})
    assert sum(host["guests"] is None for host in result["hosts"]) == 5
    guide = (EXAMPLES.parent / "docs/running-guests.md").read_text(encoding="utf-8")
    shown = guide.partition("```text\n")[2].partition("```")[0].splitlines()
    assert {line.strip() for line in shown} - {""} <= {
        line.strip() for line in result["report"].splitlines()
    }
