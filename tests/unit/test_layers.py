# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of the layers, read from their imports, and what every file of a kind must have."""

from __future__ import annotations

import ast
import importlib
import pathlib
import re
import sys
import typing as t

import pytest
import yaml

if t.TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLUGINS = ROOT / "plugins"
PACKAGE = "ansible_collections.pinguard.nova.plugins"

BELOW: dict[str, set[str]] = {"_read": set()}
"""The layers that each one may import from, besides itself."""
for _layer, _previous in [
    ("_model", "_read"),
    ("_nova", "_model"),
    ("_rules", "_nova"),
    ("_plan", "_rules"),
]:
    BELOW[_layer] = BELOW[_previous] | {_previous}
for _layer in ("_report", "_render"):
    BELOW[_layer] = BELOW["_plan"] | {"_plan"}
BELOW["_face"] = BELOW["_report"] | {"_report", "_render"}

FILES = sorted(
    path.relative_to(PLUGINS)
    for folder in ("module_utils", "plugin_utils")
    for path in (PLUGINS / folder).rglob("*.py")
)
FACES = sorted(
    path.relative_to(PLUGINS)
    for folder in ("modules", "action", "filter", "test", "lookup")
    for path in (PLUGINS / folder).glob("*.py")
    if path.name != "__init__.py"
)
OLDEST_NOVA = 13
MODULES = [face for face in FACES if face.parent.name == "modules"]
ROLES = sorted(path.name for path in (ROOT / "roles").glob("*"))


def imported(file: pathlib.Path) -> Iterator[str]:
    """Name everything that a file imports, relative imports resolved, ``from`` names joined on."""
    package = [*PACKAGE.split("."), *file.parts[:-1]]
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            yield from (".".join([*base, node.module or "", a.name]) for a in node.names)


def _tree(file: pathlib.Path) -> ast.Module:
    return ast.parse((PLUGINS / file).read_text(encoding="utf-8"))


def _layer_of(name: str) -> str | None:
    """Give the layer of an imported name, or None where it is not of this collection."""
    found = re.match(rf"{re.escape(PACKAGE)}\.(?:module|plugin)_utils\.+(\w+)", name)
    return found[1] if found else None


@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_layer_imports_only_from_those_below(file: pathlib.Path) -> None:
    if file.name == "__init__.py" and len(file.parts) == 2:
        assert not (PLUGINS / file).read_text(encoding="utf-8").strip()
        return
    layer = file.parts[1].removesuffix(".py")
    assert layer in BELOW, f"{file} is in no layer"
    assert (file.parts[0] == "module_utils") == (layer == "_read")
    ours = {name: _layer_of(name) for name in imported(file) if name.startswith(PACKAGE)}
    strays = [name for name, other in ours.items() if other not in BELOW[layer] | {layer}]
    assert not strays


@pytest.mark.parametrize("file", FILES, ids=str)
def test_no_layer_but_that_of_the_faces_knows_ansible_and_what_reads_hosts_needs_only_python(
    file: pathlib.Path,
) -> None:
    others = {name.split(".")[0] for name in imported(file) if not name.startswith(PACKAGE)}
    allowed = set(sys.stdlib_module_names)
    if file.parts[0] == "plugin_utils":
        allowed |= {"jinja2", "jsonschema", "yaml"}
    if file.parts[1] == "_face":
        allowed |= {"ansible"}
    assert not others - allowed


@pytest.mark.parametrize("face", FACES, ids=str)
def test_a_face_imports_no_other_face(face: pathlib.Path) -> None:
    ours = [name for name in imported(face) if name.startswith(PACKAGE)]
    assert all(_layer_of(name) in BELOW for name in ours)
    if face.parent.name == "modules":
        assert all(_layer_of(name) == "_read" for name in ours)


@pytest.mark.parametrize(
    "file", [f for f in FILES if f.name != "releases.py" and f.parts[1] != "_read"], ids=str
)
def test_releases_are_compared_nowhere_but_where_they_are_listed(file: pathlib.Path) -> None:
    compared = [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.Compare)
        and any(_is_version(operand) for operand in [node.left, *node.comparators])
    ]
    assert not compared


def _is_version(operand: ast.expr) -> bool:
    if isinstance(operand, ast.Attribute):
        return operand.attr in {"version", "major"}
    try:
        value = ast.literal_eval(operand)
    except ValueError:
        return False
    if isinstance(value, tuple):
        return bool(value) and isinstance(value[0], int) and value[0] >= OLDEST_NOVA
    return isinstance(value, str) and bool(re.fullmatch(r"\d\d\.\d+(\.\d+)?", value))


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_is_documented(module: pathlib.Path) -> None:
    assert {"DOCUMENTATION", "EXAMPLES", "RETURN"} <= _assigned(module)


def _assigned(file: pathlib.Path) -> set[str]:
    return {
        target.id
        for node in _tree(file).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


@pytest.mark.parametrize("face", [f for f in FACES if f not in MODULES], ids=str)
def test_a_plugin_is_documented(face: pathlib.Path) -> None:
    kind = face.parent.name
    if kind == "action":
        assert pathlib.Path("modules", face.name) in MODULES
    elif kind == "lookup":
        assert {"DOCUMENTATION", "EXAMPLES", "RETURN"} <= _assigned(face)
    else:
        plugin = importlib.import_module(f"{PACKAGE}.{kind}.{face.stem}")
        names = plugin.FilterModule().filters() if kind == "filter" else plugin.TestModule().tests()
        assert names
        for name in names:
            sidecar = PLUGINS / kind / f"{name}.yml"
            documented = sidecar.is_file() or (
                name == face.stem and "DOCUMENTATION" in _assigned(face)
            )
            assert documented, f"{kind} {name} has no page"


def test_an_action_group_names_modules() -> None:
    runtime = yaml.safe_load((ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))
    named = {name for group in runtime["action_groups"].values() for name in group}
    assert named <= {module.stem for module in MODULES}


@pytest.mark.parametrize("role", ROLES)
def test_the_defaults_of_a_role_are_those_of_its_argument_spec(role: str) -> None:
    meta, defaults = (
        yaml.safe_load((ROOT / "roles" / role / name).read_text(encoding="utf-8"))
        for name in ("meta/argument_specs.yml", "defaults/main.yml")
    )
    options: dict[str, t.Any] = {}
    for entry in meta["argument_specs"].values():
        options |= entry.get("options", {})
    assert (defaults or {}) == {
        name: option["default"] for name, option in options.items() if "default" in option
    }
    assert all(name.startswith(f"{role}_") for name in options)
