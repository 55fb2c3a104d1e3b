# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rendered flavors are held against ``tests/unit/golden/flavors``; GOLDEN=write writes these."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import tempfile
import typing as t

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import flavor_files
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor_wish import wishes
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    Fleet,
    HostClass,
    Scheduler,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.flavor_change import (
    Change,
    changes,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.flavor_design import (
    Design,
    Reason,
    design,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._render.flavor_forms import (
    FORMS,
    MARK,
    earlier,
    render,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import examples

GOLDEN = pathlib.Path(__file__).parents[3] / "golden" / "flavors"
WISHES: list[dict[str, t.Any]] = [
    {"name": "pinned.large", "intent": "pinned", "vcpus": 8, "ram": 8192, "disk": 40},
    {
        "name": "rt.small",
        "intent": "pinned-realtime",
        "vcpus": 4,
        "ram": 4096,
        "id": "7",
        "public": False,
        "extra_specs": {"trait:CUSTOM_REALTIME": "required"},
    },
    {
        "name": "7 router",
        "intent": "mixed",
        "vcpus": 6,
        "ram": 6144,
        "numa_cells": 2,
        "emulator": "isolate",
    },
    {"name": "numa.new", "intent": "numa", "vcpus": 4, "ram": 4096, "numa_cells": 2},
]
TODAY = (
    Flavor("pinned.large", 4, 8192, {"hw:cpu_policy": "dedicated"}, 40, id="1f2e"),
    Flavor("rt.small", 4, 4096, {"hw:cpu_policy": "dedicated", "quota:cpu_quota": "1"}, id="7"),
    Flavor(
        "7 router",
        6,
        6144,
        {
            "hw:cpu_policy": "mixed",
            "hw:cpu_dedicated_mask": "^0,^3",
            "hw:numa_nodes": "2",
            "hw:mem_page_size": "large",
            "hw:emulator_threads_policy": "isolate",
        },
    ),
)
HOSTILE = "-x {{ lookup('pipe', 'id') }} {% %} {# #} \"$(id)\" `id` ${path.cwd} %{ if } ' \\ # é: *"


def made(*given_: dict[str, t.Any]) -> tuple[Design, ...]:
    host = examples.new_style(machine=examples.topology(huge_pages=16384)).host
    fleet = Fleet(Scheduler("34.0.0"), (HostClass(host, ("cmp-1",)),))
    return design(wishes(list(given_ or WISHES)), fleet)


def new(designs: tuple[Design, ...]) -> tuple[Change, ...]:
    return changes([each.flavor for each in designs], (), ())


@pytest.fixture(scope="module")
def designs() -> tuple[Design, ...]:
    return made()


@pytest.mark.parametrize("today", ["new", "there"])
@pytest.mark.parametrize("form", FORMS)
def test_files_are_those_that_were_agreed_on(
    form: str, today: str, designs: tuple[Design, ...]
) -> None:
    now = TODAY if today == "there" else ()
    file = render(designs, changes([each.flavor for each in designs], now, ()), form)
    found = f"==> {file.path} <==\n{file.text}\n" + "".join(f"--- {note}\n" for note in file.notes)
    agreed = GOLDEN / f"{form}-{today}.txt"
    if os.environ.get("GOLDEN") == "write":
        agreed.write_text(found, encoding="utf-8")
    assert found == agreed.read_text(encoding="utf-8")
    assert MARK in file.text
    assert file.text.endswith("\n")
    assert max(map(len, file.text.splitlines())) <= 120


def bare(flavors: t.Iterable[Flavor]) -> list[t.Any]:
    """List what a file says of flavors."""
    return [
        (each.name, each.vcpus, each.memory_mb, each.disk_gb, dict(each.extra_specs))
        for each in flavors
    ]


@pytest.mark.parametrize("form", ["tasks", "openstack_ansible", "kayobe", "osism"])
def test_what_is_written_is_read_as_the_same_flavors(
    form: str, designs: tuple[Design, ...]
) -> None:
    file = render(designs, new(designs), form)
    found = flavor_files.flavors(yaml.safe_load(file.text))
    assert bare(found) == bare(each.flavor for each in designs)


def hostile(name: str = HOSTILE, value: str = HOSTILE) -> tuple[Design, ...]:
    wish = {**WISHES[0], "name": name, "extra_specs": {"x:y": value}}
    (found,) = wishes([wish])
    flavor = Flavor(name, 8, 8192, {"hw:cpu_policy": "dedicated", "x:y": value}, 40)
    # Texts of reasons hold names of hosts.
    return (Design(found, flavor, (Reason("hw:cpu_policy", "dedicated", f"{name}\n{name}"),), ()),)


@pytest.mark.parametrize("form", ["tasks", "openstack_ansible", "kayobe"])
def test_ansible_takes_no_name_for_a_template(form: str) -> None:
    text = render(hostile(), new(hostile()), form).text
    item = DataLoader().load(text)
    if form == "tasks":
        assert item[0]["name"] == f"Flavor {HOSTILE}"
        item = item[0]["openstack.cloud.compute_flavor"]
    elif form == "kayobe":
        (item,) = item["openstack_flavors"]
    else:
        (item,) = item["openstack_resources_compute"]["flavors"]
        item = {**item["specs"][0], "extra_specs": item["extra_specs"]}
    assert item["name"] == item["extra_specs"]["x:y"] == HOSTILE
    unsafe = [line for line in text.splitlines() if "lookup" in line and "#" not in line[:6]]
    assert unsafe
    assert all("!unsafe" in line for line in unsafe)


def test_a_shell_takes_no_name_for_a_command() -> None:
    text = render(hostile(), new(hostile()), "commands").text
    words = shlex.split(text, comments=True)
    assert words[words.index("--") :] == ["--", HOSTILE]
    assert f"x:y={HOSTILE}" in words


def test_a_value_is_no_option(designs: tuple[Design, ...]) -> None:
    (wish,) = wishes([{**WISHES[0], "id": "-7", "extra_specs": {"-x": "1"}}])
    flavor = Flavor("a", 8, 8192, {"-x": "1"}, 40, id="-7")
    made_ = (Design(wish, flavor, (), ()),)
    assert {"--id=-7", "--property=-x=1"} <= set(
        shlex.split(render(made_, new(made_), "commands").text, comments=True)
    )


def test_terraform_takes_no_name_for_a_template() -> None:
    text = render(hostile(), new(hostile()), "terraform").text
    body = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in body if re.search(r"(?<!\$)\$\{|(?<!%)%\{", line)]
    assert 'resource "openstack_compute_flavor_v2" "-x' not in text


texts = st.text(min_size=1, max_size=40).filter(lambda x: x.isprintable() and x == x.strip())


@given(texts)
def test_any_text_comes_back(text: str) -> None:
    designs = hostile(text, text)
    found = yaml.safe_load(render(designs, new(designs), "osism").text)["mandatory"][0]
    assert found["name"] == found["x:y"] == text
    words = shlex.split(render(designs, new(designs), "commands").text, comments=True)
    assert words[-1] == text
    item = DataLoader().load(render(designs, new(designs), "kayobe").text)
    assert item["openstack_flavors"][0]["name"] == text


@given(texts, texts)
def test_terraform_would_destroy_what_leaves_its_file(one: str, other: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, FORMS["terraform"].path)
        first, then = (
            render(hostile(name), new(hostile(name)), "terraform") for name in (one, other)
        )
        assert earlier(folder, "terraform", first) == ()
        path.write_text(first.text, "utf-8")
        assert earlier(folder, "terraform", first) == ()
        assert earlier(folder, "terraform", then) == (() if one == other else (one,))
        assert earlier(folder, "commands", then) == ()


@pytest.mark.parametrize(
    ("wishes_", "gone"),
    [
        ([{"name": "a b"}], ()),
        ([{"name": "a b", "threads": "prefer", "swap": 0}], ()),
        ([{"name": "a.b"}, {"name": "a b"}], ("a b",)),
        ([{"name": "a b", "disk": 0}], ("a b",)),
        ([{"name": "a b", "id": "7"}], ("a b",)),
        ([{"name": "a b", "public": False}], ("a b",)),
        ([], ("a b",)),
    ],
)
def test_terraform_would_make_anew_what_it_cannot_change(
    tmp_path: pathlib.Path, wishes_: list[dict[str, t.Any]], gone: tuple[str, ...]
) -> None:
    before = made({**WISHES[0], "name": "a b"})
    text = render(before, new(before), "terraform").text
    (tmp_path / FORMS["terraform"].path).write_text(text, "utf-8")
    then = made(*({**WISHES[0], **each} for each in wishes_)) if wishes_ else ()
    assert earlier(str(tmp_path), "terraform", render(then, new(then), "terraform")) == gone


def test_files_of_another_hand_are_read_too(tmp_path: pathlib.Path) -> None:
    text = 'resource "openstack_compute_flavor_v2" "x" {\n  name = "a\\q"\n}\n'
    (tmp_path / FORMS["terraform"].path).write_text(text, "utf-8")
    assert earlier(str(tmp_path), "terraform", render((), (), "terraform")) == ("a\\q",)


def test_resources_have_names_of_their_own() -> None:
    named = made(*({**WISHES[0], "name": name} for name in ("a.b", "a b", "7", "ä")))
    text = render(named, new(named), "terraform").text
    labels = re.findall(r'resource "openstack_compute_flavor_v2" (".*") \{', text)
    assert list(map(json.loads, labels)) == ["a_b", "a_b_2", "flavor_7", "_"]


def test_what_a_form_cannot_say_is_refused() -> None:
    swapping = made({**WISHES[0], "swap": 512})
    with pytest.raises(InputError, match="no flavor with ephemeral disk or swap"):
        render(swapping, new(swapping), "osism")
    assert "swap: 512" in render(swapping, new(swapping), "tasks").text
