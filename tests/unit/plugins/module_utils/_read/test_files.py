# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno
import os
import pathlib
import typing as t

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree, read_text

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Attempt = Callable[..., t.Any]
    Plant = Callable[[Mapping[str, str]], Tree]


def test_a_file_is_read_whole(plant: Plant) -> None:
    text = "first\r\nsecond \u00e9\n"
    assert plant({"etc/file": text}).text("/etc/file") == text
    assert plant({"etc/file": text}).text("etc/./file") == text


def test_a_missing_file(plant: Plant) -> None:
    tree = plant({"etc/file": ""})
    assert tree.optional("/etc/none") is None
    assert tree.optional("/etc/file/below") is None
    assert tree.names("/etc/none") is None
    assert tree.names("/etc/file") is None
    assert not tree.exists("/etc/none/deeper")
    with pytest.raises(InputError, match=r"^/etc/none: no such file"):
        tree.text("/etc/none")


def test_what_is_there(plant: Plant) -> None:
    tree = plant({"etc/b": "", "etc/a": ""})
    assert tree.names("/etc") == ["a", "b"]
    assert tree.is_directory("/etc")
    assert not tree.is_directory("/etc/a")
    assert tree.exists("/etc/a")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"good\nb\xff", "/file:2: is not UTF-8"),
        (b"good\n\ngood\0", "/file:3: holds a NUL byte"),
        (b"x" * 101, "/file: the file is too large; accepted: at most 100 bytes"),
    ],
)
def test_files_that_are_no_text(tmp_path: pathlib.Path, data: bytes, message: str) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(InputError, match=f"^{message}"):
        Tree(str(tmp_path)).text("/file", 100)


def test_a_file_may_be_as_large_as_its_limit(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 100)
    assert len(Tree(str(tmp_path)).text("/file", 100)) == 100


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: pathlib.Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputError, match="too large; accepted: at most 67108864 bytes"):
        read_text(str(tmp_path / "file"))


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(InputError, match=r"^/dev/zero: is no regular file"):
        read_text("/dev/zero")


def test_a_directory_is_no_file(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match="is no regular file"):
        Tree(str(tmp_path)).text("/")


def test_a_fifo_does_not_hang(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InputError, match=r"^/fifo: is no regular file"):
        Tree(str(tmp_path)).text("/fifo")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EINVAL])
def test_a_file_that_the_system_does_not_give(
    plant: Plant, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refused(*_args: object) -> t.NoReturn:
        raise OSError(number, os.strerror(number))

    tree = plant({"file": "text"})
    for call in ("read", "open", "listdir"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, refused)
            reader = tree.names if call == "listdir" else tree.optional
            with pytest.raises(InputError, match=rf"^/file: cannot .*\({os.strerror(number)}\)"):
                reader("/file")


def test_a_name_that_is_too_long(tmp_path: pathlib.Path) -> None:
    tree = Tree(str(tmp_path))
    for read in (tree.optional, tree.names, tree.exists):
        with pytest.raises(InputError, match="cannot be read"):
            read("/" + "x" * 5000)


@pytest.mark.parametrize("path", ["/a\0b", "/a\ud800"])
def test_what_is_no_path(tmp_path: pathlib.Path, path: str) -> None:
    with pytest.raises(InputError, match="is no path"):
        Tree(str(tmp_path)).text(path)


def test_a_procfs_file_says_it_is_empty_and_is_not() -> None:
    assert os.stat("/proc/self/status").st_size == 0
    assert "Name:" in Tree().text("/proc/thread-self/status")


def test_links_stay_inside_the_root(tmp_path: pathlib.Path) -> None:
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (tmp_path / "secret").write_text("outside")
    (root / "secret").write_text("inside")
    (root / "etc/absolute").symlink_to("/secret")
    (root / "etc/climbing").symlink_to("../../../../secret")
    (root / "etc/outside").symlink_to(tmp_path / "secret")
    (root / "etc/folder").symlink_to("/etc")
    (root / "etc/dangling").symlink_to("none")
    tree = Tree(str(root))
    assert tree.text("/etc/absolute") == "inside"
    assert tree.text("/etc/climbing") == "inside"
    assert tree.text("/etc/folder/folder/absolute") == "inside"
    assert tree.text("/../../secret") == "inside"
    assert tree.optional("/etc/outside") is None
    assert tree.optional("/etc/dangling") is None


def test_a_root_may_be_a_link(tmp_path: pathlib.Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_text("text")
    (tmp_path / "link").symlink_to("real")
    assert Tree(str(tmp_path / "link")).text("/file") == "text"


def test_a_loop_of_links_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    tree = Tree(str(tmp_path))
    for read in (tree.optional, tree.names, tree.exists):
        with pytest.raises(InputError, match=r"^/a: too many symbolic links"):
            read("/a")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.one_of(st.text(), st.text("./ab\0", max_size=12)), data=st.binary(max_size=40))
def test_any_path_and_data_give_text_or_a_refusal_of_one_line(
    attempt: Attempt, tmp_path: pathlib.Path, path: str, data: bytes
) -> None:
    (tmp_path / "a").write_bytes(data)
    tree = Tree(str(tmp_path))
    assert attempt(tree.optional, path) in (None, data.decode("utf-8", "replace"))
    assert attempt(tree.exists, path) in (None, True, False)
    assert attempt(tree.names, path) in (None, ["a"])


def test_a_device_is_read_on_the_live_host_alone(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("text")
    assert Tree().device("/dev/zero", 4) == bytes(4)
    assert Tree().device(str(tmp_path / "file"), 4) is None
    assert Tree().device("/dev/none", 4) is None
    assert Tree(str(tmp_path)).device("/dev/zero", 4) is None


def test_bytes_that_are_no_text(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_bytes(b"a\0\xff")
    assert Tree(str(tmp_path)).data("/file") == b"a\0\xff"
    assert Tree(str(tmp_path)).data("/none") is None
    with pytest.raises(InputError, match=r"^/file: the file is too large"):
        Tree(str(tmp_path)).data("/file", 2)
