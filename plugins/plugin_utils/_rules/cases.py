# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts and flavors made into what rules look at, with Nova's decisions filled in."""

from __future__ import annotations

import dataclasses
import typing as t

from .._model.flavor import NO_IMAGE
from .._nova import schedule
from .._nova.cloud import Cloud
from .._nova.errors import NovaError
from .._nova.guest_xml import places_of, predict
from .._nova.releases import release as release_of
from .rule import FlavorCase, HostCase, RestartCase

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .._model.flavor import Flavor, Image
    from .._model.guest import Guest
    from .._model.guest_xml import GuestXml
    from .._model.host import Host, Scheduler
    from .._nova.outcome import Outcome


def host_case(host: Host, names: tuple[str, ...] = ()) -> HostCase:
    """Work out what Nova makes of one class of equal hosts.

    Raises ``InputError`` for a release that is not known.
    """
    seen = schedule.view(host)
    return HostCase(
        host, names or (host.name,), seen.release, seen.sets, seen.cells, seen.fault, seen
    )


def emptied(host: HostCase) -> HostCase:
    """Give a host as it is without any guest."""
    if not host.host.usage and not host.host.allocated:
        return host
    return host_case(dataclasses.replace(host.host, usage=(), allocated={}), host.names)


def written(
    flavor: Flavor, image: Image, guest: Guest | None, host: HostCase, outcome: Outcome
) -> GuestXml | None:
    """Give the XML of a guest for which a boot came out so; None where there is none."""
    if not outcome.boots:
        return None
    try:
        return predict(
            flavor,
            image,
            guest,
            places_of(outcome.fitted),
            host.host,
            host.release,
            outcome.fitted,
            host.cells,
        )
    except NovaError:
        return None


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


def changed(
    case: FlavorCase, extra_specs: Mapping[str, str], hosts: tuple[HostCase, ...] | None = None
) -> FlavorCase:
    """Decide what becomes of a flavor with other extra specs; without ``hosts`` on the same."""
    flavor = dataclasses.replace(
        case.flavor, extra_specs={**case.flavor.extra_specs, **extra_specs}
    )
    seen = case.hosts if hosts is None else hosts
    key = likeness(flavor, case.image), *map(id, seen)
    known = case.tried.get(key)
    if known is None:  # its hosts live as long as it does, and so do their ids
        known = case.tried[key] = flavor_case(flavor, case.image, case.scheduler, seen)
    return dataclasses.replace(known, flavor=flavor)


def restart_case(cloud: Cloud, host: Host, *, servers_told: bool = True) -> RestartCase:
    """Restart the nova-compute of one host of a cloud as ``host``; the cloud stays as it is.

    Raises ``InputError`` for a release that is not known.
    """
    name = host.name
    trial = Cloud(cloud.scheduler)
    trial.hosts[name] = before = cloud.hosts[name]
    residents = cloud.residents.get(name, {})
    trial.residents[name] = dict(residents)
    trial.leaving = {each: left for each, left in cloud.leaving.items() if left[0] == name}
    start = trial.start(host)
    return RestartCase(before, host, tuple(residents.values()), start, servers_told)


def likeness(flavor: Flavor, image: Image) -> tuple[t.Any, ...]:
    """Give what requests have in common that are answered alike."""
    return (
        flavor.vcpus,
        flavor.memory_mb,
        flavor.disk_gb,
        flavor.ephemeral_gb,
        flavor.swap_mb,
        tuple(flavor.extra_specs.items()),
        image.name,
        tuple(image.properties.items()),
    )


def telling(flavor: Flavor, images: tuple[Image, ...], scheduler: Scheduler) -> Iterator[Image]:
    """List the images that change what the flavor asks for or what it is answered."""
    alone = _answer(flavor, NO_IMAGE, scheduler) if images else None
    for image in images:
        if _answer(flavor, image, scheduler) != alone:
            yield image


def _answer(flavor: Flavor, image: Image, scheduler: Scheduler) -> tuple[t.Any, ...]:
    asked = schedule.ask(flavor, image, scheduler)
    refusal = asked.refusal
    answer = (refusal.name, refusal.text) if refusal else None
    return answer, asked.guest, asked.primary, asked.fallback, asked.bad_query
