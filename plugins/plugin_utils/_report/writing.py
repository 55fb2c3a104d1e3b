# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that reports are written to."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import typing as t

from ...module_utils._read import files
from ...module_utils._read.errors import InputError


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


def write(path: str, text: str, *, check: bool = False) -> Written:
    """Replace the file at ``path`` at once, unless it holds ``text`` already or ``check`` is set.

    Raises ``InputError`` where it cannot be read or written.
    """
    path = os.path.realpath(os.path.expanduser(path))
    before = files.read_text(path) if os.path.lexists(path) else None
    written = Written(path, before != text, before or "", text)
    if not written.changed or check:
        return written
    folder = os.path.dirname(path)
    try:
        mode = os.stat(path).st_mode & 0o777 if before is not None else 0o644
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".pinguard-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                os.fchmod(file.fileno(), mode)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as problem:
        raise InputError(
            f"cannot be written ({problem.strerror})", "a file in a folder that exists", path
        ) from None
    return written
