# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pathlib

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.tree import write_tree

TEXTS = {"nova/a/nova.conf": "a\n", "nova/b/nova.conf": "b\n"}


def files(folder: pathlib.Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_tree_is_written_once(tmp_path: pathlib.Path) -> None:
    first = write_tree(str(tmp_path), TEXTS)
    assert files(tmp_path) == TEXTS
    assert [file.changed for file in first] == [True, True]
    (tmp_path / "nova/b/nova.conf").write_text("old\n")
    second = write_tree(str(tmp_path), TEXTS)
    assert files(tmp_path) == TEXTS
    assert [(file.changed, file.before) for file in second] == [(False, "a\n"), (True, "old\n")]


def test_a_check_writes_nothing(tmp_path: pathlib.Path) -> None:
    found = write_tree(str(tmp_path), TEXTS, check=True)
    assert [file.changed for file in found] == [True, True]
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_where_one_file_cannot_be(tmp_path: pathlib.Path) -> None:
    (tmp_path / "nova/b/nova.conf").mkdir(parents=True)
    with pytest.raises(InputError, match=r"nova/b/nova\.conf: is a folder"):
        write_tree(str(tmp_path), TEXTS)
    assert files(tmp_path) == {}


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "nova").write_text("")
    with pytest.raises(InputError, match="nova: is no folder"):
        write_tree(str(tmp_path), TEXTS)


def test_a_folder_that_is_missing_is_not_made(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match="the folder does not exist"):
        write_tree(str(tmp_path / "none"), TEXTS)
