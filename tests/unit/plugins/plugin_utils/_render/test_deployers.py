# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rendered files are held against ``tests/unit/golden/render``; GOLDEN=write writes these anew."""

from __future__ import annotations

import os
import pathlib
import re
import typing as t

import pytest
import yaml

from ansible_collections.pinguard.nova.plugins.module_utils._read import oslo_ini
from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import parse_nova
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import StrayOption
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Fleet, HostClass
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import CellPlace, Server
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.wish import (
    ExplicitSets,
    Wish,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import schedule
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.proposal import Target
from ansible_collections.pinguard.nova.plugins.plugin_utils._render.deployers import (
    DEPLOYERS,
    File,
    refuse_harm,
    render,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import examples

GOLDEN = pathlib.Path(__file__).parents[3] / "golden" / "render"

CASES = {
    "shared": (Target(Wish(shared_cores=2)), {}),
    "dedicated": (Target(Wish()), {"data_path_cpus": parse_nova("1,9")}),
    "realtime": (Target(Wish(shared_cores=1), intent="realtime"), {"reserved_host_cpus": 2}),
    "legacy": (Target(Wish(), "legacy"), {}),
}


def classes(*names: str, **host: t.Any) -> tuple[HostClass, ...]:
    names = names or ("cmp-01", "cmp-02")
    return (HostClass(examples.legacy(name=names[0], **host).host, names),)


def rendered(hosts: tuple[HostClass, ...], target: Target, deployer: str) -> tuple[File, ...]:
    return render(Fleet(schedule.NEWEST_SCHEDULER, hosts), target, deployer)


def shown(files: tuple[File, ...]) -> str:
    return "".join(
        f"==> {file.path} <==\n{file.text}\n--- for {', '.join(file.hosts)}\n"
        + "".join(f"--- {note}\n" for note in file.notes)
        for file in files
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("deployer", DEPLOYERS)
def test_files_are_those_that_were_agreed_on(deployer: str, case: str) -> None:
    target, host = CASES[case]
    found = shown(rendered(classes(**host), target, deployer))
    agreed = GOLDEN / f"{deployer}-{case}.txt"
    if os.environ.get("GOLDEN") == "write":
        agreed.write_text(found, encoding="utf-8")
    assert found == agreed.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("deployer", DEPLOYERS)
def test_what_is_rendered_can_be_read_and_has_no_empty_value(deployer: str, case: str) -> None:
    target, host = CASES[case]
    for file in rendered(classes(**host), target, deployer):
        assert "pinguard.nova.render_config" in file.text
        assert file.text.endswith("\n")
        assert not file.text.endswith("\n\n")
        if file.path.endswith((".yml", ".yaml")):
            assert None not in list(leaves(yaml.safe_load(file.text)))
        else:
            assignments = [line for line in file.text.splitlines() if "=" in line[1:]]
            assert assignments
            assert all(line.partition("=")[2].strip() for line in assignments)


def leaves(node: t.Any) -> t.Iterator[t.Any]:
    if isinstance(node, dict | list):
        for value in node.values() if isinstance(node, dict) else node:
            yield from leaves(value)
    else:
        yield node or None


def test_nova_reads_what_was_meant() -> None:
    (file, *_others) = rendered(classes("a"), Target(Wish(shared_cores=1)), "kolla_ansible")
    read = {
        (found.section, found.key): found.value for found in oslo_ini.parse(file.text, file.path)
    }
    assert read == {
        ("compute", "cpu_shared_set"): "1,9,17,25",
        ("compute", "cpu_dedicated_set"): "2-7,10-15,18-23,26-31",
    }


def test_a_file_is_the_same_whatever_is_configured_today() -> None:
    target = Target(ExplicitSets("1,17", "2-7,18-23"))
    today: list[dict[str, t.Any]] = [
        {"vcpu_pin_set": "1-3"},
        {"vcpu_pin_set": None, "cpu_dedicated_set": "4"},
    ]
    texts = [
        [file.text for file in rendered(classes(**options), target, "kolla_ansible")]
        for options in today
    ]
    assert texts[0] == texts[1]


def test_a_default_that_must_win_stays_written_out() -> None:
    target = Target(Wish())
    for reserved in (2, 0):
        (file, *_others) = rendered(
            classes("a", reserved_host_cpus=reserved), target, "nova_conf_d"
        )
        assert "[DEFAULT]\nreserved_host_cpus = 0\n" in file.text


def test_notes_name_every_line_that_must_go() -> None:
    stray = StrayOption(
        "cpu_shared_set", "DEFAULT", "/etc/nova/a.conf:3", "[compute] cpu_shared_set"
    )
    (file, *_others) = rendered(classes("a", strays=(stray,)), Target(Wish()), "nova_conf_d")
    assert file.notes[:2] == (
        "Take out vcpu_pin_set (/etc/nova/nova.conf:2): a merged file cannot unset it.",
        "Take out cpu_shared_set where Nova does not read it (/etc/nova/a.conf:3): a merged file "
        "cannot unset it.",
    )


def test_hosts_of_equal_contents_share_an_overlay() -> None:
    one, other = classes("a", "b"), classes("c", file_backed_memory=1)
    unlike = classes("d", data_path_cpus=0b10)
    files = rendered((*one, *other, *unlike), Target(Wish(shared_cores=1)), "edpm")
    assert [(file.path, file.hosts) for file in files] == [
        ("a/nova-cpu-pinning.yaml", ("a", "b", "c")),
        ("a/node-set.yaml", ("a", "b", "c")),
        ("d/nova-cpu-pinning.yaml", ("d",)),
        ("d/node-set.yaml", ("d",)),
    ]


def test_cpus_of_servers_become_dedicated_on_all_equal_hosts() -> None:
    flavor = Flavor("pinned", 2, 1024, {"hw:cpu_policy": "dedicated"})
    places = (CellPlace(0, {0: 1, 1: 17}),)
    server = Server("7e1c", "db-1", "cmp-02", flavor, places=places)
    fleet = Fleet(schedule.NEWEST_SCHEDULER, classes(), servers=(server,))
    files = render(fleet, Target(Wish(shared_cores=1)), "nova_conf")
    texts = {file.text for file in files if file.path.endswith("nova.conf")}
    assert len(texts) == 1
    assert "cpu_shared_set = 2,9,18,25\n" in texts.pop()


@pytest.mark.parametrize("name", ["../x", "a/b", ".", "..", "-a", "a\n", "", "a" * 300, "ä", "{0}"])
@pytest.mark.parametrize("deployer", DEPLOYERS)
def test_a_name_that_is_no_part_of_a_path_is_refused(deployer: str, name: str) -> None:
    with pytest.raises(InputError, match="cannot stand in a path"):
        rendered(classes("good", name), Target(Wish()), deployer)


def test_the_name_of_an_object_has_small_letters() -> None:
    with pytest.raises(InputError, match="small letters"):
        rendered(classes("Cmp_1"), Target(Wish()), "edpm")


@pytest.mark.parametrize("ending", ["", ".yml", ".yaml", ".json"])
def test_variables_of_a_host_are_not_hidden_by_a_folder(
    tmp_path: pathlib.Path, ending: str
) -> None:
    files = rendered(classes("a"), Target(Wish()), "openstack_ansible")
    refuse_harm(files, str(tmp_path))
    (tmp_path / "host_vars").mkdir()
    (tmp_path / "host_vars" / f"a{ending}").write_text("{x: 1}\n")
    told = rf"host_vars/a{re.escape(ending)}: Ansible would read the folder"
    with pytest.raises(InputError, match=told):
        refuse_harm(files, str(tmp_path))


def test_a_file_of_the_operator_is_not_replaced(tmp_path: pathlib.Path) -> None:
    files = rendered(classes("a"), Target(Wish()), "kolla_ansible")
    (tmp_path / "nova" / "a").mkdir(parents=True)
    own = tmp_path / "nova" / "a" / "nova.conf"
    own.write_text(files[0].text)
    refuse_harm(files, str(tmp_path))
    own.write_text("[DEFAULT]\ndebug = true\n")
    with pytest.raises(InputError, match=r"nova/a/nova\.conf: the file was not written by this"):
        refuse_harm(files, str(tmp_path))


def test_one_bad_host_refuses_all() -> None:
    good, bad = classes("a"), classes("b", data_path_cpus=0b11111110)
    with pytest.raises(InputError, match="host b: cell 0: 1 cores are wished shared"):
        rendered((*good, *bad), Target(Wish(shared_cores=1)), "nova_conf")
