# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resource providers as Placement's API tells of them."""

from __future__ import annotations

import typing as t
import urllib.parse

from ...module_utils._read.errors import InputError, quoted
from . import loading
from .schema import check, within

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MICROVERSION = "1.6"
"""The oldest one that tells of traits."""
_REFUSALS = {
    401: "the token is not accepted",
    403: "the token's user may not read resource providers",
    404: "there is no Placement API",
}

Get = t.Callable[[str], tuple[int, str]]
"""Asks for a path below the endpoint; gives status and body."""


def read(names: Iterable[str], get: Get) -> dict[str, dict[str, t.Any]]:
    """Read providers by their names: uuid, inventories, usages, traits, allocations by consumer.

    Raises ``InputError`` for a name that no provider has, and where Placement refuses to tell or
    answers what its API does not.
    """
    return {name: _provider(name, lambda path: _document(path, get)) for name in names}


def _provider(name: str, get: Callable[[str], dict[str, t.Any]]) -> dict[str, t.Any]:
    found = get(f"/resource_providers?{urllib.parse.urlencode({'name': name})}")
    if not found["resource_providers"]:
        what = f"no resource provider is named {quoted(name)}"
        raise InputError(what, "names of hypervisors", "names")
    key = found["resource_providers"][0]["uuid"]
    inventories, usages, traits, allocations = (
        get(f"/resource_providers/{key}/{part}")[part]
        for part in ("inventories", "usages", "traits", "allocations")
    )
    return {
        "uuid": key,
        "inventories": inventories,
        "usages": usages,
        "traits": sorted(traits),
        "allocations": {consumer: held["resources"] for consumer, held in allocations.items()},
    }


def _document(path: str, get: Get) -> dict[str, t.Any]:
    status, body = get(path)
    where = f"Placement, GET {path}"
    if status != 200:
        raise InputError(f"{_REFUSALS.get(status, 'it failed')} (status {status})", "", where)
    part = path.partition("?")[0].rpartition("/")[2]
    with within(f"{where}: the answer is not Placement's"):
        found: dict[str, t.Any] = loading.parse_json(body)
        check(found, f"placement:1#/$defs/{part}")
    return found
