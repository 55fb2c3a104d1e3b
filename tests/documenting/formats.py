# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of the file formats, from their JSON schemas."""

from __future__ import annotations

import functools
import json
import typing as t

from ansible_collections.pinguard.nova.plugins.plugin_utils import _report
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import schema

from .markdown import prose, table

if t.TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

Schema = dict[str, t.Any]

KINDS = {"input": "Files that are read", "output": "Files that are written"}
_PREFIX = "urn:pinguard.nova:"
_PLURALS = {"object": "mapping", "array": "list", "null": "null"}
_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minItems": "{} or more entries",
    "pattern": "matches `{}`",
}


def pages() -> dict[str, str]:
    """Give the Markdown of each page by its path."""
    found = {name: document for kind in KINDS for name, document in _documents(kind).items()}
    return {"formats/index.md": _index()} | {
        f"formats/{name}.md": "".join(_page(document)) for name, document in found.items()
    }


def folder(kind: str) -> pathlib.Path:
    """Name the folder with the schemas of a kind."""
    here = schema.FOLDER
    return (
        here
        if kind == "input"
        else here.parent.parent / _report.__name__.rpartition(".")[2] / here.name
    )


@functools.cache
def _documents(kind: str) -> dict[str, Schema]:
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder(kind).glob("*.json"))
    }


def _index() -> str:
    parts: list[str] = []
    names: list[str] = []
    for kind, title in KINDS.items():
        documents = _documents(kind)
        names += documents
        rows = (
            [f"[{name}]({name}.md)", each["title"], each.get("description", "")]
            for name, each in documents.items()
        )
        parts.append(f"## {title}\n\n{table(['format', 'what it is', 'holds'], rows)}\n")
    return (
        "# File formats\n\nEvery file is YAML or JSON. Anything that its schema does not accept is "
        "refused in one line that names file, key and what was expected. The tables are made from "
        "the schemas, which are in the collection below `plugins/plugin_utils`.\n\n"
        f"{''.join(parts)}```{{toctree}}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"
    )


def _page(document: Schema) -> Iterator[str]:
    own = _own_name(document["$id"])
    yield f"# {document['title']}\n\n{prose(document.get('description', ''))}\n\n"
    yield f"Schema `{document['$id']}`.\n\n"
    yield from _object(document, own)
    for name, part in document.get("$defs", {}).items():
        described = prose(part.get("description", ""))
        yield f"\n({_anchor(own, name)})=\n\n## {name}\n\n{described}\n\n"
        shown = list(_object(part, own))
        yield from shown or [f"{_type(part, own)}.{_limits(part, ' ')}\n"]


def _object(part: Schema, own: str) -> Iterator[str]:
    rows = list(_nested(part, "", own))
    if rows:
        yield table(["key", "type", "", "description"], rows)


def _rows(part: Schema, prefix: str, own: str) -> Iterator[list[str]]:
    """List the keys of a mapping, and below each those of a mapping that has no name of its own."""
    required = part.get("required", ())
    for key, value in part.get("properties", {}).items():
        name = f"{prefix}{key}"
        needed = "required" if key in required else ""
        described = f"{prose(_description(value, own))}{_limits(value, ' ')}"
        yield [f"`{name}`", _type(value, own), needed, described]
        yield from _nested(value, name, own)


def _nested(value: Schema, name: str, own: str) -> Iterator[list[str]]:
    yield from _rows(value, f"{name}." if name else "", own)
    items, more = value.get("items"), value.get("additionalProperties")
    if isinstance(items, dict):
        yield from _nested(items, f"{name}[]", own)
    if isinstance(more, dict):
        yield from _nested(more, f"{name}.*", own)
    for branch in (*value.get("oneOf", ()), *value.get("anyOf", ())):
        yield from _nested(branch, name, own)


def _type(value: Schema, own: str) -> str:
    """Name the type of a value, with a link where it has a name of its own."""
    if "$ref" in value:
        return _reference(value["$ref"], own)
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{json.dumps(each)}`" for each in value["enum"])
    branches = [
        _type(each, own) for key in ("oneOf", "anyOf", "allOf") for each in value.get(key, ())
    ]
    kinds = value.get("type", [])
    names = [_PLURALS.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    items, more = value.get("items"), value.get("additionalProperties")
    if "list" in names and isinstance(items, dict) and _type(items, own):
        names[names.index("list")] = f"list of {_type(items, own)}"
    if "mapping" in names and isinstance(more, dict) and _type(more, own):
        names[names.index("mapping")] = f"mapping to {_type(more, own)}"
    return " or ".join(dict.fromkeys(each for each in (names or branches) if each))


def _description(value: Schema, own: str) -> str:
    """Describe a value, by what it refers to where it says nothing itself."""
    if "description" in value or "$ref" not in value:
        return str(value.get("description", ""))
    document, _hash, pointer = value["$ref"].partition("#")
    page = _own_name(document) if document else own
    found = next(each[page] for each in map(_documents, KINDS) if page in each)
    for step in pointer.split("/")[1:]:
        found = found[step]
    return _description(found, page)


def _reference(target: str, own: str) -> str:
    document, _hash, pointer = target.partition("#")
    page = _own_name(document) if document else own
    name = pointer.rpartition("/")[2]
    return f"[{name}](#{_anchor(page, name)})" if name else f"[{page}]({page}.md)"


def _own_name(reference: str) -> str:
    """Give the name within ``urn:pinguard.nova:NAME:1``."""
    return reference.removeprefix(_PREFIX).partition(":")[0]


def _anchor(document: str, name: str) -> str:
    return f"format-{document}-{name}".replace("_", "-")


def _limits(value: Schema, before: str) -> str:
    found = [text.format(value[key]) for key, text in _BOUNDS.items() if key in value]
    return f"{before}({'; '.join(found)})" if found else ""
