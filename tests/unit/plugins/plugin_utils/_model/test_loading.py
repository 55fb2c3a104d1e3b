# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import pathlib
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read import files
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import documents, loading


def written(folder: pathlib.Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.yml", "a: 1\nb: [x, 2.5, yes, null]\n", {"a": 1, "b": ["x", 2.5, True, None]}),
        ("a.json", '{"a": 1}', {"a": 1}),
        ("a.txt", '{"a": 1}', {"a": 1}),
        ("a.yml", "{a: 1}", {"a": 1}),
        (
            "a.yml",
            "4: 1\non: 2\n2024-01-02: 2024-01-03\n",
            {"4": 1, "on": 2, "2024-01-02": "2024-01-03"},
        ),
        (
            "a.yml",
            "a: &x {b: 1}\nc: {<<: *x, d: 2}\ne: *x\n",
            {"a": {"b": 1}, "c": {"b": 1, "d": 2}, "e": {"b": 1}},
        ),
        ("a.yml", "a: &x {b: 1}\nc: {<<: *x, b: 2}\n", {"a": {"b": 1}, "c": {"b": 2}}),
        ("a.yml", "cpus: 0-3,8\nset: 0x10\n", {"cpus": "0-3,8", "set": 16}),
    ],
)
def test_a_document_is_read(tmp_path: pathlib.Path, name: str, text: str, expected: object) -> None:
    assert loading.load(written(tmp_path, name, text)) == expected


def test_several_documents_are_read(tmp_path: pathlib.Path) -> None:
    path = written(tmp_path, "a.yml", "---\na: 1\n---\n---\nb: 2\n")
    assert loading.load_all(path) == [{"a": 1}, {"b": 2}]
    with pytest.raises(InputError, match="holds 2 documents; accepted: one document"):
        loading.load(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yml", "a: 1\nb: [1\nc: 2\n", "a.yml:3: broken YAML"),
        ("a.yml", "a: 1\n\ta: 2\n", "a.yml:2: broken YAML"),
        ("a.yml", "a: 1\nb: 2\na: 3\n", "a.yml:3: broken YAML (the key 'a' is given twice)"),
        ("a.yml", "a: {1: 2, '1': 3}", "a.yml:1: broken YAML (the key '1' is given twice)"),
        ("a.yml", "? [a]\n: 1\n", "a.yml:1: broken YAML (a key is no text)"),
        ("a.yml", "a: *x\n", "a.yml:1: broken YAML"),
        ("a.yml", "a: &x [*x]\n", "a.yml:1: an alias stands within its own value"),
        ("a.yml", "a: !!python/object:os.system x\n", "a.yml:1: broken YAML"),
        ("a.yml", "a: !vault |\n  x\n", "a.yml:1: broken YAML"),
        ("a.yml", "a: !!int x\n", "a.yml:1: broken YAML ('x' is no int)"),
        ("a.yml", "b: 1\na: !!map x\n", "a.yml:2: broken YAML"),
        ("a.yml", "- " * 100, "a.yml:1: the values are nested too deeply"),
        ("a.yml", "a: \x07\n", "a.yml: broken YAML"),
        ("a.yml", "[" * 100_000, "a.yml: the values are nested too deeply"),
        ("a.yml", "", "a.yml: the file holds 0 documents"),
        ("a.json", "{", "a.json:1: broken JSON"),
        ("a.json", '{\n"a": 1,\n"a": 2}', "a.json: the key 'a' is given twice"),
        ("a.json", '{"a": NaN}', "a.json: NaN is no number of JSON"),
        ("a.json", "[" * 100_000, "a.json: the values are nested too deeply"),
        ("a.json", "9" * 5000, f"a.json: '{'9' * 79}... is too large; accepted: numbers of 4000"),
        ("\u202e.json", "", "\\u202e.json:1: broken JSON"),
        ("a.json", "", "a.json:1: broken JSON"),
    ],
)
def test_a_broken_file_is_refused_by_file_and_line(
    tmp_path: pathlib.Path, name: str, text: str, message: str
) -> None:
    path = written(tmp_path, name, text)
    with pytest.raises(InputError) as caught:
        loading.load(path)
    assert str(caught.value).startswith(f"{tmp_path}/{message}")
    assert "\n" not in str(caught.value)


def test_aliases_cannot_fill_the_memory() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(InputError, match=r"^a\.yml:7: the file is too large"):
        loading.parse("\n".join(levels), "a.yml")


def test_a_file_of_very_many_values_is_refused_at_once() -> None:
    start = time.monotonic()
    with pytest.raises(InputError, match="the file is too large"):
        loading.parse("- 1\n" * (loading.VALUES + 1), "a.yml")
    assert time.monotonic() - start < 60


def test_a_large_file_is_refused_unread(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.yml"
    with path.open("wb") as file:
        file.truncate(files.LARGE + 1)
    with pytest.raises(InputError, match=r"a\.yml: the file is too large"):
        loading.load(str(path))


def test_what_is_no_file_is_refused(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "pipe.yml")
    for name in ("absent.yml", "pipe.yml", "."):
        with pytest.raises(InputError):
            loading.load(str(tmp_path / name))


FACTS = {"topology": {"online": "0", "cells": []}}


def test_a_folder_of_facts_is_read_by_the_stems_of_its_files(tmp_path: pathlib.Path) -> None:
    text = json.dumps(FACTS)
    written(tmp_path, "compute-1.example.org.json", text)
    written(tmp_path, "b.yml", "topology: {online: '0', cells: []}\n")
    written(tmp_path, "c.yaml", f'{{"ansible_facts": {{"pinguard": {text}}}}}')
    written(tmp_path, "d.json", f'{{"pinguard": {text}, "other": 1}}')
    written(tmp_path, "README.md", "not facts")
    written(tmp_path, ".hidden.json", "not facts")
    found = list(loading.facts_folder(str(tmp_path)))
    assert [name for name, _rest in found] == ["b", "c", "compute-1.example.org", "d"]
    assert all(facts == FACTS for _rest, facts in found)


def test_a_folder_without_facts_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match="the folder holds no facts; accepted: a file a host"):
        list(loading.facts_folder(str(tmp_path)))
    for path in (str(tmp_path / "absent"), "a\0b", written(tmp_path, "a.json", "{}")):
        with pytest.raises(InputError):
            list(loading.facts_folder(path))


def test_two_files_of_one_host_are_refused(tmp_path: pathlib.Path) -> None:
    for name in ("a.json", "a.yml"):
        written(tmp_path, name, json.dumps(FACTS))
    with pytest.raises(InputError, match="there are two hosts 'a'"):
        documents.classes(loading.facts_folder(str(tmp_path)), "34.0.0")


@given(st.text(), st.sampled_from(["a.yml", "a.json"]))
@example("!!float x", "a.yml")
@example("!!bool x", "a.yml")
@example("a: 1:99999999999999999999:1", "a.yml")
@example("<<: x", "a.yml")
@example("!!map x", "a.yml")
@example("!!str [x]", "a.yml")
@example("0b", "a.yml")
@example("!!int ''", "a.yml")
@example("=: 1", "a.yml")
@example("=", "a.yml")
def test_any_text_is_read_or_refused_on_one_line(text: str, name: str) -> None:
    try:
        found = loading.parse(text, name)
    except InputError as problem:
        message = str(problem)
    else:
        message = ""
        json.dumps(found)
    assert "\n" not in message


@given(
    st.lists(st.sampled_from([*"{}[]:,&*!|>-?#'\"\n ", "a", "1", "<<", "&a ", "*a", "- ", ": "]))
)
def test_any_yaml_is_read_or_refused(parts: list[str]) -> None:
    try:
        found = loading.parse("".join(parts), "a.yml")
    except InputError as problem:
        message = str(problem)
    else:
        message = ""
        json.dumps(found)
    assert "\n" not in message
