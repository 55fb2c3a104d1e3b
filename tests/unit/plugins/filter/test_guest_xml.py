# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.filter.emulator_cpus import emulator_cpus
from ansible_collections.pinguard.nova.plugins.filter.guest_xml import guest_xml


@pytest.fixture
def realtime(pinned: dict[str, t.Any]) -> dict[str, t.Any]:
    """Make a flavor whose second vCPU is realtime."""
    pinned["extra_specs"] |= {"hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "^0"}
    return pinned


def test_the_elements_are_texts(realtime: dict[str, t.Any], host: dict[str, t.Any]) -> None:
    written = guest_xml(realtime, host, release="27.1.0")
    assert (written["stage"], written["reason"], written["error"]) == (None, "", "")
    assert written["elements"]["vcpu"] == "<vcpu>2</vcpu>"
    assert written["elements"]["cputune"].splitlines() == [
        "<cputune>",
        '  <emulatorpin cpuset="1" />',
        '  <vcpupin vcpu="0" cpuset="1" />',
        '  <vcpupin vcpu="1" cpuset="3" />',
        '  <vcpusched vcpus="1" scheduler="fifo" priority="1" />',
        "</cputune>",
    ]
    assert written["text"] == "\n".join(written["elements"].values())


def test_pins_that_exist_count(realtime: dict[str, t.Any], host: dict[str, t.Any]) -> None:
    where = emulator_cpus(realtime, host, release="27.1.0", pins={"0": 3, 1: 1})
    assert where == {
        "emulator": "3",
        "kind": "CPUs of vCPU 0",
        "realtime_vcpus": "1",
        "realtime": "1",
        "ordinary": "3",
        "pins": {"0": 3, "1": 1},
        "stage": None,
        "reason": "",
        "error": "",
    }


@pytest.mark.parametrize(
    ("policy", "vcpus", "emulator", "kind"),
    [("share", 2, "0,2", "cpu_shared_set"), ("isolate", 1, "3", "a CPU of its own")],
)
def test_policies(
    pinned: dict[str, t.Any],
    host: dict[str, t.Any],
    policy: str,
    vcpus: int,
    emulator: str,
    kind: str,
) -> None:
    pinned["vcpus"] = vcpus
    pinned["extra_specs"]["hw:emulator_threads_policy"] = policy
    where = emulator_cpus(pinned, host, release="27.1.0")
    assert (where["emulator"], where["kind"], where["realtime"]) == (emulator, kind, "")


def test_the_cpu_kept_for_emulator_threads_can_be_given(
    pinned: dict[str, t.Any], host: dict[str, t.Any]
) -> None:
    pinned["vcpus"] = 1
    pinned["extra_specs"]["hw:emulator_threads_policy"] = "isolate"
    assert emulator_cpus(pinned, host, pins={0: 3}, reserved=1)["emulator"] == "1"


def test_a_floating_guest_has_no_emulator_set(host: dict[str, t.Any]) -> None:
    plain = {"name": "plain", "vcpus": 1, "ram": 512}
    where = emulator_cpus(plain, host)
    assert (where["emulator"], where["kind"], where["pins"]) == (None, None, {})
    assert guest_xml(plain, host)["elements"]["vcpu"] == '<vcpu cpuset="0,2">1</vcpu>'


@pytest.mark.parametrize(
    ("specs", "vcpus", "pins", "stage"),
    [
        ({"hw:cpu_policy": "pinned"}, 2, None, "api"),
        ({"hw:cpu_policy": "pinned"}, 2, {0: 1, 1: 3}, "api"),
        ({"hw:cpu_policy": "dedicated"}, 3, None, "placement"),
    ],
)
def test_a_refusal_names_its_stage(
    pinned: dict[str, t.Any],
    host: dict[str, t.Any],
    specs: dict[str, str],
    vcpus: int,
    pins: t.Any,
    stage: str,
) -> None:
    flavor = {**pinned, "vcpus": vcpus, "extra_specs": specs}
    assert guest_xml(flavor, host, pins=pins) | {"reason": "", "error": ""} == {
        "text": None,
        "elements": {},
        "stage": stage,
        "reason": "",
        "error": "",
    }
    assert emulator_cpus(flavor, host, pins=pins)["stage"] == stage


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pins": [1, 3]}, "pins: [1, 3] is no mapping"),
        ({"pins": {0: "x", 1: 3}}, "pins: 'x' is no CPU id"),
        ({"pins": {0: 1}}, "pins: they are of vCPU 0; accepted: those of vCPU 0-1"),
        ({"pins": {0: 1, "0": 1}}, "pins: vCPU 0 is there twice"),
        ({"pins": {0: 1, 1: 9}}, "pins: those of guest cell 0 (1,9) do not tell its host cell"),
        ({"pins": {0: 1, 1: 3}, "reserved": "2"}, "reserved: 1 CPUs are kept"),
        ({"reserved": "2"}, "reserved: there are no pins beside it"),
        ({"pins": {0: 1, 1: 3}, "reserved": "a"}, "reserved: "),
        ({"release": "99"}, "Nova '99' is not known"),
        ({"image": []}, "image: [] is no image"),
    ],
)
@pytest.mark.parametrize("plugin", [guest_xml, emulator_cpus])
def test_bad_input_is_one_line(
    pinned: dict[str, t.Any],
    host: dict[str, t.Any],
    plugin: t.Any,
    given: dict[str, t.Any],
    message: str,
) -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        plugin(pinned, host, **given)
    assert str(caught.value).startswith(f"{plugin.__name__}: {message}")
    assert "\n" not in str(caught.value)
