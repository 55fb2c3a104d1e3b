# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.oslo_ini import (
    Assignment,
    files,
    group,
    parse,
    read,
)

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree

    Attempt = Callable[..., t.Any]
    Plant = Callable[[Mapping[str, str]], Tree]

VALUES = [
    ("k = v", "v"),
    ("k=v", "v"),
    ("k: v", "v"),
    ("k :v", "v"),
    ("k = a:b", "a:b"),
    ("k: a=b", "a=b"),
    ("k =", ""),
    ("k = v  \t", "v"),
    ("k = 4-11,16-23    # guests only", "4-11,16-23    # guests only"),
    ("k = 2-3 ; floating", "2-3 ; floating"),
    ('k = "2-11"', "2-11"),
    ("k = '0,24'", "0,24"),
    ("k = \"2-11'", "\"2-11'"),
    ("k = '\"2-5\"'", '"2-5"'),
    ("k = '\"2-5'\"", "'\"2-5'\""),
    ('k = "', ""),
    ('k = " 2 "', " 2 "),
    ("k = 2-11,\n    13-23", "2-11,\n13-23"),
    ('k = "2-11,\n  13"', '"2-11,\n13"'),
    ("k = 1\n\tx = 2", "1\nx = 2"),
    ("k = 1\n # no comment", "1\n# no comment"),
    ("k = 4-$", "4-$"),
    ("k = %(x)s", "%(x)s"),
    ("k = a\u2028b", "a\u2028b"),
    ("k = a\x0cb", "a\x0cb"),
]
REFUSED = [
    ("[s]\n  k = v", 2, "indented line has no value to continue"),
    ("[s]\nk = v\n\n more", 4, "indented line has no value to continue"),
    ("[s]\nk = v\n# comment\n more", 4, "indented line has no value to continue"),
    ("k = v", 1, "before any section"),
    ("\n\nk = v\n more\n[s]", 3, "before any section"),
    ("[s", 1, "section does not end"),
    ("[s] # x", 1, "section does not end"),
    ("[s]\n[]", 2, "section has no name"),
    ("[s]\nword", 2, "neither a section nor a key"),
    ("[s]\n= v", 2, "value has no key"),
    ("[s]\n: v", 2, "value has no key"),
    ("\ufeff[s]", 1, "neither a section nor a key"),
]


@pytest.mark.parametrize(("line", "value"), VALUES)
def test_values(line: str, value: str) -> None:
    assert parse(f"[s]\n{line}\n", "f") == [Assignment("s", "k", value, "f:2")]


@pytest.mark.parametrize(("text", "line", "message"), REFUSED)
def test_a_broken_file_is_refused_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(InputError, match=f"^nova.conf:{line}: .*{message}"):
        parse(text, "nova.conf")


def test_the_line_itself_is_never_shown() -> None:
    with pytest.raises(InputError) as caught:
        parse("[database]\nmysql//nova secret\n", "f")
    assert "secret" not in str(caught.value)


def test_sections_keys_and_lines_are_kept_as_written() -> None:
    text = "# c\r\n[DEFAULT]\r\n\r\nk = 1\r\n; c\r\n[Compute ]\rK-k = 2\rk = 3\nk = 4"
    assert parse(text, "f") == [
        Assignment("DEFAULT", "k", "1", "f:4"),
        Assignment("Compute ", "K-k", "2", "f:7"),
        Assignment("Compute ", "k", "3", "f:8"),
        Assignment("Compute ", "k", "4", "f:9"),
    ]


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("DEFAULT", "DEFAULT"),
        ("Default", "default"),
        ("COMPUTE", "compute"),
        ("Compute", "compute"),
        (" compute", " compute"),
    ],
)
def test_the_group_of_a_section(section: str, name: str) -> None:
    assert group(section) == name


def test_files_and_folders_are_read_in_order(plant: Plant) -> None:
    tree = plant(
        {
            "etc/b.conf": "[s]\nk = file",
            "etc/d/9.conf": "[s]\nk = 9",
            "etc/d/10.conf": "[s]\nk = 10",
            "etc/d/B.conf": "[s]\nk = B",
            "etc/d/.hidden.conf": "[s]\nk = hidden",
            "etc/d/a.conf.bak": "[s]\nk = bak",
            "etc/d/readme": "no configuration",
        }
    )
    paths = ["/etc/d/", "/etc/b.conf"]
    assert files(paths, tree) == ["/etc/d/10.conf", "/etc/d/9.conf", "/etc/d/B.conf", "/etc/b.conf"]
    assert [each.value for each in read(paths, tree)] == ["10", "9", "B", "file"]
    assert [each.where for each in read(paths[1:], tree)] == ["/etc/b.conf:2"]


def test_a_folder_may_be_empty(plant: Plant) -> None:
    assert read(["/etc"], plant({"etc/readme": ""})) == []


def test_a_folder_that_is_named_as_a_file_is_refused(plant: Plant) -> None:
    with pytest.raises(InputError, match=r"^/etc/d/x\.conf: is no regular file"):
        read(["/etc/d"], plant({"etc/d/x.conf/file": ""}))


def test_a_missing_file_is_refused(plant: Plant) -> None:
    with pytest.raises(InputError, match=r"^/etc/none: no such file"):
        read(["/etc/none"], plant({"etc/file": ""}))


LINES = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(
            ["[s]", "[DEFAULT]", "k = v", "k: 'v'", " more", "\t", "", "# c", "[", "=", "\r", '"']
        ),
    ),
    max_size=12,
).map("\n".join)


@given(LINES)
def test_any_text_gives_assignments_or_a_refusal_of_one_line(attempt: Attempt, text: str) -> None:
    found = attempt(parse, text, "f")
    if found is not None:
        assert all(each.section and each.key for each in found)
        lines = [int(each.where[2:]) for each in found]
        assert lines == sorted(set(lines))


NAMES = st.text("abcXYZ_-.09", min_size=1, max_size=8)


@given(
    st.lists(
        st.tuples(NAMES, st.text("abc #;:=,$%^-09", max_size=10).map(str.strip), NAMES), max_size=6
    )
)
def test_what_is_written_reads_back(entries: list[tuple[str, str, str]]) -> None:
    text = "".join(f"[{section}]\n# c\n{key} = {value}\n" for section, value, key in entries)
    assert [(each.section, each.value, each.key) for each in parse(text, "f")] == entries


def test_a_mebibyte_takes_no_minutes() -> None:
    text = "[s]\n" + "k=v\n" * 200_000 + "k =\n" + " v\n" * 60_000
    assert len(parse(text, "f")) == 200_001
