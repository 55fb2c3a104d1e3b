# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import json
import pathlib
import typing as t

import jsonschema
import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import Sources
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import guest_report
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.guest_report import (
    fitted,
    guest_audit,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.run import Output

SCHEMA = json.loads(
    (pathlib.Path(guest_report.__file__).parent / "schemas/guests_report.json").read_text(
        encoding="utf-8"
    )
)


def domain(number: int, emulator: str = "1", **more: t.Any) -> dict[str, t.Any]:
    """Make the facts of a realtime guest whose vCPU 0 is ordinary, on CPUs 1 and 3."""
    fifo = {"policy": "fifo", "priority": 1}
    xml = {
        "vcpus": 2,
        "cputune": {
            "emulatorpin": emulator,
            "vcpupin": {"0": "1", "1": "3"},
            "vcpusched": {"1": fifo},
        },
        "numatune": {"mode": "strict", "nodeset": "0", "memnode": {"0": "0"}},
        "backing": {"nosharepages": True, "locked": True},
        "cells": [{"id": 0, "vcpus": "0-1", "memory_kb": 1048576}],
    }
    flavor = {"name": "rt", "vcpus": 2, "ram": 1024, "disk": 0, "ephemeral": 0, "swap": 0}
    specs = {
        "hw:cpu_policy": "dedicated",
        "hw:cpu_realtime": "yes",
        "hw:cpu_realtime_mask": "^0",
    }
    nova = {"package": "27.1.0-1", "name": f"ran-{number}", "flavor": flavor, "extra_specs": specs}
    pid = 1000 * number
    return {
        "id": f"00000000-0000-4000-8000-{number:012}",
        "name": f"instance-{number:08x}",
        "running": True,
        "nova": nova,
        "live": xml,
        "persistent": xml,
        "threads": [
            {"id": pid, "name": "qemu-kvm", "kind": "emulator", "main": True, "cpus": emulator}
            | {"policy": "other"},
            {"id": pid + 1, "name": "CPU 0/KVM", "kind": "vcpu", "index": 0, "cpus": "1"}
            | {"policy": "other"},
            {"id": pid + 2, "name": "CPU 1/KVM", "kind": "vcpu", "index": 1, "cpus": "3", **fifo},
        ],
        "memory": {"locked_kb": 1048576, "swapped_kb": 0},
        **more,
    }


def sources(
    host: dict[str, t.Any], told: dict[str, list[dict[str, t.Any]]], *untold: str
) -> Sources:
    return Sources(
        "27.1.0",
        named=dict.fromkeys([*told, *untold], host),
        named_guests={name: {"format": 1, "domains": domains} for name, domains in told.items()},
    )


@pytest.fixture
def faulty() -> dict[str, list[dict[str, t.Any]]]:
    """Make forty hosts with a guest each of the form that users report."""
    return {f"a{number:02}": [domain(number, "1,3")] for number in range(1, 41)}


def test_guests_with_the_same_fault_make_one_entry(
    host: dict[str, t.Any], faulty: dict[str, list[dict[str, t.Any]]]
) -> None:
    result = guest_audit(sources(host, faulty), Output(width=100))
    report = result["report"]
    assert report.count("error DM-02") == 1
    assert "ran-1..ran-40 (40 guests)" in report
    assert "a01..a40 (40 hosts)" in report
    assert "and so on for 37 more guests" in report
    assert max(map(len, report.splitlines())) <= 100
    assert result["summary"]["needs"] == {"migrate": 0, "reboot": 40, "look": 0, "nothing": 0}
    assert result["guests"][0]["commands"] == [
        f"openstack server reboot --hard --wait {result['guests'][0]['id']}"
    ]


def test_the_reported_form_is_shown_beside_what_nova_writes_and_the_flavor_that_mends_it(
    host: dict[str, t.Any],
) -> None:
    result = guest_audit(sources(host, {"a": [domain(1, "1,3")]}), Output())
    (guest,) = result["guests"]
    assert guest["reported_form"] is True
    assert guest["emulator"] == {
        "predicted": "1",
        "live": "1,3",
        "threads": "1,3",
        "proposed": "1",
    }
    assert guest["differs"] == [
        {
            "element": "emulatorpin",
            "predicted": "1",
            "live": "1,3",
            "persistent": "1,3",
            "proposed": "1",
            "wished": "1",
        },
        {
            "element": "emulatorsched",
            "predicted": "none",
            "live": "none",
            "persistent": "none",
            "proposed": "none",
            "wished": "fifo 1",
        },
    ]
    assert any("inherit" in note for note in guest["notes"] if note.startswith("wished: "))
    command = "openstack flavor set rt --property hw:emulator_threads_policy=share"
    assert command in guest["first"]
    assert command in result["report"]


def test_json_holds_to_its_schema(
    host: dict[str, t.Any], faulty: dict[str, list[dict[str, t.Any]]], tmp_path: pathlib.Path
) -> None:
    path, marked = tmp_path / "guests.json", tmp_path / "guests.md"
    output = Output(paths={"json_path": str(path), "markdown_path": str(marked)})
    result = guest_audit(sources(host, faulty, "b"), output)
    found = json.loads(path.read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    assert found["guests"] == result["guests"]
    assert found["hosts"][-1] == {"name": "b", "guests": None, "unread": ["no guest facts"]}
    assert marked.read_text().count("**error DM-02") == 1
    assert result["failed"] is True
    assert result["msg"] == found["verdict"]


def test_what_was_not_read_is_said_and_is_no_pass(host: dict[str, t.Any]) -> None:
    why = "threads: /proc/1000/task cannot be read (permission denied)"
    blind = domain(1, unread=[why])
    del blind["threads"]
    result = guest_audit(sources(host, {"a": [blind]}, "b", "c"), Output(fail_on="warning"))
    assert result["status"] >= 1
    assert result["failed"] is True
    assert result["verdict"].endswith("not read: the guests of 2 hosts, something of 1 guest.")
    assert f"ran-1: {why}" in result["report"]
    assert "b, c: no guest facts" in result["report"]
    assert result["guests"][0]["emulator"]["threads"] is None


def test_plain_xml_tells_nothing_of_threads_and_that_is_said(host: dict[str, t.Any]) -> None:
    bare = domain(1)
    del bare["threads"], bare["memory"]
    result = guest_audit(sources(host, {"a": [bare]}), Output())
    assert result["status"] >= 1
    assert result["guests"][0]["unread"] == [
        "threads: only XML was given",
        "memory: only XML was given",
    ]


def test_what_was_not_read_is_not_said_to_need_nothing(host: dict[str, t.Any]) -> None:
    bare = domain(1)
    del bare["threads"], bare["memory"]
    host["topology"]["siblings"] = []
    result = guest_audit(sources(host, {"a": [bare]}), Output(width=1000))
    assert "Nothing found; not read: threads, memory: ran-1" in result["report"]
    assert "1 host: nothing found; not read" in result["verdict"]


def test_foreign_domains_are_looked_at_and_never_rebooted(host: dict[str, t.Any]) -> None:
    foreign = domain(1, "1,3")
    del foreign["nova"]
    result = guest_audit(sources(host, {"a": [foreign]}), Output())
    (guest,) = result["guests"]
    assert guest["managed"] is False
    assert guest["needs"] == "look"
    assert guest["commands"] == []
    assert guest["emulator"]["proposed"] is None


def test_one_of_guests_with_the_same_pins_is_to_migrate(host: dict[str, t.Any]) -> None:
    result = guest_audit(sources(host, {"a": [domain(1), domain(2)]}), Output())
    assert [guest["needs"] for guest in result["guests"]] == ["look", "migrate"]
    codes = {each["code"] for each in result["findings"] if each["id"] == result["guests"][0]["id"]}
    assert codes == {"DM-09"}
    server = result["guests"][1]["id"]
    assert result["guests"][1]["commands"] == [
        f"openstack server migrate --wait {server}",
        f"openstack server migration confirm {server}",
    ]


def test_what_a_reboot_mends_is_not_left_to_look_at(host: dict[str, t.Any]) -> None:
    """The worst comes first; a domain beside Nova is looked at for all that is found."""
    foreign = domain(3, "3")
    del foreign["nova"]
    told = {"a": [domain(1, "1,3")], "b": [foreign, domain(2)]}
    report = guest_audit(sources(host, told), Output(width=1000))["report"]
    (line,) = [each for each in report.splitlines() if "Reboot hard for" in each]
    assert line.strip() == "Reboot hard for DM-02, then look at DM-09: ran-1"
    assert "Look at for DM-0" in report
    assert "Look at, then" not in report


def test_notes_are_numbered_and_named_by_their_numbers(host: dict[str, t.Any]) -> None:
    wide = domain(2, "1,3")
    wide["live"]["vcpus"] = 2
    wide["persistent"] = domain(2)["live"]
    told = {"a": [domain(1, "1,3")], "b": [wide]}
    report = guest_audit(sources(host, told), Output(width=1000))["report"]
    assert "note  [1] " in report
    assert "note  as above: [1], [2]" in report


def test_hosts_that_a_flavor_with_share_stops_on_are_named(host: dict[str, t.Any]) -> None:
    options = {"compute.cpu_dedicated_set": {"value": "1,3"}}
    given = sources(host, {"a": [domain(1, "1,3")]})
    named = {**(given.named or {}), "b": {**host, "nova": {"options": options}}}
    report = guest_audit(dataclasses.replace(given, named=named), Output(width=1000))["report"]
    assert "fail to build on b: no cpu_shared_set there" in report


def test_a_guest_on_two_hosts_is_moving_and_only_looked_at(host: dict[str, t.Any]) -> None:
    result = guest_audit(
        sources(host, {"a": [domain(1, "1,3")], "b": [domain(1, "1,3")]}), Output()
    )
    for guest, other in zip(result["guests"], "ba", strict=True):
        assert guest["needs"] == "look"
        assert guest["commands"] == []
        assert guest["unread"] == [
            f"host: '{other}' has this domain too; it moves just now, or was left behind"
        ]


@pytest.mark.parametrize("domains", [[], [domain(1)]])
def test_guests_of_a_host_that_nobody_told_about_are_refused(
    host: dict[str, t.Any], domains: list[dict[str, t.Any]]
) -> None:
    given = dataclasses.replace(
        sources(host, {"a": []}), named_guests=None, guests={"x": {"domains": domains}}
    )
    with pytest.raises(InputError, match="nobody told about host 'x'; accepted: facts of each"):
        guest_audit(given, Output())


def test_a_guest_that_does_not_run_needs_no_reboot(host: dict[str, t.Any]) -> None:
    stopped = domain(1, "1,3", running=False)
    for key in ("live", "threads", "memory"):
        del stopped[key]
    result = guest_audit(sources(host, {"a": [stopped]}), Output())
    assert result["guests"][0]["needs"] != "reboot"


def test_hosts_without_guests_are_sound(host: dict[str, t.Any]) -> None:
    result = guest_audit(sources(host, {"a": []}), Output())
    assert result["report"] == "SUCCESS: 0 guests on 1 host: nothing to change.\n"


def test_a_guest_of_which_nothing_is_known_is_told(
    host: dict[str, t.Any], tmp_path: pathlib.Path
) -> None:
    empty = {"id": "6f3c", "name": "instance-1", "running": True, "nova": {"name": "x"}}
    output = Output(paths={"json_path": str(tmp_path / "guests.json")})
    result = guest_audit(sources(host, {"a": [empty]}), output)
    jsonschema.Draft202012Validator(SCHEMA).validate(
        json.loads((tmp_path / "guests.json").read_text())
    )
    (guest,) = result["guests"]
    assert set(guest["emulator"].values()) == {None}
    assert "what Nova writes for it: its XML could not be read" in guest["unread"]
    assert {"live: not given", "threads: not given"} < set(guest["unread"])
    assert result["status"] == 1


def test_hostile_names_are_harmless(host: dict[str, t.Any], tmp_path: pathlib.Path) -> None:
    evil = domain(1, "1,3")
    evil["nova"]["name"] = "x\x1b[2J\n| a | [b](c) ```"
    evil["name"] = "\x1b]0;t\x07"
    path = tmp_path / "guests.md"
    result = guest_audit(sources(host, {"a": [evil]}), Output(paths={"markdown_path": str(path)}))
    shown = result["report"] + path.read_text()
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\n| a" not in shown
    assert "[b](c)" not in path.read_text().partition("```console")[0]


def test_names_that_several_guests_have_are_told_apart(host: dict[str, t.Any]) -> None:
    first, second = domain(1, "1,3"), domain(2, "1,3")
    second["nova"]["name"] = first["nova"]["name"]
    report = guest_audit(sources(host, {"a": [first], "b": [second]}), Output())["report"]
    assert "ran-1 (a), ran-1 (b)" in report


def test_a_table_is_cut_to_the_width_and_keeps_its_head() -> None:
    rows, widths = fitted([["guest", "needs"], ["a" * 50, ""]], 20)
    assert sum(widths) + 2 <= 20
    assert rows == [["guest", "needs"], ["a" * (widths[0] - 3) + "...", "-"]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "guests: no host has guest facts"),
        ({"guests": {"a": {"domains": [{"id": 1}]}}}, "^guests: host a: domains"),
        ({"guests": {"z": {"domains": [domain(1)]}}}, "'z'"),
        ({"guests": [{"a": {"domains": []}}, 7]}, "guests: 7 is out of place"),
        ({"guests": "nowhere"}, "nowhere"),
    ],
)
def test_bad_input_is_told_in_one_line(
    host: dict[str, t.Any], given: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        guest_audit(Sources("27.1.0", named={"a": host}, **given), Output())
    assert "\n" not in str(caught.value)
