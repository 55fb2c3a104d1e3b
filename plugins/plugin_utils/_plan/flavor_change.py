# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of the flavors of a cloud when others of their names are applied.

The compute API changes extra specs alone: other sizes or another id take a deletion and a new
flavor. Servers keep the flavor that is embedded in them until they are resized.

Source: ``nova/objects/flavor.py``; ``nova/objects/instance.py``, ``Instance.flavor``.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.errors import InputError, quoted

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .._model.flavor import Flavor
    from .._model.server import Server

Kind = t.Literal["create", "keep", "update", "recreate", "delete"]

_SIZES = {
    "id": "id",
    "vcpus": "vcpus",
    "ram": "memory_mb",
    "disk": "disk_gb",
    "ephemeral": "ephemeral_gb",
    "swap": "swap_mb",
}
"""What no flavor can change: keys as users give them, and fields."""

_NAMED = 5
"""Servers that a message names."""


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one flavor."""

    name: str
    kind: Kind
    sizes: Mapping[str, tuple[str | int, str | int]] = dataclasses.field(default_factory=dict)
    """Before and after, of what differs and makes a new flavor of it."""
    extra_specs: Mapping[str, tuple[str | None, str | None]] = dataclasses.field(
        default_factory=dict
    )
    """Before and after, of what differs; None where there is none."""
    servers: tuple[Server, ...] = ()
    """Those that run on the flavor of today."""
    servers_told: bool = True
    """Whether anybody told which servers there are."""
    servers_left_out: int = 0
    """Servers of the cloud of which nobody told what they run on."""
    id: str = ""
    """The id of today; "" where unknown."""

    @property
    def risky(self) -> bool:
        """Whether it needs to be accepted: something goes, or servers were booted of it."""
        if self.kind == "update":
            return bool(self.servers or self.servers_left_out) or not self.servers_told
        return self.kind in ("recreate", "delete")

    @property
    def text(self) -> str:
        """Say it in one line."""
        return "; ".join(filter(None, (self._what(), self._who())))

    def _what(self) -> str:
        differ = [
            f"{key} {_shown(before)} -> {_shown(after)}"
            for changed in (self.sizes, self.extra_specs)
            for key, (before, after) in changed.items()
        ]
        verbs = {
            "create": "is new",
            "keep": "stays as it is",
            "update": f"gets other extra specs ({', '.join(differ)})",
            "recreate": f"is deleted and made anew ({', '.join(differ)})",
            "delete": "is deleted",
        }
        return f"{self.name} {verbs[self.kind]}"

    def _who(self) -> str:
        if self.kind in ("create", "keep"):
            return ""
        if not self.servers_told:
            return "nobody told which servers run on it"
        count = self.servers_left_out
        left_out = f"servers that were left out and may run on it: {count}" if count else ""
        if not self.servers:
            return left_out or "no server runs on it"
        shown = [
            f"{each.name or each.id} on {each.host or 'no host'}" for each in self.servers[:_NAMED]
        ]
        more = len(self.servers) - len(shown)
        rest = f" and {more} more" if more else ""
        named = f"{', '.join(shown)}{rest}"
        text = f"servers on it keep it as it is today until they are resized: {named}"
        return f"{text}; {left_out}" if left_out else text

    def as_dict(self) -> dict[str, t.Any]:
        """Show it as plain data."""
        return {
            "name": self.name,
            "kind": self.kind,
            "text": self.text,
            "accept": self.risky,
            **{
                part: {
                    key: {"before": before, "after": after}
                    for key, (before, after) in getattr(self, part).items()
                }
                for part in ("sizes", "extra_specs")
            },
            "servers": [
                {"id": each.id, "name": each.name, "host": each.host, "status": each.status}
                for each in self.servers
            ],
            "servers_told": self.servers_told,
            "servers_left_out": self.servers_left_out,
        }


def changes(
    wanted: Iterable[Flavor],
    now: Iterable[Flavor],
    servers: Iterable[Server] | None,
    left_out: int = 0,
) -> tuple[Change, ...]:
    """Compare flavors with those of today by name; ``servers`` is None where nobody told, and
    ``left_out`` counts others.

    Raises ``InputError`` where a client would take another flavor of today for a wanted one.
    """
    wanted = tuple(wanted)
    today = {flavor.name: flavor for flavor in now}
    _refuse_mistaken(wanted, today.values())
    users = _users(servers)
    told = servers is not None
    return tuple(
        _change(flavor, today[flavor.name], users.get(flavor.name, ()), told, left_out)
        if flavor.name in today
        else Change(flavor.name, "create", servers_told=told)
        for flavor in wanted
    )


def _refuse_mistaken(wanted: Iterable[Flavor], today: Iterable[Flavor]) -> None:
    """Refuse a name or id that is one of another flavor: clients look a flavor up by either, the
    id first, and would change or delete that one.
    """
    owners = {text: now for now in today for text in (now.name, now.id) if text}
    owners |= {now.id: now for now in owners.values() if now.id}
    for flavor in wanted:
        for key, text in (("name", flavor.name), ("id", flavor.id)):
            other = owners.get(text)
            if other and other.name != flavor.name:
                what = f"{quoted(text)} names {quoted(other.name)} of today too"
                where = flavor.where or quoted(flavor.name)
                raise InputError(
                    what, "a name and an id that no other flavor has", f"{where}: {key}"
                )


def deletions(
    names: Iterable[str],
    now: Iterable[Flavor],
    servers: Iterable[Server] | None,
    left_out: int = 0,
) -> Iterator[Change]:
    """List the deletions of flavors that are managed no more."""
    today = {flavor.name: flavor.id for flavor in now}
    users = _users(servers)
    for name in names:
        yield Change(
            name,
            "delete",
            servers=tuple(users.get(name, ())),
            servers_told=servers is not None,
            servers_left_out=left_out,
            id=today.get(name, ""),
        )


def _users(servers: Iterable[Server] | None) -> dict[str, list[Server]]:
    users: dict[str, list[Server]] = {}
    for server in servers or ():
        users.setdefault(server.flavor.name, []).append(server)
    return users


def _change(
    wanted: Flavor, now: Flavor, servers: Sequence[Server], told: bool, left_out: int
) -> Change:
    sizes = {
        key: (getattr(now, field), getattr(wanted, field))
        for key, field in _SIZES.items()
        if getattr(now, field) != getattr(wanted, field)
    }
    if not (wanted.id and now.id):
        sizes.pop("id", None)
    keys = dict.fromkeys((*now.extra_specs, *wanted.extra_specs))
    specs = {
        key: (now.extra_specs.get(key), wanted.extra_specs.get(key))
        for key in keys
        if now.extra_specs.get(key) != wanted.extra_specs.get(key)
    }
    kind: Kind = "recreate" if sizes else "update" if specs else "keep"
    return Change(wanted.name, kind, sizes, specs, tuple(servers), told, left_out, now.id)


def refusal(found: Iterable[Change], accepted: Iterable[str]) -> str:
    """Say which changes nobody accepted; "" where there is none.

    Raises ``InputError`` where a name is accepted that no change has.
    """
    by_name = {change.name: change for change in found}
    for name in accepted:
        if name not in by_name:
            raise InputError(f"{quoted(name)} is none of the flavors", ", ".join(by_name), "accept")
    refused = [
        change for name, change in by_name.items() if change.risky and name not in set(accepted)
    ]
    if not refused:
        return ""
    told = ". ".join(change.text for change in refused)
    return f"{told}. Nothing is written; to go on, name in accept: " + ", ".join(
        change.name for change in refused
    )


def _shown(value: str | int | None) -> str:
    return "none" if value is None else str(value)
