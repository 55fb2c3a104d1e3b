# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fleets with servers on them that booted there, so that pins and allocations hold together."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE, Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import CellPlace, Server
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.clouds import cloud_of

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Fleet
    from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.fit import Fitted


def populated(fleet: Fleet, wanted: Iterable[tuple[str, Flavor]], most: int = 1_000_000) -> Fleet:
    """Boot servers by host and flavor, up to ``most``; one that does not boot is left out."""
    cloud = cloud_of(fleet)
    asked = {flavor.name: cloud.ask(flavor, NO_IMAGE) for flavor in fleet.flavors}
    servers: list[Server] = []
    for number, (host, flavor) in enumerate(wanted):
        if len(servers) == most:
            break
        outcome = cloud.select(asked[flavor.name], (host,)).outcomes.get(host)
        if outcome is None or not outcome.boots:
            continue
        consumer = f"{number:08x}-0000-4000-8000-000000000000"
        if cloud.place(consumer, asked[flavor.name], host, outcome).clean:
            held = dict(outcome.allocation)
            servers.append(
                Server(
                    consumer,
                    f"server-{number}",
                    host,
                    flavor,
                    places=_places(outcome.fitted),
                    allocation=held,
                )
            )
    return dataclasses.replace(fleet, servers=tuple(servers))


def _places(fitted: Fitted | None) -> tuple[CellPlace, ...]:
    """Tell where a guest sits as Nova's database does."""
    if fitted is None:
        return ()
    return tuple(
        CellPlace(
            seat.cell,
            dict(pinning.pins) if pinning else {},
            1 << pinning.reserved if pinning and pinning.reserved is not None else 0,
            seat.page_size_kb,
        )
        for seat, pinning in zip(fitted.seats, fitted.pinnings(), strict=True)
    )
