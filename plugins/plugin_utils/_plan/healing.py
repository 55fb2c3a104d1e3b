# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``nova-manage placement heal_allocations`` would do."""

from __future__ import annotations

import dataclasses
import typing as t

from .._model.flavor import NO_IMAGE
from .._nova import request
from .._nova.errors import NovaError
from .._nova.releases import release as release_of
from .._rules import servers
from .._rules.audit import findings

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .._rules.rule import ServerCase

PINS = "FU-16"
"""The rule that no allocation decides."""


class Healing(t.NamedTuple):
    """What becomes of a server that is healed where it is."""

    told: str
    """In words: ``would ask for PCPU 2, which is right here``."""
    right: bool = False
    """Whether its allocation is right thereafter."""


def healed(case: ServerCase) -> Healing:
    """Say what ``heal_allocations`` would do to a server.

    It goes by the flavor alone, as the primary query does, whatever the image and the host.

    Source: ``nova/cmd/manage.py``, ``_heal_instance_allocations``; ``nova/scheduler/utils.py``,
    ``resources_from_flavor``.
    """
    server = case.server
    try:
        asked = request.build(server.flavor, NO_IMAGE, release_of(case.scheduler.release))
    except NovaError as error:
        return Healing(f"would fail: {error}")
    amounts = servers.cpu_amounts(asked.resources)
    told = f"would ask for {servers.told(amounts)}"
    conflict = _conflict(case, amounts)
    if conflict:
        return Healing(f"{told}; Placement answers 409, {conflict}")
    then = dataclasses.replace(server, allocation=asked.resources)
    found = findings(dataclasses.replace(case, server=then), "")
    wrong = next((each.what for each in found if each.code != PINS), "")
    if wrong:
        primary = case.asked.primary
        imaged = primary is not None and servers.cpu_amounts(primary.resources) != amounts
        why = " (it does not know the image)" if imaged else ""
        return Healing(f"{told}{why}, which is wrong here: {wrong}")
    force = " (over the old one with --force, from Nova 22 on)" if server.allocation else ""
    return Healing(f"{told}, which is right here{force}", right=True)


def _conflict(case: ServerCase, amounts: Mapping[str, int]) -> str:
    """Say why Placement would not take the amounts for a server; "" where it would."""
    provider, own = case.seen.provider, case.resident.allocation
    if provider is None:
        return "the host reports nothing"
    for name, amount in amounts.items():
        used = provider.used.get(name, 0)
        inventory = provider.inventories.get(name)
        if inventory and not inventory.takes(amount, used - own.get(name, 0)):
            return "there is not that much free"
        # A class in use stays in Placement's inventory when the host reports it no more.
        if inventory is None and not used:
            return f"the host reports no {name}"
    return ""
