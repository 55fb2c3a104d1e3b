# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of files that are written below a folder."""

from __future__ import annotations

import os
import typing as t

from ...module_utils._read.errors import InputError
from .writing import Written, write, write_all

if t.TYPE_CHECKING:
    from collections.abc import Mapping


def write_tree(
    folder: str, texts: Mapping[str, str], *, check: bool = False
) -> tuple[Written, ...]:
    """Write texts by their paths below ``folder``, which must exist; make the folders it takes.

    Files that hold their text already are not touched, and with ``check`` none is.

    Raises ``InputError``, before anything is written, where something is in the way.
    """
    folder = os.path.realpath(os.path.expanduser(folder))
    if not os.path.isdir(folder):
        raise InputError("the folder does not exist", "a folder that exists", folder)
    paths = {os.path.join(folder, path): text for path, text in texts.items()}
    planned = [_planned(path, text) for path, text in paths.items()]
    if not check:
        for path in paths:
            _make(os.path.dirname(path))
        write_all(paths)
    return tuple(planned)


def _planned(path: str, text: str) -> Written:
    above = os.path.dirname(path)
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above) or not os.access(above, os.W_OK | os.X_OK):
        raise InputError("is no folder that can be written to", "such a folder", above)
    if os.path.isdir(path):
        raise InputError("is a folder", "a file, or nothing, in its place", path)
    return write(path, text, check=True)


def _make(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as problem:
        raise InputError(
            f"cannot be made ({problem.strerror})", "a folder that can be written to", folder
        ) from None
