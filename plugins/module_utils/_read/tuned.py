# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tuned was told: its active profile, and the cores that this isolates."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from .files import Tree

ACTIVE = "/etc/tuned/active_profile"
FOLDERS = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
"""Where profiles are looked for, the first one that is found wins."""

_NAME = re.compile(r"[\w.-]+")
_INCLUDE = re.compile(r"^[ \t]*include[ \t]*=[ \t]*([\w., \t-]+?)[ \t]*$", re.MULTILINE)
_ISOLATED = re.compile(r"^[ \t]*isolated_cores[ \t]*=[ \t]*([^#\n]*)", re.MULTILINE)
_PROFILES = 20
"""Profiles looked at in one chain of includes."""


def tuned(tree: Tree) -> dict[str, str] | None:
    """Read the ``tuned`` part of a host's facts, or give None where no profile is active.

    ``isolated_cores`` comes from ``/etc/tuned/<profile>-variables.conf`` of the active profile or
    of one that it includes, as written. It is left out where tuned computes it (``${f:...}``).

    Raises :class:`InputError` for a file that cannot be read.
    """
    profile = " ".join((tree.optional(ACTIVE) or "").split())
    if not profile:
        return None
    isolated = _isolated(tree, profile.split())
    return {"profile": profile, **({"isolated_cores": isolated} if isolated else {})}


def _isolated(tree: Tree, profiles: list[str]) -> str | None:
    pending = [name for name in profiles[::-1] if _NAME.fullmatch(name)]
    seen: list[str] = []
    while pending and len(seen) < _PROFILES:
        name = pending.pop(0)
        if name in seen:
            continue
        seen.append(name)
        text = tree.optional(f"/etc/tuned/{name}-variables.conf") or ""
        values = [found.strip() for found in _ISOLATED.findall(text)]
        if values:
            return None if "$" in values[-1] else values[-1]
        pending.extend(_included(tree, name))
    return None


def _included(tree: Tree, name: str) -> list[str]:
    for folder in FOLDERS:
        text = tree.optional(f"{folder}/{name}/tuned.conf")
        if text is not None:
            listed = " ".join(_INCLUDE.findall(text)).replace(",", " ").split()
            return [each for each in listed if _NAME.fullmatch(each)]
    return []
