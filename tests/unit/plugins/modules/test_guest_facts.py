# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import inspect
import json
import typing as t

import pytest
import yaml

from ansible_collections.pinguard.nova.plugins.module_utils._read import guests
from ansible_collections.pinguard.nova.plugins.modules import guest_facts
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import schema

testing = pytest.importorskip(
    "ansible.module_utils.testing", reason="ansible-core 2.18 has no way to pass arguments"
)

if t.TYPE_CHECKING:
    import pathlib

UUID = "6f3c1d0a-6a3e-4a52-9c0b-2f1d6a3c9e11"
XML = f"""\
<domain type='kvm' id='1'>
  <name>vm</name>
  <uuid>{UUID}</uuid>
  <vcpu>1</vcpu>
  <cputune><vcpupin vcpu='0' cpuset='6'/><emulatorpin cpuset='7'/></cputune>
</domain>
"""


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    """Make the tree of a host with one guest, and give its root."""
    fields = " ".join(["S", *["0"] * 35, "6", "1", "1"])
    files = {"vm.xml": XML, "proc/41/cmdline": f"qemu-kvm\0-uuid\0{UUID}\0"}
    for place, name in {"41": "qemu-kvm", "41/task/42": "CPU 0/KVM"}.items():
        files[f"proc/{place}/stat"] = f"1 ({name}) {fields}\n"
        files[f"proc/{place}/status"] = "VmLck:\t0 kB\nCpus_allowed_list:\t6\n"
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], **arguments: object) -> dict[str, t.Any]:
    with testing.patch_module_args(arguments), pytest.raises(SystemExit):
        guest_facts.main()
    result: dict[str, t.Any] = json.loads(capsys.readouterr().out)
    return result


@pytest.mark.parametrize("check_mode", [False, True])
def test_guests_are_returned_under_one_name_in_the_form_that_audits_take(
    capsys: pytest.CaptureFixture[str], root: pathlib.Path, check_mode: bool
) -> None:
    result = run(capsys, root=str(root), xml=["/vm.xml"], _ansible_check_mode=check_mode)
    assert not result["changed"]
    assert set(result["ansible_facts"]) == {"pinguard_guests"}
    facts = result["ansible_facts"]["pinguard_guests"]
    schema.check(facts, "guests:1")
    (domain,) = facts["domains"]
    assert (domain["id"], domain["pid"]) == (UUID, 41)
    assert domain["threads"][0] == {
        "id": 42,
        "name": "CPU 0/KVM",
        "kind": "vcpu",
        "index": 0,
        "cpus": "6",
        "policy": "fifo",
        "priority": 1,
        "last_cpu": 6,
    }


def test_bad_input_fails_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, virsh=["/nowhere/virsh"])
    assert result["failed"]
    assert result["msg"].startswith(
        "/nowhere/virsh -r -c qemu:///system list --all --uuid: cannot be run"
    )
    assert "ansible_facts" not in result


def test_the_options_are_documented_with_their_defaults() -> None:
    documented = yaml.safe_load(guest_facts.DOCUMENTATION)["options"]
    parameters = inspect.signature(guests.guest_facts).parameters
    assert set(parameters) == set(documented) == set(guests.ARGUMENTS)
    for name, option in documented.items():
        argument = guests.ARGUMENTS[name]
        assert {key: option.get(key) for key in ("type", "elements", "default")} == {
            key: argument.get(key) for key in ("type", "elements", "default")
        }
        default = parameters[name].default
        assert (list(default) if isinstance(default, tuple) else default) == option.get("default")
