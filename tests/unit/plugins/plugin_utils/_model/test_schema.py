# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import schema

SCHEMAS = ("host", "fleet", "flavors", "images", "servers", "guests", "wish")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=12,
)


def within(node: t.Any) -> t.Iterator[dict[str, t.Any]]:
    """List a schema and all schemas in it."""
    if not isinstance(node, dict):
        return
    yield node
    for key in ("properties", "$defs"):
        for inner in node.get(key, {}).values():
            yield from within(inner)
    for key in ("items", "additionalProperties", "propertyNames"):
        yield from within(node.get(key))


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_valid_versioned_and_describes_every_property(name: str) -> None:
    contents = schema.schema(name)
    jsonschema.Draft202012Validator.check_schema(contents)
    assert contents["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert contents["$id"] == f"urn:pinguard.nova:{name}:1"
    assert "format" in contents["properties"]
    for node in within(contents):
        for key, value in node.get("properties", {}).items():
            assert "description" in value or "$ref" in value, key


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_lets_no_unknown_key_in(name: str) -> None:
    found = [node for node in within(schema.schema(name)) if "properties" in node]
    assert found
    assert all(node["additionalProperties"] is False for node in found)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("a",), "a"),
        (("hosts", 3, "topology", "cells", 0), "hosts[3].topology.cells[0]"),
        ((0, "a b", "c"), "[0]['a b'].c"),
        (("x" * 200,), "x" * 200),
    ],
)
def test_path_text(path: schema.Path, text: str) -> None:
    assert schema.path_text(path) == text


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({1: 2, "1": 3}, "the key '1' is given twice"),
        ({"a": float("nan")}, "not a plain document"),
        ({"a": {1, 2}}, "not a plain document"),
        ({(1, 2): 3}, "not a plain document"),
    ],
)
def test_plain_refuses_what_json_cannot_hold(document: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        schema.plain(document)


def test_plain_refuses_loops() -> None:
    loop: list[t.Any] = []
    loop.append(loop)
    with pytest.raises(InputError):
        schema.plain(loop)


def test_keys_that_are_numbers_become_text() -> None:
    assert schema.plain({"pages": {4: 1}}) == {"pages": {"4": 1}}


def refusal(build: t.Callable[[], object]) -> str:
    """Give the text of the error that ``build`` raises, or "" where it raises none."""
    try:
        build()
    except InputError as problem:
        return str(problem)
    return ""


@given(JSON)
def test_plain_copies_or_refuses(document: object) -> None:
    copy: list[object] = []
    assert "\n" not in refusal(lambda: copy.append(schema.plain(document)))
    assert json.loads(json.dumps(copy)) == copy


@given(JSON, st.sampled_from(SCHEMAS))
def test_check_accepts_or_names_the_fault_on_one_line(document: object, name: str) -> None:
    assert "\n" not in refusal(lambda: schema.check(schema.plain(document), f"{name}:1"))


def test_errors_within_a_block_say_where() -> None:
    with pytest.raises(InputError, match=r"^fleet\.yml: a: wrong$"), schema.within("fleet.yml"):
        raise InputError("wrong", where="a")
