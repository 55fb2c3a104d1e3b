# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell quickly that a document fits a JSON Schema.

jsonschema names every fault, but takes seconds for the threads of a few hundred guests, and nearly
all documents have no fault. So a schema is made into a function, which says yes to what fits. Its
no is no verdict, since it may be stricter: there, and for schemas with other keywords than those
here, jsonschema decides.
"""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Fits = Callable[[t.Any], bool]
    Schema = Mapping[str, t.Any]

_SAYS_NOTHING = frozenset({"$schema", "$id", "title", "description"})


class _Unknown(Exception):
    """A keyword that is not among those here."""


def made(schema: Schema) -> Fits | None:
    """Make the function of a schema without references; None where it has other keywords."""
    try:
        return _fits(schema)
    except _Unknown:
        return None


def _fits(schema: Schema) -> Fits:
    if not schema.keys() <= _MAKERS.keys() | _SAYS_NOTHING:
        raise _Unknown
    makers = dict.fromkeys(make for key, make in _MAKERS.items() if key in schema)
    first, *others = [make(schema) for make in makers] or [_anything]
    for test in others:
        first = _both(first, test)
    return first


def _anything(_value: t.Any) -> bool:
    return True


def _both(first: Fits, second: Fits) -> Fits:
    return lambda value: first(value) and second(value)


def _type(schema: Schema) -> Fits:
    named = schema["type"]
    kinds = frozenset(
        kind for name in ([named] if isinstance(named, str) else named) for kind in _TYPES[name]
    )
    # The very type: a boolean is an integer to isinstance.
    return lambda value: type(value) in kinds


_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def _known(schema: Schema) -> Fits:
    values = schema["enum"] if "enum" in schema else [schema["const"]]
    kinds = frozenset(map(type, values))
    return lambda value: type(value) in kinds and value in values


def _bounds(schema: Schema) -> Fits:
    least, most = schema.get("minimum", -float("inf")), schema.get("maximum", float("inf"))
    return lambda value: type(value) not in (int, float) or least <= value <= most


def _text(schema: Schema) -> Fits:
    least, most = schema.get("minLength", 0), schema.get("maxLength", float("inf"))
    form = re.compile(schema["pattern"]).fullmatch if "pattern" in schema else _anything

    def fits(value: t.Any) -> bool:
        return not isinstance(value, str) or (least <= len(value) <= most and bool(form(value)))

    return fits


def _list(schema: Schema) -> Fits:
    least, most = schema.get("minItems", 0), schema.get("maxItems", float("inf"))
    item = _fits(schema.get("items", {}))

    def fits(value: t.Any) -> bool:
        return not isinstance(value, list) or (
            least <= len(value) <= most and all(map(item, value))
        )

    return fits


def _mapping(schema: Schema) -> Fits:
    known = {key: _fits(inner) for key, inner in schema.get("properties", {}).items()}
    required, most = schema.get("required", ()), schema.get("maxProperties", float("inf"))
    more = schema.get("additionalProperties", True)
    other = (lambda _value: more) if isinstance(more, bool) else _fits(more)
    name = _fits(schema["propertyNames"]) if "propertyNames" in schema else None

    def fits(value: t.Any) -> bool:
        if not isinstance(value, dict):
            return True
        if len(value) > most or not all(key in value for key in required):
            return False
        if name and not all(map(name, value)):
            return False
        return all(known.get(key, other)(member) for key, member in value.items())

    return fits


_MAKERS: Mapping[str, Callable[[Schema], Fits]] = {
    "type": _type,
    **dict.fromkeys(("enum", "const"), _known),
    **dict.fromkeys(("minimum", "maximum"), _bounds),
    **dict.fromkeys(("minLength", "maxLength", "pattern"), _text),
    **dict.fromkeys(("minItems", "maxItems", "items"), _list),
    **dict.fromkeys(
        ("properties", "required", "maxProperties", "additionalProperties", "propertyNames"),
        _mapping,
    ),
}
"""Keyword to what makes the test of it and of those that belong to it."""
