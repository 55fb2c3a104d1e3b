# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tuned was told: its active profile, and the cores that this isolates or does not balance."""

from __future__ import annotations

import re
import typing as t

from .errors import InputError

if t.TYPE_CHECKING:
    from .files import Tree

ACTIVE = "/etc/tuned/active_profile"
FOLDERS = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
"""Where profiles are looked for, the first one that is found wins."""

_NAME = re.compile(r"[\w.-]{1,128}")
_ACTIVE = 4096
"""Characters of the names of all active profiles."""
_INCLUDE = re.compile(r"^[ \t]*include[ \t]*=[ \t]*([\w., \t-]+?)[ \t]*$", re.MULTILINE)
_CORES = re.compile(r"^[ \t]*(isolated_cores|no_balance_cores)[ \t]*=[ \t]*([^#\n]*)", re.MULTILINE)
_PROFILES = 20
"""Profiles looked at in one chain of includes."""


def tuned(tree: Tree) -> dict[str, str] | None:
    """Read the ``tuned`` part of a host's facts, or give None where no profile is active.

    ``isolated_cores`` and ``no_balance_cores`` come from ``/etc/tuned/<profile>-variables.conf`` of
    the active profile, else of one that it includes, as written. One is left out where tuned
    computes it (``${f:...}``).

    Raises :class:`InputError` for a file that cannot be read.
    """
    profile = " ".join((tree.optional(ACTIVE) or "").split())
    if not profile:
        return None
    if len(profile) > _ACTIVE:
        raise InputError("names very many profiles", f"up to {_ACTIVE} characters", ACTIVE)
    return {"profile": profile, **_cores(tree, profile.split())}


def _cores(tree: Tree, profiles: list[str]) -> dict[str, str]:
    pending = [name for name in profiles[::-1] if _NAME.fullmatch(name)]
    seen: list[str] = []
    found: dict[str, str] = {}
    while pending and len(seen) < _PROFILES:
        name = pending.pop(0)
        if name in seen:
            continue
        seen.append(name)
        told = dict(_CORES.findall(tree.optional(f"/etc/tuned/{name}-variables.conf") or ""))
        found = {**told, **found}
        pending.extend(_included(tree, name))
    values = {key: found[key].strip() for key in sorted(found)}
    return {key: value for key, value in values.items() if value and "$" not in value}


def _included(tree: Tree, name: str) -> list[str]:
    for folder in FOLDERS:
        text = tree.optional(f"{folder}/{name}/tuned.conf")
        if text is not None:
            listed = " ".join(_INCLUDE.findall(text)).replace(",", " ").split()
            return [each for each in listed if _NAME.fullmatch(each)][:_PROFILES]
    return []
