# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts and flavors made into what rules look at, with Nova's decisions filled in."""

from __future__ import annotations

import typing as t

from .._model.flavor import NO_IMAGE
from .._nova import schedule
from .._nova.releases import release as release_of
from .rule import FlavorCase, HostCase

if t.TYPE_CHECKING:
    from .._model.flavor import Flavor, Image
    from .._model.host import Host, Scheduler


def host_case(host: Host, names: tuple[str, ...] = ()) -> HostCase:
    """Work out what Nova makes of one class of equal hosts.

    Raises ``InputError`` for a release that is not known.
    """
    seen = schedule.view(host)
    return HostCase(
        host, names or (host.name,), seen.release, seen.sets, seen.cells, seen.fault, seen
    )


def flavor_case(
    flavor: Flavor,
    image: Image = NO_IMAGE,
    scheduler: Scheduler | None = None,
    hosts: tuple[HostCase, ...] = (),
) -> FlavorCase:
    """Decide what becomes of a flavor on each of ``hosts``; without ``scheduler`` on the newest.

    Raises ``InputError`` for a release that is not known.
    """
    control = scheduler or schedule.NEWEST_SCHEDULER
    asked = schedule.ask(flavor, image, control)
    return FlavorCase(
        flavor,
        image,
        release_of(control.release),
        control,
        asked.guest,
        asked.refusal,
        hosts,
        tuple(schedule.settle(asked, host.view, control) for host in hosts),
    )
