# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers: guests that exist, on which host, with which pins and which allocation."""

from __future__ import annotations

import dataclasses
import typing as t

from .flavor import NO_IMAGE, Image

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .flavor import Flavor


@dataclasses.dataclass(frozen=True, slots=True)
class CellPlace:
    """Where one NUMA cell of a server sits, as Nova's database has it.

    Source: ``nova/objects/instance_numa.py``, ``InstanceNUMACell`` (``id``, ``cpu_pinning``,
    ``cpuset_reserved``, ``pagesize``).
    """

    cell: int
    """Id of the host cell."""
    pins: Mapping[int, int] = dataclasses.field(default_factory=dict)
    """vCPU to host CPU; none for a cell that floats."""
    reserved: int = 0
    """Host CPUs kept for emulator threads (bitmask)."""
    page_size_kb: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """One guest that exists."""

    id: str
    """Its UUID, which is also that of the consumer in Placement."""
    name: str
    host: str
    """The host that it is on; "" where it is on none."""
    flavor: Flavor
    """The flavor as embedded in the server, not as it may have changed since."""
    image: Image = NO_IMAGE
    status: str = "ACTIVE"
    """Nova's status: ACTIVE, SHUTOFF, VERIFY_RESIZE and so on."""
    places: tuple[CellPlace, ...] | None = None
    """One for each guest cell, () for a guest without NUMA topology; None where nobody told."""
    allocation: Mapping[str, int] | None = None
    """What Placement has allocated to it on its host, by resource class; None where nobody told."""
    where: str = ""
    """File, or file and key, that the server was read from."""


@dataclasses.dataclass(frozen=True, slots=True)
class Allocation:
    """What a consumer that is no server of the fleet holds on a host: a leak, a migration."""

    consumer: str
    host: str
    resources: Mapping[str, int]
