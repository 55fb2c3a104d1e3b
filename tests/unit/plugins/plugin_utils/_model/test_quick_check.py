# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.plugin_utils._model import quick_check, schema

LEAVES = st.none() | st.booleans() | st.integers(-2, 4) | st.just(1.0) | st.text("ab\n", max_size=3)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)
TYPES = st.sampled_from(
    ("object", "array", "string", "integer", "number", "boolean", "null", ["string", "null"])
)
BOUNDS = st.integers(0, 3)
SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES,
            "enum": st.lists(st.integers(0, 2) | st.text("ab", max_size=1), min_size=1, max_size=3),
            "const": st.integers(0, 2),
            "minimum": BOUNDS,
            "maximum": BOUNDS,
            "minLength": BOUNDS,
            "maxLength": BOUNDS,
            "pattern": st.sampled_from(("^a*$", "b", "^(a|b)?$")),
            "description": st.just("what it is"),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES,
            "properties": st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
            "required": st.lists(st.text("ab", max_size=1), max_size=1),
            "additionalProperties": st.booleans() | inner,
            "propertyNames": inner,
            "maxProperties": BOUNDS,
            "items": inner,
            "minItems": BOUNDS,
            "maxItems": BOUNDS,
        },
    ),
    max_leaves=5,
)


@given(SCHEMAS, VALUES)
def test_what_it_says_yes_to_has_no_fault(described: dict[str, t.Any], value: t.Any) -> None:
    fits = quick_check.made(described)
    assert fits is not None
    faults = list(schema.validator(described).iter_errors(value))
    if fits(value):
        assert not faults
    elif not faults:
        # Stricter only where 1.0 is the constant 1.
        assert "1.0" in repr(value)


@pytest.mark.parametrize("name", ["host:1", "flavors:1", "images:1", "servers:1", "guests:1"])
def test_the_schemas_of_large_documents_have_the_keywords_that_it_knows(name: str) -> None:
    _thorough, quick = schema.checks(name)
    assert quick is not None


def test_a_schema_with_another_keyword_is_left_to_jsonschema() -> None:
    assert quick_check.made({"items": {"oneOf": [{"type": "string"}]}}) is None
