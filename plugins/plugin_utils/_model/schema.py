# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold documents against the JSON Schemas of the public formats."""

from __future__ import annotations

import contextlib
import difflib
import functools
import json
import pathlib
import re
import typing as t

from ...module_utils._read.errors import InputError, quoted
from . import quick_check

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

Path = tuple[str | int, ...]
"""Keys and list indices that lead to a value within a document."""

FOLDER = pathlib.Path(__file__).parent / "schemas"
"""Where the schemas stand: ``host.json``, ``fleet.json``, ``flavors.json``, ``images.json``,
``servers.json``, ``guests.json``, ``wish.json``, ``flavor_wishes.json``, ``goal.json``,
``placement.json``, ``waivers.json``."""

_PREFIX = "urn:pinguard.nova:"
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")


def path_text(path: Path) -> str:
    """Write a path as messages show it.

    >>> path_text(("hosts", 3, "nova", "options", "compute.cpu_shared_set"))
    "hosts[3].nova.options['compute.cpu_shared_set']"
    """
    text = ""
    for step in path:
        if isinstance(step, str) and _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{quoted(step)}]"
    return text


@contextlib.contextmanager
def within(where: str) -> Iterator[None]:
    """Put ``where``, unless it is "", in front of the errors raised in the block."""
    try:
        yield
    except InputError as problem:
        raise (problem.at(where) if where else problem) from None
    except RecursionError:
        raise InputError("the values are nested too deeply", "a few levels", where) from None


def plain(document: object) -> t.Any:
    """Copy a document as plain JSON values; keys that are numbers become text.

    Raises ``InputError`` for what JSON cannot hold: other types, NaN, loops, keys that are equal
    as text.
    """
    try:
        text = json.dumps(document, allow_nan=False)
        return json.loads(text, object_pairs_hook=unique)
    except InputError:
        raise
    except (TypeError, ValueError) as problem:
        why = problem if isinstance(problem, TypeError) else "a loop, or a number without end"
        accepted = "texts, finite numbers, booleans, lists, mappings"
        raise InputError(f"not a plain document ({why})", accepted) from None


def unique(pairs: Sequence[tuple[str, t.Any]]) -> dict[str, t.Any]:
    """Make a mapping of pairs; raise ``InputError`` where a key is given twice."""
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _value in pairs]
        twice = next(key for index, key in enumerate(keys) if key in keys[:index])
        raise InputError(f"the key {quoted(twice)} is given twice", "each key once")
    return result


def as_list(value: t.Any, path: Path) -> list[t.Any]:
    """Give a value that has to be a list; raise ``InputError`` for any other."""
    if not isinstance(value, list):
        raise InputError(f"{quoted(value)} is no list", "a list", path_text(path))
    return value


def as_mapping(value: t.Any, path: Path) -> dict[str, t.Any]:
    """Give a value that has to be a mapping; raise ``InputError`` for any other."""
    if not isinstance(value, dict):
        raise InputError(f"{quoted(value)} is no mapping", "a mapping", path_text(path))
    return value


def nearest(key: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Find the known key that ``key`` resembles most; "" where it resembles none."""
    return next(iter(difflib.get_close_matches(key[:255], list(known), 1, likeness)), "")


@functools.cache
def schema(name: str) -> dict[str, t.Any]:
    """Read a schema of :data:`FOLDER` by its name without ``.json``."""
    found: dict[str, t.Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def validator(described: dict[str, t.Any]) -> Validator:
    """Make a validator of a schema that holds numbers and patterns to our word."""
    try:
        import jsonschema
    except ImportError:
        raise InputError(
            "the Python package jsonschema is missing on the controller", "jsonschema >= 4.17"
        ) from None
    draft = jsonschema.Draft202012Validator
    # JSON Schema calls 2.0 an integer; bitmasks and counts need real ones.
    types = draft.TYPE_CHECKER.redefine(
        "integer", lambda _rest, value: isinstance(value, int) and not isinstance(value, bool)
    )
    strict: type[Validator] = jsonschema.validators.extend(
        draft, {"pattern": _pattern}, type_checker=types
    )
    return strict(described)


@functools.cache
def checks(reference: str) -> tuple[Validator, quick_check.Fits | None]:
    """Make what a document is held against: the one that names faults, and a quick one."""
    described = _written_out({"$ref": f"{_PREFIX}{reference}"}, "")
    return validator(described), quick_check.made(described)


def _pattern(
    validator: Validator, form: str, instance: t.Any, _described: object
) -> Iterator[ValidationError]:
    """Hold a text against a form: its ``$`` is the very end, where Python lets a newline follow."""
    import jsonschema

    if validator.is_type(instance, "string") and not re.fullmatch(form, instance):
        yield jsonschema.ValidationError("")


def _written_out(node: t.Any, name: str) -> t.Any:
    """Put in the place of every reference of a schema what it refers to.

    Looking references up for each value would cost more than all the rest of the check.
    """
    if isinstance(node, list):
        return [_written_out(item, name) for item in node]
    if not isinstance(node, dict):
        return node
    found: dict[str, t.Any] = {}
    if "$ref" in node:
        identity, _rest, pointer = node["$ref"].partition("#")
        name = identity.removeprefix(_PREFIX).partition(":")[0] or name
        found = schema(name)
        for step in pointer.split("/")[1:]:
            found = found[step]
        skipped = ("$id", "$schema", "$defs")
        found = _written_out({k: v for k, v in found.items() if k not in skipped}, name)
    return found | {k: _written_out(v, name) for k, v in node.items() if k != "$ref"}


def check(document: t.Any, reference: str, path: Path = ()) -> None:
    """Hold a plain document against a schema.

    ``reference`` is the schema's id without the common prefix: ``host:1``,
    ``fleet:1#/$defs/host``. ``path`` leads to the document in the file.

    Raises ``InputError`` that names the path of the first bad key.
    """
    thorough, quick = checks(reference)
    if quick and quick(document):
        return
    for fault in thorough.iter_errors(document):
        raise _input_error(fault, path)


def _input_error(fault: ValidationError, path: Path) -> InputError:
    path += tuple(fault.absolute_path)
    keyword, described = str(fault.validator), t.cast("dict[str, t.Any]", fault.schema)
    instance: t.Any = fault.instance
    limit: t.Any = fault.validator_value
    if keyword == "additionalProperties":
        known = list(described.get("properties", {}))
        return unknown_key(next(key for key in instance if key not in known), known, path)
    if "propertyNames" in fault.absolute_schema_path:
        form = described.get("description", "")
        return InputError(f"{quoted(instance)} is no key here", form, path_text(path))
    if keyword == "required":
        key = next(key for key in limit if key not in instance)
        wanted = described.get("properties", {}).get(key, {}).get("description", "")
        return InputError(f"the key {quoted(key)} is missing", wanted, path_text(path))
    what = _WHAT.get(keyword, lambda *_rest: fault.message)(instance, limit)
    return InputError(what, _accepted(described), path_text(path))


def unknown_key(key: str, known: Iterable[str], path: Path) -> InputError:
    """Make the error of a key that nobody reads, with the nearest known one."""
    known = list(known)
    near = nearest(key, known)
    hint = f" (nearest: {near})" if near else ""
    return InputError(f"unknown key{hint}", ", ".join(known), path_text((*path, key)))


_WHAT: dict[str, Callable[[t.Any, t.Any], str]] = {
    "type": lambda value, types: f"{quoted(value)} is not of type {_types(types)}",
    "const": lambda value, only: f"{quoted(value)} is another version",
    "enum": lambda value, known: f"{quoted(value)} is none of them",
    "minimum": lambda value, bound: f"{quoted(value)} is less than {bound}",
    "maximum": lambda value, bound: f"{quoted(value)} is more than {bound}",
    "minItems": lambda value, bound: "the list is empty",
    "maxItems": lambda value, bound: f"the list has {len(value)} items",
    "maxProperties": lambda value, bound: f"there are {len(value)} of them",
    "minLength": lambda value, bound: "the text is empty",
    "maxLength": lambda value, bound: f"the text has {len(value)} characters",
    "pattern": lambda value, form: f"{quoted(value)} has another form",
    "oneOf": lambda value, options: "one of the keys name and names is needed, and not both",
}


def _types(types: str | list[str]) -> str:
    return types if isinstance(types, str) else " or ".join(types)


def _accepted(described: dict[str, t.Any]) -> str:
    parts = [str(described["const"])] if "const" in described else []
    parts += map(str, described.get("enum", ()))
    if "type" in described:
        parts.append(_types(described["type"]))
    parts += [text.format(described[key]) for key, text in _BOUNDS.items() if key in described]
    meaning = described.get("description", "").rstrip(".")
    return " ".join(filter(None, [", ".join(parts), f"({meaning})" if meaning else ""]))


_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
    "maxProperties": "at most {} of them",
    "maxLength": "up to {} characters",
    "pattern": "of the form {}",
}
