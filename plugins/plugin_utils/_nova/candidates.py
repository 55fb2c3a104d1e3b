# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Placement's arithmetic: which providers can give what a query asks for.

A provider here is a compute node that gives all by itself, without child or sharing providers.

Source throughout: openstack-placement, ``objects/allocation_candidate.py``; answers compared with
the real service.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .standard_traits import STANDARD_TRAITS

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .inventory import Inventory
    from .request import Request


class BadQuery(Exception):
    """A query that Placement answers with 400; Nova takes it for no candidates at all."""


@dataclasses.dataclass(frozen=True, slots=True)
class Provider:
    """One resource provider."""

    name: str
    inventories: Mapping[str, Inventory]
    used: Mapping[str, int] = dataclasses.field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class Scope:
    """What a query says of providers beside amounts and traits."""

    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    member_of: tuple[tuple[bool, frozenset[str]], ...] = ()
    """Each: member of any of these aggregates (True) or of none of them (False)."""


ANYWHERE = Scope()


def member_of(text: str | None) -> tuple[tuple[bool, frozenset[str]], ...]:
    """Read one ``member_of`` of a query: ``UUID``, ``in:A,B``, ``!A`` or ``!in:A,B``."""
    if not text:
        return ()
    wanted = not text.startswith("!")
    names = text.removeprefix("!").removeprefix("in:")
    return ((wanted, frozenset(names.split(","))),)


def _known(trait: str) -> bool:
    return trait in STANDARD_TRAITS or trait.startswith("CUSTOM_")


def check(query: Request, scope: Scope = ANYWHERE) -> None:
    """Check the form of a query; raises :class:`BadQuery`."""
    if not any(group.resources for group in query.groups):
        raise BadQuery("the query asks for no resources")
    suffixed = [group for group in query.groups if group.suffix]
    for group in query.groups:
        both = group.required & group.forbidden
        if both:
            raise BadQuery(f"trait {', '.join(sorted(both))} is both required and forbidden")
        unknown = {name for name in group.required | group.forbidden if not _known(name)}
        if unknown:
            raise BadQuery(f"trait {', '.join(sorted(unknown))} does not exist")
        if not group.resources:
            name = f"group {group.suffix!r}" if group.suffix else "the group without suffix"
            raise BadQuery(f"{name} asks for traits but no resources")
    if scope.member_of and not query.unsuffixed.resources:
        raise BadQuery("the group without suffix has aggregates but no resources")
    if len(suffixed) > 1 and query.group_policy is None:
        raise BadQuery("several suffixed groups and no group_policy")


def refusal(provider: Provider, query: Request, scope: Scope = ANYWHERE) -> str | None:
    """Say why a provider is no candidate, in a few words; None where it is one.

    The query must have passed :func:`check`.
    """
    asked = query.resources
    for name, amount in asked.items():
        # Each group's part has to fit by itself, and so has the sum.
        parts = {group.resources[name] for group in query.groups if name in group.resources}
        inventory = provider.inventories.get(name)
        used = provider.used.get(name, 0)
        if inventory is None:
            return f"has no {name} inventory"
        if not all(inventory.takes(part, used) for part in (amount, *parts)):
            free = int((inventory.total - inventory.reserved) * inventory.ratio - used)
            return f"{name} {amount} asked, {min(free, inventory.max_unit)} at most"
    for group in query.groups:
        if group.required - provider.traits:
            return f"lacks trait {', '.join(sorted(group.required - provider.traits))}"
        if group.forbidden & provider.traits:
            return f"has forbidden trait {', '.join(sorted(group.forbidden & provider.traits))}"
    if query.group_policy == "isolate" and sum(bool(group.suffix) for group in query.groups) > 1:
        return "one provider cannot serve isolated groups"
    return _out_of_scope(provider, scope)


def _out_of_scope(provider: Provider, scope: Scope) -> str | None:
    if scope.root_required - provider.traits or scope.root_forbidden & provider.traits:
        return "is disabled or lacks a trait that every request needs"
    for wanted, names in scope.member_of:
        if bool(provider.aggregates & names) != wanted:
            return "is in the wrong aggregates"
    return None


def candidates(
    providers: Iterable[Provider], query: Request, scope: Scope = ANYWHERE
) -> list[tuple[str, dict[str, int]]]:
    """List the providers that can serve a query, each with the amounts that it would give.

    Raises :class:`BadQuery`.
    """
    check(query, scope)
    return [
        (provider.name, query.resources)
        for provider in providers
        if refusal(provider, query, scope) is None
    ]
