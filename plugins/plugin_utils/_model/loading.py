# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of YAML and JSON to plain documents, within bounds."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import yaml

from ...module_utils._read import files
from ...module_utils._read.errors import InputError, quoted
from .schema import unique, within

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VALUES = 2_000_000
"""Values that a YAML file may hold, aliases written out."""
DEPTH = 64
"""Levels of nesting that a YAML file may have."""
DIGITS = 4000
"""Digits that an integer may have; Python refuses more of them, too."""
SUFFIXES = (".json", ".yml", ".yaml")
"""What the names of files of facts end in."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Builds what JSON can hold and refuses keys that are given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[t.Any, t.Any]:
        _check_kind(node, yaml.MappingNode, "mapping")
        seen = set()
        for key, _rest in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key is no text", key.start_mark
                )
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {quoted(key.value)} is given twice", key.start_mark
                )
            seen.add(key.value)
        self.flatten_mapping(node)
        return {key.value: self.construct_object(value, deep=True) for key, value in node.value}

    def construct_yaml_map(self, node: yaml.MappingNode) -> Iterator[dict[t.Any, t.Any]]:
        yield self.construct_mapping(node)

    def construct_yaml_seq(self, node: yaml.SequenceNode) -> Iterator[list[t.Any]]:
        _check_kind(node, yaml.SequenceNode, "list")
        yield [self.construct_object(item, deep=True) for item in node.value]


def _check_kind(node: yaml.Node, kind: type[yaml.Node], name: str) -> None:
    if not isinstance(node, kind):
        what = f"{quoted(node.value)} is no {name}"
        raise yaml.constructor.ConstructorError(None, None, what, node.start_mark)


def _constructor(kind: str) -> Callable[[yaml.SafeLoader, yaml.ScalarNode], t.Any]:
    build = yaml.SafeLoader.yaml_constructors[f"tag:yaml.org,2002:{kind}"]

    def construct(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> t.Any:
        try:
            return build(loader, node)
        except (IndexError, KeyError, ValueError):
            what = f"{quoted(node.value)} is no {kind}"
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark) from None

    return construct


_Loader.yaml_constructors = {
    **{
        f"tag:yaml.org,2002:{kind}": _constructor(kind)
        for kind in ("null", "bool", "int", "float", "str")
    },
    "tag:yaml.org,2002:map": _Loader.construct_yaml_map,
    "tag:yaml.org,2002:seq": _Loader.construct_yaml_seq,
    # A date is text to us, as it is in JSON.
    "tag:yaml.org,2002:timestamp": _constructor("str"),
    None: yaml.SafeLoader.construct_undefined,
}


def load(path: str) -> t.Any:
    """Read a file that holds one document of YAML or JSON.

    Raises ``InputError`` with file and line where it is broken, too large or empty, or holds keys
    twice, several documents or other than plain values.
    """
    documents = load_all(path)
    if len(documents) != 1:
        raise InputError(f"the file holds {len(documents)} documents", "one document", path)
    return documents[0]


def load_all(path: str) -> list[t.Any]:
    """Read every document of a file. Raises as :func:`load` does."""
    return parse(files.read_text(path), path)


def parse(text: str, where: str) -> list[t.Any]:
    """Read every document of a text: JSON where ``where`` ends so or the text starts so, and YAML.

    Raises ``InputError`` as :func:`load` does; ``where`` names the text in it.
    """
    named = where.endswith(".json")
    if named or text.lstrip()[:1] in ("{", "["):
        try:
            return [_json(text, where)]
        except json.JSONDecodeError as problem:
            if named:
                raise _broken(problem, where) from None
    return _yaml(text, where)


def parse_json(text: str, where: str = "") -> t.Any:
    """Read a text that is one document of JSON. Raises ``InputError`` as :func:`load` does."""
    try:
        return _json(text, where)
    except json.JSONDecodeError as problem:
        raise _broken(problem, where) from None


def _broken(problem: json.JSONDecodeError, where: str) -> InputError:
    at = f"{where}:{problem.lineno}" if where else f"line {problem.lineno}"
    return InputError(f"broken JSON ({problem.msg})", "a JSON document", at)


def _json(text: str, where: str) -> t.Any:
    with within(where):
        return json.loads(
            text, object_pairs_hook=unique, parse_int=_integer, parse_constant=_no_constant
        )


def _integer(digits: str) -> int:
    if len(digits) > DIGITS:
        raise InputError(f"{quoted(digits)} is too large", f"numbers of {DIGITS} digits")
    return int(digits)


def _no_constant(name: str) -> t.NoReturn:
    raise InputError(f"{name} is no number of JSON", "JSON numbers")


def _yaml(text: str, where: str) -> list[t.Any]:
    try:
        _survey(text, where)
        return [document for document in yaml.load_all(text, _Loader) if document is not None]
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        at = f"{where}:{mark.line + 1}" if mark else where
        raise InputError(f"broken YAML ({problem.problem})", "a YAML document", at) from None
    except yaml.YAMLError as problem:
        raise InputError(f"broken YAML ({problem})", "a YAML document", where) from None
    except InputError:
        raise
    except ValueError as problem:
        raise InputError(f"broken YAML ({problem})", "a YAML document", where) from None


def _survey(text: str, where: str) -> None:
    """Refuse YAML that is larger or deeper than any real file, before anything is built of it."""
    total = 0
    sizes: dict[str, int] = {}
    opened: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        at = f"{where}:{event.start_mark.line + 1}" if event.start_mark else where
        if isinstance(event, yaml.CollectionStartEvent):
            total += 1
            opened.append((event.anchor, total))
            if len(opened) > DEPTH:
                raise InputError("the values are nested too deeply", f"{DEPTH} levels", at)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, start = opened.pop()
            if anchor:
                sizes[anchor] = total - start + 1
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _rest in opened):
                raise InputError("an alias stands within its own value", "no loops", at)
            total += sizes.get(event.anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            total += 1
            if event.anchor:
                sizes[event.anchor] = 1
        if total > VALUES:
            raise InputError("the file is too large", f"at most {VALUES} values in YAML", at)


def facts_folder(path: str, fact: str = "pinguard") -> Iterator[tuple[str, t.Any]]:
    """Read a folder of facts file by file: pairs of host name (the file's stem) and facts.

    Files with other endings than :data:`SUFFIXES` and hidden ones are passed over. The facts may
    stand as :func:`bare_facts` tells.

    Raises ``InputError`` for a folder that cannot be read or has no facts, and as :func:`load`.
    """
    names = facts_files(path)
    if not names:
        raise InputError(
            "the folder holds no facts",
            "a file a host: " + ", ".join(f"*{s}" for s in SUFFIXES),
            path,
        )
    for name in names:
        yield pathlib.PurePath(name).stem, bare_facts(load(os.path.join(path, name)), fact)


def facts_files(path: str) -> list[str]:
    """List the names of the files of facts of a folder, which may be none."""
    try:
        return sorted(
            name
            for name in os.listdir(path)
            if name.endswith(SUFFIXES) and not name.startswith(".")
        )
    except OSError as problem:
        raise InputError(
            f"cannot be read ({problem.strerror})", "a folder of files of facts", path
        ) from None
    except ValueError:
        raise InputError(f"{quoted(path)} is no path", "a folder of files of facts") from None


def bare_facts(facts: t.Any, fact: str) -> t.Any:
    """Give facts that stand alone or, as Ansible saves them, below ``ansible_facts`` and their
    own name."""
    for key in ("ansible_facts", fact):
        if isinstance(facts, dict) and key in facts:
            facts = facts[key]
    return facts
