# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that reports are written to."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import tempfile
import typing as t

from ...module_utils._read import files
from ...module_utils._read.errors import InputError

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_LARGEST = 1 << 30
"""Bytes of a file that is replaced: a report may be larger than anything that is given."""


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """What a file was and is, or would be."""

    path: str
    changed: bool
    before: str
    after: str

    def diff(self) -> dict[str, t.Any]:
        """Show it as Ansible shows differences."""
        return {
            "before_header": self.path,
            "after_header": self.path,
            "before": self.before,
            "after": self.after,
        }


def located(path: str) -> str:
    """Find the place of a file, all symbolic links followed.

    Raises ``InputError`` for what cannot be a path.
    """
    return files.Tree().locate(os.path.abspath(os.path.expanduser(path)))


def write(path: str, text: str, *, check: bool = False, mode: int = 0o644) -> Written:
    """Write one file as :func:`write_all` does."""
    return write_all({path: text}, check=check, mode=mode)[0]


def write_all(texts: Mapping[str, str], *, check: bool = False, mode: int = 0o644) -> list[Written]:
    """Replace the files by their paths, unless they hold their text already or ``check`` is set.

    All texts are on the disk, beside their files, before the first file is replaced. A new file
    gets ``mode``; others keep theirs.

    Raises ``InputError`` where one cannot be read or written.
    """
    found = [_planned(located(path), text) for path, text in texts.items()]
    if check:
        return found
    with contextlib.ExitStack() as stack:
        staged = [(_staged(file, stack, mode), file.path) for file in found if file.changed]
        for name, path in staged:
            with _telling(path):
                os.replace(name, path)
    return found


def _planned(path: str, text: str) -> Written:
    before = files.read_text(path, _LARGEST) if os.path.lexists(path) else None
    return Written(path, before != text, before or "", text)


def _staged(file: Written, stack: contextlib.ExitStack, mode: int) -> str:
    """Write the text to a file that goes with ``stack`` if it is still there."""
    with _telling(file.path):
        if os.path.lexists(file.path):
            mode = os.stat(file.path).st_mode & 0o777
        descriptor, name = tempfile.mkstemp(dir=os.path.dirname(file.path), prefix=".pinguard-")
        stack.callback(pathlib.Path(name).unlink, missing_ok=True)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(file.after)
            os.fchmod(opened.fileno(), mode)
    return name


@contextlib.contextmanager
def _telling(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise InputError(
            f"cannot be written ({problem.strerror})", "a file in a folder that exists", path
        ) from None
