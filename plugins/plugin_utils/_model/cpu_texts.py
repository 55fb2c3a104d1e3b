# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets of CPUs as documents write them."""

from __future__ import annotations

import functools
import typing as t

from ...module_utils._read import cpu_list
from ...module_utils._read.errors import InputError
from .schema import path_text

if t.TYPE_CHECKING:
    from .schema import Path


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> int:
    """Read a list of CPUs. Hosts of a fleet have the same few lists again and again."""
    return cpu_list.parse_kernel(text)


def cpu_set(value: str | int | None, path: Path) -> int:
    """Read a set of CPUs; None is an empty one. Raises ``InputError``, which names ``path``."""
    try:
        return _parsed("" if value is None else str(value))
    except InputError as problem:
        raise problem.at(path_text(path)) from None
