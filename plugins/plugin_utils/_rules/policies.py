# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Policies for emulator threads, tried for a flavor on an empty host of a class.

Source: ``nova/virt/hardware.py``, ``get_emulator_thread_policy_constraint``.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._nova import schedule
from .cases import emptied, likeness, written

if t.TYPE_CHECKING:
    from .._model.flavor import Flavor, Image
    from .._model.guest_xml import GuestXml
    from .._model.host import Scheduler
    from .rule import HostCase

KEY = "hw:emulator_threads_policy"

POLICIES = ("share", "isolate")
"""The policies in the order in which they are proposed: what costs no PCPU comes first."""


def with_policy(flavor: Flavor, policy: str) -> Flavor:
    """Give a flavor a policy for its emulator threads."""
    return dataclasses.replace(flavor, extra_specs={**flavor.extra_specs, KEY: policy})


class Trial(t.NamedTuple):
    """What comes of a policy."""

    policy: str
    xml: GuestXml | None
    """Of a guest with it; None where none boots."""
    refusal: str
    """Why none boots; "" where one does."""


class Trials:
    """Tries policies; those for equal flavors on equal hosts once."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._known: dict[t.Any, tuple[Trial, ...]] = {}
        self._empty: dict[str, HostCase] = {}

    def of(self, flavor: Flavor, image: Image, host: HostCase) -> tuple[Trial, ...]:
        """Try each policy that the flavor does not have yet."""
        key = host.host.name, likeness(flavor, image)
        if key not in self._known:
            self._known[key] = tuple(
                self._tried(policy, flavor, image, host)
                for policy in POLICIES
                if flavor.extra_specs.get(KEY) != policy
            )
        return self._known[key]

    def _tried(self, policy: str, flavor: Flavor, image: Image, host: HostCase) -> Trial:
        if policy == "share" and not host.host.config.cpu_shared_set:
            return Trial(policy, None, "they have no cpu_shared_set")
        if host.host.name not in self._empty:
            self._empty[host.host.name] = emptied(host)
        empty, changed = self._empty[host.host.name], with_policy(flavor, policy)
        asked = schedule.ask(changed, image, self._scheduler)
        outcome = schedule.settle(asked, empty.view, self._scheduler)
        if not outcome.boots:
            return Trial(policy, None, f"{outcome.stage}: {outcome.reason}")
        xml = written(changed, image, asked.guest, empty, outcome)
        return Trial(policy, xml, "" if xml else "driver: no XML can be written")
