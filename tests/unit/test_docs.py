# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every example in the documentation is run, or says why not.

Blocks of code are taken from the guides, the README files and CONTRIBUTING.md. Commands run in a
folder of their own that holds the bundled example under the names that the guides use: ``facts``,
``guests``, ``flavors.json``, ``images.json``, ``servers.json``, ``fleet.json``, ``goal.yml``,
``waivers.yml``, ``plan.json``, a captured tree below ``captured``, and an inventory ``INVENTORY``
whose one host is this machine; ``cd examples`` leads to the example under its own names.
What a block shows besides commands must be in their output, and so must blocks of text, in that of
the commands before them. Blocks of shell are files that a command writes. Tasks and plays are run;
a line ``...`` stands for what is left out.

A comment in the line above a block says what else is meant by it:

- ``<!-- fails: TEXT -->``: the last command ends with 2, as an audit does that finds errors, and
  TEXT is in its output
- ``<!-- output of: COMMAND -->``: a block of text or shell shows that, not what the block before it
  prints
- ``<!-- file: NAME -->``: the blocks after it find this one as a file of that name
- ``<!-- schema: NAME -->``: the document is of that format
- ``<!-- part of: PATH -->``: the text is in that file of the repository
- ``<!-- not run: REASON -->``
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from ansible_collections.pinguard.nova.plugins.plugin_utils._model import loading, schema

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = sorted(
    [
        *(path for path in ROOT.glob("docs/*.md") if path.name != "rules.md"),
        *ROOT.glob("roles/*/README.md"),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    ]
)
FENCE = re.compile(
    r"(?:^ *<!-- (?P<mark>[a-z ]+): (?P<said>.+?) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
MARKS = {"fails", "output of", "file", "schema", "part of", "not run"}
EXCUSED = {
    "ansible-galaxy": "tests/install.py installs from each kind of source",
    "cd": "belongs to a clone",
    "git": "there is no such repository yet",
    "jq": "Debian's package is not everywhere",
    "kayobe": "needs kayobe",
    "kolla-ansible": "needs kolla-ansible",
    "make": "the targets are what runs the tests",
    "openstack": "needs a cloud",
    "openstack-ansible": "needs OpenStack-Ansible",
    "pip": "needs an index",
    "ssh": "needs a host",
    "virsh": "needs libvirt",
}
"""Commands that are not run wherever they stand, with the reason."""

SERVER = {
    "id": "15a40ba0-907f-550c-8ba6-f8d735079951",
    "name": "db-1",
    "host": "cmp-01",
    "flavor": "pinned.small",
    "cells": [{"host_cell": 0, "pins": {"0": 1, "1": 9}}],
    "allocation": {"PCPU": 2, "MEMORY_MB": 4096},
}
"""What the fleet file has more than that of the example, as one that is read from a cloud does."""


@dataclasses.dataclass(frozen=True)
class Block:
    """One block of code of a page."""

    page: str
    line: int
    language: str
    mark: str
    said: str
    text: str

    @property
    def excused(self) -> bool:
        return self.mark == "not run"

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@functools.cache
def blocks(page: pathlib.Path) -> tuple[Block, ...]:
    text = page.read_text(encoding="utf-8")
    return tuple(
        Block(
            str(page.relative_to(ROOT)),
            text.count("\n", 0, found.start("language")) + 1,
            found["language"],
            found["mark"] or "",
            found["said"] or "",
            re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE),
        )
        for found in FENCE.finditer(text)
    )


ALL = [block for page in PAGES for block in blocks(page)]
CONSOLE = [block for block in ALL if block.language == "console" and not block.excused]
TEXT = [block for block in ALL if block.language in ("text", "sh") and not block.excused]
YAML = [block for block in ALL if block.language == "yaml"]


def commands(block: Block) -> list[tuple[str, list[str]]]:
    r"""Give each command of a block, and the lines of output that it shows.

    A command goes on in the next line after a backslash or within quotation marks.
    """
    found: list[tuple[str, list[str]]] = []
    open_ended = False
    for line in block.text.splitlines():
        if open_ended:
            found[-1] = (f"{found[-1][0]}\n{line}", [])
        elif line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            assert found, f"{block} begins with output"
            found[-1][1].append(line)
            continue
        command = found[-1][0]
        open_ended = command.endswith("\\") or command.count("'") % 2 == 1
    return found


def excuse(command: str) -> str:
    """Give the reason not to run a command; "" where there is none."""
    plain = re.sub(r"'[^']*'|\"[^\"]*\"|\s#.*", "", command)
    words = [part.split() for part in re.split(r"[|;]|&&", plain)]
    first = [part[0] for part in words if part and part[0] != "xargs"]
    return "; ".join(EXCUSED[word] for word in first if word in EXCUSED)


@pytest.fixture
def place(tmp_path: pathlib.Path) -> pathlib.Path:
    examples = ROOT / "examples"
    shutil.copytree(examples, tmp_path / "examples")
    for name in ("facts", "guests"):
        shutil.copytree(examples / name, tmp_path / name)
    (tmp_path / "captured").mkdir()
    (tmp_path / "captured/cmp-03").symlink_to("/")
    for name in ("flavors", "images", "servers", "fleet"):
        document = yaml.safe_load((examples / f"{name}.yml").read_text(encoding="utf-8"))
        if name == "fleet":
            document["servers"] = [SERVER]
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
        shutil.copy(examples / f"{name}.yml", tmp_path)
    for name in ("goal", "waivers"):
        shutil.copy(examples / f"{name}.yml", tmp_path)
    inventory = {
        "nova_compute": {
            "hosts": {
                "cmp-03": {
                    "ansible_connection": "local",
                    "ansible_python_interpreter": sys.executable,
                    "ansible_become": False,
                }
            }
        }
    }
    for name in ("INVENTORY", "inventory"):
        (tmp_path / name).write_text(yaml.safe_dump(inventory), encoding="utf-8")
    return tmp_path


def run(place: pathlib.Path, command: str) -> tuple[int, str]:
    """Run a command in the place, with nothing of the clone's settings but the collection."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("ANSIBLE_", "PYTHON", "PYTEST_"))
    }
    programs = [str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]
    paths = {
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "build"),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "COLUMNS": "100",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "HOME": str(place),
        "PATH": os.pathsep.join(programs),
        "PWD": str(place),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=place,
        env=kept | paths,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout


def assert_shown(block: Block, shown: list[str], output: str, place: pathlib.Path) -> None:
    """Fail where a line is not in the output, however either is broken into lines."""
    got = " ".join(output.replace(f"{place}/", "").split())
    wanted = [" ".join(line.split()) for line in shown if line.strip() not in ("", "...")]
    missing = [line for line in wanted if line not in got]
    assert not missing, f"{block}: not in the output: {missing}\n{output}"


def prepare(block: Block, place: pathlib.Path) -> None:
    """Write the files that the page shows before the block, and the plan if it is asked for."""
    for other in blocks(ROOT / block.page):
        if other.mark == "file" and other.line < block.line:
            (place / other.said).parent.mkdir(parents=True, exist_ok=True)
            (place / other.said).write_text(other.text, encoding="utf-8")
    if "plan.json" in block.text and "upgrade_json_path" not in block.text:
        written = f"-e @{ROOT}/examples/upgrade.yml -e upgrade_json_path={place}/plan.json"
        status, output = run(place, f"ansible-playbook pinguard.nova.upgrade_plan {written}")
        assert status == 0, output


def run_block(block: Block, place: pathlib.Path) -> str:
    """Run the commands of a block; give what all of them print."""
    prepare(block, place)
    due = commands(block)
    said = ""
    before = ""
    for number, (command, shown) in enumerate(due, start=1):
        if command == "cd examples":
            before = "cd examples && "
        if excuse(command):
            continue
        status, output = run(place, before + command)
        fails = block.mark == "fails"
        last = number == len(due)
        expected = {2} if fails and last else {0, 2} if fails else {0}
        assert status in expected, f"{block}: {command}: {status}\n{output}"
        assert not last or not fails or block.said in output, f"{block}: {command}\n{output}"
        assert_shown(block, shown, output, place)
        said += output
    return said


@pytest.mark.parametrize("block", CONSOLE, ids=str)
def test_commands_run(block: Block, place: pathlib.Path) -> None:
    run_block(block, place)


@pytest.mark.parametrize("block", TEXT, ids=str)
def test_text_is_what_is_printed(block: Block, place: pathlib.Path) -> None:
    if block.mark == "output of":
        _status, output = run(place, block.said)
    else:
        before = [b for b in blocks(ROOT / block.page) if b in CONSOLE and b.line < block.line]
        assert before, f"{block} follows no command: say <!-- output of: COMMAND -->"
        output = run_block(before[-1], place)
    assert_shown(block, block.text.splitlines(), output, place)


@pytest.mark.parametrize(
    "block",
    [b for b in YAML if not b.excused and b.mark not in ("file", "schema", "part of")],
    ids=str,
)
def test_tasks_and_plays_run(block: Block, place: pathlib.Path) -> None:
    prepare(block, place)
    document = yaml.safe_load(block.text)
    assert isinstance(document, list), f"{block}: neither tasks nor plays"
    if "hosts" not in document[0]:
        facts = json.loads((place / "facts/cmp-03.json").read_text(encoding="utf-8"))
        flavors = json.loads((place / "flavors.json").read_text(encoding="utf-8"))
        given = {
            "ansible_facts": {"pinguard": facts},
            "flavors": flavors["flavors"],
            "nova_cpu_dedicated_set": "2-7,10-15",
        }
        document = [{"hosts": "all", "gather_facts": False, "vars": given, "tasks": document}]
    (place / "play.yml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    status, output = run(place, "ansible-playbook -i INVENTORY play.yml")
    if block.mark == "fails":
        assert (status, block.said in output) == (2, True), f"{block}\n{output}"
    else:
        assert status == 0, f"{block}\n{output}"


@pytest.mark.parametrize("block", [b for b in ALL if b.mark == "schema"], ids=str)
def test_documents_are_of_their_format(block: Block) -> None:
    (document,) = loading.parse(block.text, f"{block.said}.yml")
    schema.check(document, f"{block.said}:1")


@pytest.mark.parametrize("block", [b for b in ALL if b.mark == "part of"], ids=str)
def test_parts_are_those_of_their_files(block: Block) -> None:
    assert block.text in (ROOT / block.said).read_text(encoding="utf-8")


@pytest.mark.parametrize("block", YAML, ids=str)
def test_variables_exist(block: Block) -> None:
    known = "\n".join(
        path.read_text(encoding="utf-8")
        for pattern in ("roles/*/meta/argument_specs.yml", "playbooks/*.yml", "roles/*/tasks/*.yml")
        for path in ROOT.glob(pattern)
    )
    prefixes = "audit|guest_audit|rolling_upgrade|pinguard"
    named = set(re.findall(rf"^\s*((?:{prefixes})_\w+):", block.text, re.MULTILINE))
    assert not {name for name in named if not re.search(rf"\b{name}\b", known)}


def test_every_block_is_run_or_excused() -> None:
    checked = {*CONSOLE, *TEXT, *YAML}
    left = [
        str(block)
        for block in ALL
        if block not in checked and block.mark not in ("schema", "file", "part of", "not run")
    ]
    assert not left, f"neither run nor excused: {left}"
    assert not [str(block) for block in ALL if block.mark and block.mark not in MARKS]


def test_no_fence_is_overlooked() -> None:
    for page in PAGES:
        fences = re.findall(r"^ *```", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(fences) == 2 * len(blocks(page)), page
