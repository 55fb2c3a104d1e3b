# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.writing import write_all

if t.TYPE_CHECKING:
    import pathlib


def test_files_are_written_where_they_differ(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o600)
    texts = {str(tmp_path / name): "new" for name in "ab"}
    assert [file.changed for file in write_all(texts, check=True)] == [True, True]
    assert os.listdir(tmp_path) == ["a"]
    assert [file.before for file in write_all(texts)] == ["old", ""]
    assert [file.changed for file in write_all(texts)] == [False, False]
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in "ab"] == [0o600, 0o644]


def test_a_large_report_is_replaced(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a"
    with path.open("w") as file:
        for _chunk in range(65):
            file.write("x" * (1 << 20))
    (written,) = write_all({str(path): "new"})
    assert (written.changed, path.read_text()) == (True, "new")


def test_none_is_written_unless_all_can_be(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match=r"^/proc/nope\.json: cannot be written"):
        write_all({str(tmp_path / "a"): "new", "/proc/nope.json": "new"})
    assert os.listdir(tmp_path) == []
