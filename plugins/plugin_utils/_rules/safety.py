# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether one flavor, with one image, is safe on one host."""

from __future__ import annotations

import typing as t

from .._nova.releases import release as release_of
from .cases import flavor_case, host_case
from .catalog import RULES
from .rule import FleetCase, Severity

if t.TYPE_CHECKING:
    from .._model.flavor import Flavor, Image
    from .._model.host import Host, Scheduler
    from .rule import FlavorCase, HostCase


def safe(flavor: Flavor, image: Image, host: Host, scheduler: Scheduler) -> bool:
    """Say whether a guest boots, takes the inventory that it should, and no error rule fires.

    Raises ``InputError`` for a release that is not known.
    """
    seen = host_case(host, (host.name,))
    asked = flavor_case(flavor, image, scheduler, (seen,))
    fleet = FleetCase(scheduler, release_of(scheduler.release), (seen,), (asked,))
    (outcome,) = asked.outcomes
    faulty = _faulty(seen) or _faulty(asked) or _faulty(fleet)
    return outcome.boots and _takes_pcpus(asked) and not faulty


def _takes_pcpus(case: FlavorCase) -> bool:
    """Say whether pinned vCPUs take PCPU, unless the host offers none."""
    (host,), (outcome,) = case.hosts, case.outcomes
    pinned = sum(cell.pinned_count for cell in case.guest.cells) if case.guest else 0
    legacy = host.sets is None or host.sets.legacy
    return legacy or outcome.allocation.get("PCPU", 0) >= pinned


def _faulty(case: HostCase | FlavorCase | FleetCase) -> bool:
    return any(
        (detail.severity or rule.severity) is Severity.ERROR
        for rule in RULES
        if rule.subject is type(case)
        for detail in rule.check(case)
    )
