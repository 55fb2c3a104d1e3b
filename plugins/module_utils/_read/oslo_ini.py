# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``nova.conf`` as oslo.config reads it: its grammar, the order of its files, ``$`` references."""

from __future__ import annotations

import dataclasses
import typing as t

from .errors import InputError

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .files import Tree

DEFAULT = "DEFAULT"
_QUOTES = ("'", '"')


@dataclasses.dataclass(frozen=True)
class Assignment:
    """A key with its value where it stands in a file."""

    section: str
    """The section as written; see :func:`group`."""
    key: str
    value: str
    """Without the one pair of quotes round its first line; continuation lines after ``\\n``."""
    where: str
    """``file:line``."""


def group(section: str) -> str:
    """Name the option group that a section stands for: its name in lower case, but ``DEFAULT``.

    >>> group("COMPUTE"), group("DEFAULT"), group("Default")
    ('compute', 'DEFAULT', 'default')

    The last one is a group of its own, which holds no option of Nova.

    Source: oslo.config ``cfg.py``, ``_normalize_group_name``.
    """
    return section if section == DEFAULT else section.lower()


def parse(text: str, where: str) -> list[Assignment]:
    """Read one file of oslo.config's INI dialect, in its order.

    Comments stand on lines of their own, at their start; behind a value they belong to it. A line
    that starts with a blank or tab continues the value before it. Keys are taken as written.

    Raises :class:`InputError` with file and line where oslo.config refuses the file. No message
    shows what stands in the line: it may be a secret.

    Source: oslo.config ``iniparser.py``, ``BaseParser``; ``cfg.py``, ``ConfigParser``.
    """
    found: list[Assignment] = []
    section = ""
    open_value: tuple[str, int, list[str]] | None = None

    def close() -> None:
        nonlocal open_value
        if open_value is None:
            return
        key, number, lines = open_value
        if not section:
            raise InputError(
                "a key stands before any section", "[section] first", f"{where}:{number}"
            )
        found.append(Assignment(section, key, "\n".join(lines), f"{where}:{number}"))
        open_value = None

    for number, raw in enumerate(_lines(text), 1):
        line = raw.rstrip()
        if line.startswith((" ", "\t")):
            if open_value is None:
                raise InputError(
                    "an indented line has no value to continue",
                    "keys at the start of their line",
                    f"{where}:{number}",
                )
            open_value[2].append(line.lstrip())
            continue
        close()
        if line.startswith("["):
            section = _section(line, f"{where}:{number}")
        elif line and not line.startswith(("#", ";")):
            key, value = _assignment(line, f"{where}:{number}")
            open_value = (key, number, [value])
    close()
    return found


def _lines(text: str) -> Iterator[str]:
    # str.splitlines() would also split at form feeds and at Unicode's line separators.
    return iter(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def _section(line: str, where: str) -> str:
    if not line.endswith("]"):
        raise InputError("a section does not end with ]", "[section]", where)
    if len(line) <= 2:
        raise InputError("a section has no name", "[section]", where)
    return line[1:-1]


def _assignment(line: str, where: str) -> tuple[str, str]:
    at = min((i for i in (line.find("="), line.find(":")) if i >= 0), default=-1)
    if at < 0:
        raise InputError("neither a section nor a key with a value", "key = value", where)
    key, value = line[:at].strip(), line[at + 1 :].strip()
    if not key:
        raise InputError("a value has no key", "key = value", where)
    if value.startswith(_QUOTES) and value[0] == value[-1]:
        value = value[1:-1]
    return key, value


def files(paths: Iterable[str], tree: Tree) -> list[str]:
    """List the files that ``paths`` name, in the order in which oslo.config reads them.

    A directory stands for its ``*.conf`` files by name; hidden ones are passed over.

    Raises :class:`InputError` for a path that does not exist.

    Source: oslo.config ``cfg.py``, ``_ConfigDirOpt``.
    """
    found = []
    for path in paths:
        if not tree.is_directory(path):
            if not tree.exists(path):
                raise InputError("no such file", "an existing file or directory", path)
            found.append(path)
            continue
        for name in tree.names(path) or ():
            if name.endswith(".conf") and not name.startswith("."):
                found.append(f"{path.rstrip('/')}/{name}")
    return found


def read(paths: Iterable[str], tree: Tree) -> list[Assignment]:
    """Read files and ``conf.d`` directories, in the given order: later values win.

    Raises :class:`InputError` where oslo.config refuses a file, or one cannot be read.
    """
    return [found for path in files(paths, tree) for found in parse(tree.text(path), path)]
