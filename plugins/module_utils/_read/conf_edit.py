# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of single options in ``nova.conf``; every other line stays as it is."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import typing as t

from . import nova_options, oslo_ini
from .errors import InputError, quoted
from .files import SMALL, Tree

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Option = tuple[str, str]
"""Group and name."""
Changes = dict[Option, tuple[str, ...]]
"""The values that an option shall have: none where it shall be absent, and several only where it
is one of :data:`nova_options.REPEATED`."""

_KEYS = {
    name if group == oslo_ini.DEFAULT else f"{group}.{name}": (group, name)
    for group, name in nova_options.OPTIONS
}
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ENDS = ("\r\n", "\n", "\r")
_QUOTES = ("'", '"')


def changes(settings: Mapping[str, t.Any]) -> Changes:
    """Take what is asked for: the name of an option, as facts have it, to its value or None.

    Raises :class:`InputError` for a name that is not one of :data:`nova_options.OPTIONS`, and for
    a value that cannot stand in one line or that refers to another option.
    """
    return {_option(key): tuple(_texts(key, value)) for key, value in settings.items()}


def _option(key: str) -> Option:
    if key not in _KEYS:
        raise InputError(f"{quoted(key)} is no option to set", ", ".join(_KEYS), "settings")
    return _KEYS[key]


def _texts(key: str, value: t.Any) -> Iterator[str]:
    several = isinstance(value, list) and _KEYS[key][1] in nova_options.REPEATED
    for item in value if several else () if value is None else (value,):
        text = str(item).lower() if isinstance(item, bool) else str(item)
        if item is None or isinstance(item, (dict, list)) or not text.isprintable() or "$" in text:
            raise InputError(
                f"{quoted(item)} is no value", "text of one line without $", f"settings: {key}"
            )
        yield text


def edited(text: str, asked: Changes, where: str) -> str:
    """Change options of a file so that it gives the values that are asked for.

    A value is changed in the line that counts: the last one of its option. A new option follows
    the last one of its section; a section that is missing comes at the end. An option that shall
    be absent goes with all of its lines.

    Raises :class:`InputError` where oslo.config refuses the file, and where a line that continues
    a value of such an option seems to be a key of its own.
    """
    found = oslo_ini.parse(text, where)
    lines = _Lines(text, found)
    for option, values in asked.items():
        present = [each for each in found if _option_of(each) == option]
        if values and option[1] not in nova_options.REPEATED:
            present = present[-1:]
        if tuple(each.value for each in present) != values:
            _refuse_swallowed(option, present)
            lines.change(option, present, values)
    return lines.text()


def _refuse_swallowed(option: Option, present: Sequence[oslo_ini.Assignment]) -> None:
    """Refuse to change a value together with a key that a wrong indent made a part of it."""
    signs = "=" if option[1] in nova_options.REPEATED else "=:"
    for each in present:
        if set(signs) & set(each.value.partition("\n")[2]):
            raise InputError(
                f"the lines that continue {option[1]} hold another key",
                "keys at the start of their line",
                each.where,
            )


def _option_of(each: oslo_ini.Assignment) -> Option:
    return oslo_ini.group(each.section), each.key


def _file_of(each: oslo_ini.Assignment) -> str:
    return each.where.rpartition(":")[0]


class _Lines:
    """The lines of a file that oslo.config takes, with what becomes of them."""

    def __init__(self, text: str, found: Sequence[oslo_ini.Assignment]) -> None:
        self._lines: list[str] = _LINE.findall(text)
        self._end = _end("".join(self._lines[:1])) or "\n"
        self._open = bool(text) and not _end(text)
        if self._open:
            self._lines[-1] += self._end
        self._places: dict[str, int] = {}
        """By group, the line that a new option follows."""
        for index, line in enumerate(self._lines):
            if line.startswith("["):
                self._places.setdefault(oslo_ini.group(line.rstrip()[1:-1]), index)
        for each in found:
            self._places[oslo_ini.group(each.section)] = self._span(each)[-1]
        self._kept = list(self._lines)
        self._after = [""] * len(self._lines)
        """New lines, behind the old one of the same index."""
        self._sections: dict[str, str] = {}
        """New ones, by group."""

    def _span(self, each: oslo_ini.Assignment) -> range:
        """Give the indexes of an assignment's lines: its own, and those that continue it."""
        start = int(each.where.rpartition(":")[2]) - 1
        stop = start + 1
        while stop < len(self._lines) and self._lines[stop][0] in " \t":
            if not self._lines[stop].strip():
                break
            stop += 1
        return range(start, stop)

    def change(
        self, option: Option, present: Sequence[oslo_ini.Assignment], values: Sequence[str]
    ) -> None:
        """Put ``values`` in the place of assignments of ``option``."""
        place = self._span(present[-1])[-1] if present else self._places.get(option[0])
        for each, value in itertools.zip_longest(present, values):
            if each is None:
                self._add(option, place, value)
                continue
            span = self._span(each)
            for index in span:
                self._kept[index] = ""
            if value is not None:
                line = self._lines[span[0]]
                self._kept[span[0]] = f"{_prefix(line)}{_written(value)}{_end(line)}"

    def _add(self, option: Option, place: int | None, value: str) -> None:
        group, name = option
        if place is None:
            new = f"{name} = {_written(value)}{self._end}"
            self._sections[group] = self._sections.get(group, f"[{group}]{self._end}") + new
        else:
            self._after[place] += f"{name} = {_written(value)}{_end(self._lines[place])}"

    def text(self) -> str:
        """Join what is there now."""
        text = "".join(itertools.chain.from_iterable(zip(self._kept, self._after)))
        for section in self._sections.values():
            blank = not text or not _LINE.findall(text)[-1].strip()
            text += section if blank else self._end + section
        return text[: len(text) - len(_end(text))] if self._open else text


def _end(line: str) -> str:
    return next((end for end in _ENDS if line.endswith(end)), "")


def _prefix(line: str) -> str:
    """Take all of a line that stands before its value."""
    at = min(index for index in (line.find("="), line.find(":")) if index >= 0)
    name, rest = line[:at], line[at + 1 :].rstrip("\r\n")
    gap = rest[: len(rest) - len(rest.lstrip())] or name[len(name.rstrip()) :][:1]
    return f"{line[: at + 1]}{gap}"


def _written(value: str) -> str:
    """Write a value so that it is read back as it is."""
    plain = value == value.strip() and not (value.startswith(_QUOTES) and value[0] == value[-1])
    return value if plain else f'"{value}"'


@dataclasses.dataclass(frozen=True)
class _Proposed(Tree):
    """The files of this machine as they are when one of them has a certain text."""

    target: str = ""
    """Where the file is, with all symbolic links followed."""
    content: str = ""

    def optional(self, path: str, limit: int = SMALL) -> str | None:
        if self.locate(path) == self.target:
            return self.content
        return super().optional(path, limit)

    def exists(self, path: str) -> bool:
        return self.locate(path) == self.target or super().exists(path)

    def names(self, path: str) -> list[str] | None:
        folder, name = os.path.split(self.target)
        names = super().names(path)
        return (
            sorted({*names, name}) if names is not None and self.locate(path) == folder else names
        )


@dataclasses.dataclass(frozen=True)
class Edit:
    """A change of one file, with what nova-compute reads before and after it."""

    target: str
    """The file, with all symbolic links followed."""
    exists: bool
    before: str
    """Its text, which may hold secrets and is never shown; so may the next one."""
    after: str
    nova_before: dict[str, t.Any]
    """The ``nova`` part of the host's facts; so the next one."""
    nova_after: dict[str, t.Any]
    options: dict[str, dict[str, t.Any]]
    """By the options that are asked for, ``before`` and ``after``."""
    shown_before: str
    """Of the file, the options that may be shown; so the next one."""
    shown_after: str

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


def propose(
    path: str,
    settings: Mapping[str, t.Any],
    nova_conf: Sequence[str] | None = None,
    *,
    create: bool = False,
) -> Edit:
    """Work out the change of a file of this machine; nothing is written.

    ``nova_conf`` is as in :func:`host.host_facts`.

    Raises :class:`InputError` for what cannot be read, for a file that is not there unless
    ``create`` is set, for one that nova-compute does not read, and where another file gives an
    option another value than the one that is asked for.
    """
    asked = changes(settings)
    if not os.path.isabs(path):
        raise InputError(f"{quoted(path)} is no absolute path", "one that starts with /", "path")
    target = Tree().locate(path)
    before = Tree().optional(path)
    if before is None and not create:
        raise InputError("no such file", "an existing file, or create: true", path)
    if not os.path.isdir(os.path.dirname(target)):
        raise InputError("no such directory", "one that exists", os.path.dirname(target))
    after = edited(before or "", asked, path)
    if len(after.encode()) > SMALL:
        raise InputError("the file becomes too large", f"at most {SMALL} bytes", path)
    was, then = (_Proposed("/", target, text) for text in (before or "", after))
    paths = nova_options.default_paths(then) if nova_conf is None else nova_conf
    nova_before, nova_after = (nova_options.nova_facts(paths, tree) for tree in (was, then))
    _hold(asked, nova_after["files"], then, path)
    return Edit(
        target,
        before is not None,
        before or "",
        after,
        nova_before,
        nova_after,
        {
            key: {"before": _value(nova_before, key), "after": _value(nova_after, key)}
            for key in settings
        },
        _shown(path, was),
        _shown(path, then),
    )


def _value(nova: Mapping[str, t.Any], key: str) -> t.Any:
    return nova["options"].get(key, {}).get("value")


def _hold(asked: Changes, names: Sequence[str], tree: _Proposed, path: str) -> None:
    """Refuse a change after which nova-compute reads something else than what is asked for."""
    ours = [name for name in names if tree.locate(name) == tree.target]
    if not ours:
        raise InputError(
            "nova-compute does not read this file",
            f"one that it reads ({', '.join(names) or 'none'}), or nova_conf that lists it",
            path,
        )
    found = oslo_ini.read(names, tree)
    for option, values in asked.items():
        present = [each for each in found if _option_of(each) == option]
        if option[1] not in nova_options.REPEATED:
            present = present[-1:]
        if tuple(each.value for each in present) == values:
            continue
        others = [each for each in present if _file_of(each) not in ours]
        raise InputError(
            f"[{option[0]}] {option[1]} is set here too, against what {path} shall say",
            "this line removed or changed first",
            (others or present)[-1].where,
        )


def _shown(path: str, tree: Tree) -> str:
    """Write the options of a file that may be shown, in its own order."""
    lines = []
    section = ""
    options = nova_options.nova_facts([path], tree)["options"]
    present = list(dict.fromkeys(map(_option_of, oslo_ini.read([path], tree))))
    groups = [group for group, _name in present]
    keys = {option: key for key, option in _KEYS.items() if key in options}
    for group, name in sorted(keys, key=lambda each: (groups.index(each[0]), present.index(each))):
        key = keys[group, name]
        if group != section:
            section = group
            lines.append(f"[{group}]")
        value = options[key]["value"]
        for text in value if isinstance(value, list) else [value]:
            lines.append(f"{name} = " + text.replace("\n", "\n    "))
    return "".join(f"{line}\n" for line in lines)
