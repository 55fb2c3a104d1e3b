# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server as the host that it is on accounts for it: topology, pins and allocation."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.cpu_list import ids, mask
from .._model.guest import Guest, GuestCell
from . import constraints
from .errors import NovaError
from .fit import Pinning, Seat
from .usage import Placed

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .._model.flavor import Flavor, Image
    from .._model.server import CellPlace, Server
    from .releases import Release
    from .usage import Holder


@dataclasses.dataclass(frozen=True, slots=True)
class Resident:
    """One server on a host."""

    consumer: str
    """Its UUID, in Placement too."""
    flavor: Flavor
    image: Image
    guest: Guest | None
    """Its NUMA topology, if it has one."""
    holder: Holder | None
    """Where that sits; None where there is none, or where nobody told."""
    allocation: Mapping[str, int]
    """What it holds in Placement on this host, by resource class."""
    status: str = "ACTIVE"
    """Nova's status of it."""

    @property
    def pinned(self) -> bool:
        """True for the policies dedicated and mixed."""
        return self.guest is not None and any(cell.pinned for cell in self.guest.cells)

    @property
    def policies(self) -> frozenset[str | None]:
        """CPU policies of its cells; that of a server without NUMA topology is None."""
        return frozenset(cell.cpu_policy for cell in self.guest.cells) if self.guest else _NONE

    @property
    def located(self) -> bool:
        """Whether it is known where it sits."""
        return self.guest is None or self.holder is not None


_NONE: frozenset[str | None] = frozenset((None,))


class Leaving(t.NamedTuple):
    """A server whose move off a host waits to be confirmed."""

    host: str
    old: Resident
    """The server as it was there, which the host still accounts for."""
    now: Resident | None = None
    """The server as it is on its new host; None as long as it has none."""


def resident(server: Server, release: Release) -> Resident:
    """Account for a server as a host of the given release does.

    An allocation that nobody told is left empty. Pins count more than a flavor that asks for none,
    as where an unknown image asked for them; pins that leave out pinned vCPUs tell nothing.
    """
    try:
        guest = constraints.guest(server.flavor, server.image, release)
    except NovaError:
        # The server exists, whatever the API would say of its flavor today.
        guest = _guest_of(server)
    places = server.places or ()
    if any(place.pins for place in places) and not (guest and any(c.pinned for c in guest.cells)):
        guest = _guest_of(server)
    holder = None
    if guest and len(places) == len(guest.cells) and _complete(guest, places):
        holder = placed(guest, places)
    allocation = server.allocation or {}
    return Resident(
        server.id, server.flavor, server.image, guest, holder, allocation, server.status
    )


def _complete(guest: Guest, places: tuple[CellPlace, ...]) -> bool:
    pairs = zip(guest.cells, places, strict=True)
    return all(not cell.pcpuset & ~mask(place.pins) for cell, place in pairs)


def placed(guest: Guest, places: tuple[CellPlace, ...]) -> Placed:
    """Put each cell of a guest where it was found to sit."""
    return Placed(
        guest,
        tuple(Seat(place.cell, None, place.page_size_kb) for place in places),
        tuple(
            Pinning(dict(place.pins), next(ids(place.reserved), None), 1)
            if place.pins or cell.pinned
            else None
            for cell, place in zip(guest.cells, places, strict=True)
        ),
    )


def _guest_of(server: Server) -> Guest | None:
    """Read a guest's topology off its places."""
    if not server.places:
        return None
    share = server.flavor.memory_mb // len(server.places)
    return Guest(
        tuple(
            GuestCell(
                index,
                0,
                mask(place.pins),
                share,
                place.page_size_kb,
                "dedicated" if place.pins else None,
            )
            for index, place in enumerate(server.places)
        )
    )
