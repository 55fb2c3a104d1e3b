# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import pathlib
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read import commands, guests
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError

if t.TYPE_CHECKING:
    from collections.abc import Callable

    Virsh = Callable[..., list[str]]

UUIDS = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(6)]


def xml(number: int, pin: str = "6", running: bool = False) -> str:
    """Write the XML of a domain with one vCPU, and with secrets."""
    return f"""\
<domain type='kvm'{f" id='{number + 1}'" if running else ""}>
  <name>instance-{number}</name>
  <uuid>{UUIDS[number]}</uuid>
  <metadata>
    <nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/1.1">
      <nova:package version="27.1.0"/>
      <nova:name>server-{number}</nova:name>
      <nova:flavor name="pinned">
        <nova:memory>64</nova:memory><nova:vcpus>1</nova:vcpus>
      </nova:flavor>
      <nova:owner><nova:user uuid="s3cret">s3cret</nova:user></nova:owner>
    </nova:instance>
  </metadata>
  <vcpu placement='static'>1</vcpu>
  <cputune><vcpupin vcpu='0' cpuset='{pin}'/></cputune>
  <devices><graphics type='vnc' passwd='s3cret'/></devices>
</domain>
"""


@pytest.fixture
def virsh(tmp_path: pathlib.Path) -> Virsh:
    """Give a function that makes a ``virsh`` of canned answers, and gives it as a command."""

    def made(answers: dict[str, str], listed: list[str], refused: str = "") -> list[str]:
        folder = tmp_path / "virsh"
        folder.mkdir()
        (folder / "answers").mkdir()
        for words, text in {"list --all --uuid": "\n".join([*listed, "", ""]), **answers}.items():
            (folder / "answers" / words.replace(" ", "_")).write_text(text)
        script = folder / "virsh"
        script.write_text(
            f"""#!/bin/sh
cd {folder}
echo "$@" >> calls
case "$*" in {refused or "none"}*) echo "error: refused" >&2; exit 1;; esac
[ "$1" = -r ] && shift
[ "$1 $2" = "-c qemu:///system" ] || exit 9
shift 2
answer="answers/$(echo "$*" | tr ' ' _)"
[ -e "$answer" ] || {{ echo "error: there is no $*" >&2; exit 1; }}
case "$(head -n 1 "$answer")" in
  HANG) exec sleep 60;;
  GONE) echo > answers/list_--all_--uuid; exit 1;;
esac
exec cat "$answer"
"""
        )
        script.chmod(0o755)
        return [str(script)]

    return made


def calls(command: list[str]) -> list[str]:
    return pathlib.Path(command[0]).with_name("calls").read_text().splitlines()


def dumps(*numbers: int) -> dict[str, str]:
    """Answer for domains that run."""
    answers = {"version --daemon": "Using API: QEMU 8.2.0\nRunning against daemon: 9.0.0\n"}
    for number in numbers:
        answers[f"dumpxml {UUIDS[number]}"] = xml(number, running=True)
        answers[f"dumpxml {UUIDS[number]} --inactive"] = xml(number, "7")
    return answers


def test_both_forms_of_a_domain_are_read_and_nothing_secret(virsh: Virsh) -> None:
    command = virsh(dumps(0), [UUIDS[0]])
    facts = guests.guest_facts(virsh=command)
    assert facts["domains"][0]["nova"].pop("image", "") == ""
    assert facts == {
        "format": 1,
        "libvirt": {"version": "9.0.0"},
        "domains": [
            {
                "id": UUIDS[0],
                "name": "instance-0",
                "running": True,
                "nova": {
                    "package": "27.1.0",
                    "name": "server-0",
                    "flavor": {"name": "pinned", "ram": 64, "vcpus": 1},
                },
                "live": {"vcpus": 1, "cputune": {"vcpupin": {"0": "6"}}},
                "persistent": {"vcpus": 1, "cputune": {"vcpupin": {"0": "7"}}},
                "unread": ["threads: no process of this domain was found in /proc"],
            }
        ],
    }
    assert all(call.startswith("-r -c qemu:///system ") for call in calls(command))


def test_a_domain_that_is_off_has_no_live_form(virsh: Virsh) -> None:
    (domain,) = guests.guest_facts(virsh=virsh({f"dumpxml {UUIDS[0]}": xml(0)}, UUIDS[:1]))[
        "domains"
    ]
    assert not domain["running"]
    assert "live" not in domain
    assert "unread" not in domain
    assert domain["persistent"]["vcpus"] == 1


def test_what_cannot_be_used_is_told_and_the_others_go_on(virsh: Virsh) -> None:
    answers = dumps(0, 1, 2)
    answers[f"dumpxml {UUIDS[0]}"] = "<domain>"
    answers[f"dumpxml {UUIDS[1]} --inactive"] = "<!DOCTYPE x><domain/>"
    del answers["version --daemon"]
    facts = guests.guest_facts(virsh=virsh(answers, UUIDS[:3]))
    names = {domain["name"]: domain.get("unread", []) for domain in facts["domains"]}
    assert set(names) == {"instance-1", "instance-2"}
    assert names["instance-1"][0].startswith("persistent: the document type")
    broken, version = facts["unread"]
    assert broken.startswith(f"domain {UUIDS[0]}: broken XML")
    assert version.startswith("libvirt: ")
    assert "libvirt" not in facts


@pytest.mark.parametrize("form", ["", " --inactive"])
def test_a_domain_that_vanishes_is_no_fault(virsh: Virsh, form: str) -> None:
    command = virsh(dumps(0) | {f"dumpxml {UUIDS[0]}{form}": "GONE"}, UUIDS[:1])
    facts = guests.guest_facts(virsh=command)
    assert facts == {"format": 1, "libvirt": {"version": "9.0.0"}, "domains": []}


def test_what_is_no_virsh_is_refused() -> None:
    with pytest.raises(InputError, match=r"^echo -r -c qemu:///system: lists '-r'"):
        guests.guest_facts(virsh=["echo"])


def test_a_domain_that_stays_without_xml_is_told(virsh: Virsh) -> None:
    facts = guests.guest_facts(virsh=virsh(dumps(), UUIDS[:1]))
    assert "there is no dumpxml" in facts["unread"][0]


def test_libvirt_without_answers_is_not_asked_forever(virsh: Virsh) -> None:
    hanging = {f"dumpxml {uuid}": "HANG" for uuid in UUIDS[1:]}
    command = virsh(dumps(0) | hanging, UUIDS)
    facts = guests.guest_facts(virsh=command, timeout=1)
    assert [domain["name"] for domain in facts["domains"]] == ["instance-0"]
    assert [line.partition(": ")[0] for line in facts["unread"]] == [
        *[f"domain {uuid}" for uuid in UUIDS[1:4]],
        "domains",
    ]
    assert "did not end within 1 seconds" in facts["unread"][0]
    assert "2 more" in facts["unread"][-1]


def test_a_form_without_an_answer_counts_too(virsh: Virsh) -> None:
    hanging = {f"dumpxml {uuid} --inactive": "HANG" for uuid in UUIDS}
    facts = guests.guest_facts(virsh=virsh(dumps(*range(6)) | hanging, UUIDS), timeout=1)
    assert len(facts["domains"]) == 3
    assert "did not end" in facts["domains"][0]["unread"][0]
    assert "3 more" in facts["unread"][0]


def test_without_a_read_only_connection_the_other_one_is_taken(virsh: Virsh) -> None:
    command = virsh(dumps(0), UUIDS[:1], refused="-r")
    assert len(guests.guest_facts(virsh=command)["domains"]) == 1
    assert not calls(command)[-1].startswith("-r")


def test_libvirt_that_cannot_be_reached_is_told_in_one_line(virsh: Virsh) -> None:
    command = virsh({}, [])
    pathlib.Path(command[0]).with_name("answers").joinpath("list_--all_--uuid").unlink()
    with pytest.raises(InputError) as caught:
        guests.guest_facts(virsh=command)
    text = str(caught.value)
    assert (
        f"{command[0]} -r -c qemu:///system list --all --uuid: failed (error: there is no" in text
    )
    assert "nova_libvirt" in text
    assert len(text.splitlines()) == 1
    with pytest.raises(InputError, match=r"/nowhere -r -c .* cannot be run"):
        guests.guest_facts(virsh=["/nowhere"])


@pytest.mark.parametrize(
    ("wanted", "dumped", "found"),
    [
        ([UUIDS[1].upper()], {1}, {"instance-1"}),
        (["instance-1", UUIDS[2]], {0, 1, 2}, {"instance-1", "instance-2"}),
        (["elsewhere"], {0, 1, 2}, set()),
        ([], set(), set()),
    ],
)
def test_some_domains_alone_can_be_read(
    virsh: Virsh, wanted: list[str], dumped: set[int], found: set[str]
) -> None:
    command = virsh(dumps(0, 1, 2), UUIDS[:3])
    facts = guests.guest_facts(virsh=command, domains=wanted)
    assert {domain["name"] for domain in facts["domains"]} == found
    asked = {UUIDS.index(word) for call in calls(command) for word in call.split() if word in UUIDS}
    assert asked == dumped


def test_virsh_is_run_in_a_container(
    tmp_path: pathlib.Path, virsh: Virsh, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = virsh(dumps(0), UUIDS[:1])
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\n[ "$1 $2" = "exec nova_libvirt" ] && shift 2 && exec "$@"\n')
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(guests, "ENGINES", ("no-such-engine", "docker"))
    assert guests.guest_facts(virsh=command, container="nova_libvirt")["domains"]
    monkeypatch.setattr(guests, "ENGINES", ("no-such-engine",))
    with pytest.raises(InputError, match="nothing that runs containers"):
        guests.guest_facts(virsh=command, container="nova_libvirt")


def test_virsh_is_run_with_the_engine_that_has_the_container(
    tmp_path: pathlib.Path, virsh: Virsh, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = virsh(dumps(0), UUIDS[:1])
    for name, has in {"podman": "exit 125", "docker": "echo 1f2e"}.items():
        script = f'#!/bin/sh\n[ "$1" = inspect ] && {{ {has}; exit; }}\nshift 2 && exec "$@"\n'
        (tmp_path / name).write_text(script.replace("shift", f"[ {name} = docker ] && shift"))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert guests.guest_facts(virsh=command, container="nova_libvirt")["domains"]


def test_a_domain_is_read_once_and_is_the_one_asked_for(virsh: Virsh) -> None:
    answers = {**dumps(0), f"dumpxml {UUIDS[1]}": xml(0)}
    facts = guests.guest_facts(virsh=virsh(answers, [UUIDS[0], UUIDS[0], UUIDS[1]]))
    assert [each["id"] for each in facts["domains"]] == UUIDS[:1]
    assert facts["unread"] == [
        f"domain {UUIDS[1]}: the XML is of '{UUIDS[0]}'; accepted: the domain asked for"
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"virsh": []},
        {"virsh": [""]},
        {"virsh": ["virsh\0"]},
        {"container": "--privileged"},
        {"uri": "-x"},
        {"uri": ""},
        {"timeout": 0},
        {"root": "/nowhere"},
        {"xml": ["relative"]},
        {"xml": ["/nowhere"]},
    ],
)
def test_bad_options_are_refused(options: dict[str, t.Any]) -> None:
    with pytest.raises(InputError) as caught:
        guests.guest_facts(**options)
    assert caught.value.accepted


@pytest.fixture
def captured(tmp_path: pathlib.Path) -> pathlib.Path:
    """Make the tree of a host whose XML and procfs were captured."""
    fields = " ".join(["S", *["0"] * 35, "6", "1", "1"])
    names = {41: "qemu-kvm", 42: "CPU 0/KVM", 43: "IO iothread1"}
    files = {
        "xml/virsh_-r_dumpxml_instance-0": xml(0, running=True),
        "xml/instance-0.xml": xml(0, "7"),
        "xml/instance-1.xml": xml(1),
        "xml/broken.xml": "<domain",
        "xml/notes.txt": "no XML",
        "proc/41/cmdline": f"qemu-kvm\0-uuid\0{UUIDS[0]}\0",
        "proc/41/stat": f"41 (qemu-kvm) {fields}\n",
        "proc/41/status": "VmLck:\t0 kB\nVmSwap:\t4 kB\n",
        "proc/41/numa_maps": "7f00 default N0=3 kernelpagesize_kB=4\n",
    }
    for tid, name in names.items():
        files[f"proc/41/task/{tid}/stat"] = f"{tid} ({name}) {fields}\n"
        files[f"proc/41/task/{tid}/status"] = "Cpus_allowed_list:\t6\n"
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_captured_files_give_the_same_without_a_command(
    captured: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "output", None)
    facts = guests.guest_facts(root=str(captured), xml=["/xml"], memory=True)
    first, second = facts["domains"]
    assert (first["name"], first["running"], first["pid"]) == ("instance-0", True, 41)
    assert first["live"]["cputune"]["vcpupin"] == {"0": "6"}
    assert first["persistent"]["cputune"]["vcpupin"] == {"0": "7"}
    assert [each["kind"] for each in first["threads"]] == ["emulator", "vcpu", "iothread"]
    assert first["memory"] == {"locked_kb": 0, "swapped_kb": 4, "cells": {"0": 12}}
    assert (second["name"], second["running"]) == ("instance-1", False)
    assert [line.partition(":")[0] for line in facts["unread"]] == ["/xml/broken.xml"]
    assert "s3cret" not in json.dumps(facts)


def test_one_bad_file_of_a_folder_does_not_hide_the_others(captured: pathlib.Path) -> None:
    (captured / "xml/loop.xml").symlink_to("loop.xml")
    os.mkfifo(captured / "xml/pipe.xml")
    facts = guests.guest_facts(root=str(captured), xml=["/xml"])
    assert len(facts["domains"]) == 2
    assert [line.partition(":")[0] for line in facts["unread"]] == [
        "/xml/broken.xml",
        "/xml/loop.xml",
        "/xml/pipe.xml",
    ]


def test_where_memory_is_is_read_only_when_asked_for(captured: pathlib.Path) -> None:
    facts = guests.guest_facts(root=str(captured), xml=["/xml/instance-0.xml"])
    assert facts["domains"][0]["memory"] == {"locked_kb": 0, "swapped_kb": 4}
    assert facts["domains"][0]["running"]


def test_a_second_file_of_one_form_is_told(captured: pathlib.Path) -> None:
    (captured / "xml/z.xml").write_text(xml(1, "5"))
    facts = guests.guest_facts(root=str(captured), xml=["/xml/instance-1.xml", "/xml/z.xml"])
    assert facts["domains"][0]["persistent"]["cputune"]["vcpupin"] == {"0": "6"}
    assert facts["unread"][0].startswith("/xml/z.xml: passed over")


def test_threads_that_cannot_be_told_apart_are_left_out(captured: pathlib.Path) -> None:
    for tid in (42, 43):
        stat = captured / f"proc/41/task/{tid}/stat"
        stat.write_text(stat.read_text().replace("CPU 0/KVM", "qemu-kvm"))
    (domain,) = guests.guest_facts(root=str(captured), xml=["/xml/instance-0.xml"])["domains"]
    assert "threads" not in domain
    assert domain["unread"][0].startswith("threads: none has the name of a vCPU")


def test_what_may_not_be_read_of_a_process_is_told(captured: pathlib.Path) -> None:
    for place in ("numa_maps", "task/42/stat"):
        path = captured / "proc/41" / place
        path.unlink()
        path.mkdir()
    (domain,) = guests.guest_facts(root=str(captured), xml=["/xml/instance-0.xml"], memory=True)[
        "domains"
    ]
    assert domain["unread"] == [
        "threads: /proc/41/task/42/stat: is no regular file; accepted: a text file",
        "memory: /proc/41/numa_maps: is no regular file; accepted: a text file",
    ]
    assert domain["memory"] == {"locked_kb": 0, "swapped_kb": 4}


def test_another_root_needs_captured_xml(captured: pathlib.Path) -> None:
    with pytest.raises(InputError, match="xml for what was captured"):
        guests.guest_facts(root=str(captured))
