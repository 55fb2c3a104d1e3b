# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import typing as t

import pytest
import yaml

from ansible_collections.pinguard.nova.plugins.module_utils._read import nova_options
from ansible_collections.pinguard.nova.plugins.modules import nova_conf

testing = pytest.importorskip(
    "ansible.module_utils.testing", reason="ansible-core 2.18 has no way to pass arguments"
)

if t.TYPE_CHECKING:
    import pathlib

SHARED = "compute.cpu_shared_set"
BEFORE = "[database]\nconnection = s3cret\n# sets\n[compute]\ncpu_shared_set = 0\n"
AFTER = BEFORE.replace("= 0", "= 0-1")


@pytest.fixture
def conf(tmp_path: pathlib.Path) -> pathlib.Path:
    """Make a configuration that holds a password, and give its path."""
    path = tmp_path / "nova.conf"
    path.write_text(BEFORE)
    path.chmod(0o640)
    return path


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], conf: pathlib.Path
) -> t.Callable[..., dict[str, t.Any]]:
    """Give a function that runs the module on that configuration, unless told otherwise."""

    def running(**arguments: object) -> dict[str, t.Any]:
        given = {
            "path": str(conf),
            "nova_conf": [str(conf.parent)],
            "settings": {SHARED: "0-1"},
            "guard": False,
            **arguments,
        }
        with testing.patch_module_args(given), pytest.raises(SystemExit):
            nova_conf.main()
        output = capsys.readouterr().out
        assert "s3cret" not in output
        result: dict[str, t.Any] = json.loads(output)
        return result

    return running


Run = t.Callable[..., dict[str, t.Any]]


def test_it_writes_once(run: Run, conf: pathlib.Path) -> None:
    result = run(backup=True)
    assert result["changed"]
    assert result["options"] == {SHARED: {"before": "0", "after": "0-1"}}
    assert result["nova"]["after"]["options"][SHARED] == {"value": "0-1", "where": f"{conf}:5"}
    assert conf.read_text() == AFTER
    assert conf.stat().st_mode & 0o777 == 0o640
    with open(result["backup_file"], encoding="utf-8") as kept:
        assert kept.read() == BEFORE
    before = sorted(os.listdir(conf.parent))
    assert len(before) == 2
    again = run(backup=True)
    assert (again["changed"], "backup_file" in again) == (False, False)
    assert sorted(os.listdir(conf.parent)) == before


def test_check_mode_shows_and_writes_nothing(run: Run, conf: pathlib.Path) -> None:
    result = run(_ansible_check_mode=True, _ansible_diff=True, backup=True, mode="0600")
    assert result["changed"]
    shown, attributes = result["diff"]
    assert shown["before"] == "[compute]\ncpu_shared_set = 0\n"
    assert shown["after"] == "[compute]\ncpu_shared_set = 0-1\n"
    assert (attributes["before"]["mode"], attributes["after"]["mode"]) == ("0640", "0600")
    assert (conf.read_text(), os.listdir(conf.parent)) == (BEFORE, [conf.name])


def test_the_mode_alone_may_change(run: Run, conf: pathlib.Path) -> None:
    assert run(settings={}, mode="0600")["changed"]
    assert conf.stat().st_mode & 0o777 == 0o600
    assert conf.read_text() == BEFORE


def test_a_file_is_made_where_that_is_allowed(run: Run, conf: pathlib.Path) -> None:
    new = conf.parent / "z.conf"
    assert "no such file" in run(path=str(new))["msg"]
    assert run(path=str(new), create=True, _ansible_check_mode=True)["changed"]
    assert not new.exists()
    assert not run(path=str(new), create=True, settings={SHARED: None, "vcpu_pin_set": None}).get(
        "changed"
    )
    assert run(path=str(new), create=True, mode="0640")["changed"]
    assert new.read_text() == "[compute]\ncpu_shared_set = 0-1\n"
    assert new.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("wrong", [{"mode": "zzz"}, {"owner": "nosuch"}, {"group": "nosuch"}])
@pytest.mark.parametrize("check", [True, False])
def test_nothing_is_made_for_who_is_not_there(
    run: Run, conf: pathlib.Path, wrong: dict[str, str], check: bool
) -> None:
    new = conf.parent / "z.conf"
    assert run(path=str(new), create=True, _ansible_check_mode=check, **wrong)["failed"]
    assert os.listdir(conf.parent) == [conf.name]


def test_a_link_stays_a_link(run: Run, conf: pathlib.Path) -> None:
    target = conf.rename(conf.parent / "nova-27.1.0")
    conf.symlink_to(target.name)
    result = run()
    assert (result["changed"], result["path"]) == (True, str(target.resolve()))
    assert conf.is_symlink()
    assert target.read_text() == AFTER


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"guard": True}, "guard is True but all of the following are missing: release"),
        ({"settings": {"connection": "x"}}, "settings: 'connection' is no option to set"),
        ({"path": "/none/nova.conf"}, "/none/nova.conf: no such file"),
        ({"path": "/none/nova.conf", "create": True}, "/none: no such directory"),
        ({"nova_conf": []}, "nova-compute does not read this file"),
        ({"path": ""}, "path: '' is no absolute path"),
        ({"mode": "zzz"}, "mode must be in octal or symbolic form"),
        ({"owner": "nosuch"}, "failed to look up user nosuch"),
        ({"group": "nosuch"}, "failed to look up group nosuch"),
    ],
)
def test_bad_input_fails_in_one_line(
    run: Run, conf: pathlib.Path, arguments: dict[str, t.Any], message: str
) -> None:
    result = run(**arguments)
    assert result["failed"]
    assert message in result["msg"]
    assert "\n" not in result["msg"]
    assert conf.read_text() == BEFORE


def test_a_file_that_nova_would_refuse_is_left_alone(run: Run, conf: pathlib.Path) -> None:
    conf.write_text("connection s3cret\n")
    assert run()["msg"].startswith(f"{conf}:1: neither a section nor a key")
    assert conf.read_text() == "connection s3cret\n"


def test_every_option_is_documented() -> None:
    documented = str(yaml.safe_load(nova_conf.DOCUMENTATION)["options"]["settings"])
    for group, name in nova_options.OPTIONS:
        assert f"V({name if group == 'DEFAULT' else f'{group}.{name}'})" in documented
