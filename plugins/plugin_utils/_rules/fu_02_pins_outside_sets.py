# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server is pinned to CPUs that are no longer dedicated.

nova-compute starts, with a warning at most, and then enters each server in fresh books. It gives up
at the first whose pins, or whose CPU for emulator threads, are not in the set: at its start and
every minute thereafter. The reshape to PCPU waits as well, and boots that the scheduler sends
fail there.

Source: ``nova/compute/resource_tracker.py``, ``_update_usage_from_instances``;
``nova/objects/numa.py``, ``NUMACell.pin_cpus``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import restarts
from .examples import a_guest, a_restart, legacy, new_style
from .rule import Detail, RestartCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


UNCOUNTED = "nova-compute runs, counts none of these CPUs, and keeps nobody else off them"


def _check(case: RestartCase) -> Iterator[Detail]:
    failure, sets = case.start.failure, restarts.sets(case)
    name = failure.name if failure else ""
    if case.start.refusal or sets is None or (failure and name not in restarts.PIN_ERRORS):
        return
    effect = restarts.STALE.format(name) if failure else UNCOUNTED
    lost = 0
    losers = []
    for resident in case.residents:
        outside = restarts.own_cpus(resident) & ~sets.pinnable
        if outside:
            lost |= outside
            losers.append(resident)
    if losers:
        yield Detail(
            f"CPU {to_text(lost)} would not be dedicated, but "
            f"{restarts.servers(losers, 'are', 'is')} pinned there",
            effect,
            f"{restarts.keeping(case, sets)}\n(or first: {restarts.moves(losers)})",
            restarts.where_pinned(case),
        )
    if name == "CPUPinningInvalid":
        twice = restarts.held_twice(case)
        yield Detail(
            f"two servers hold the same CPU: {restarts.servers(twice)}",
            effect,
            restarts.moves(twice[1:]),
        )


RULE = Rule(
    code="FU-02",
    severity=Severity.ERROR,
    title="A server is pinned to CPUs that are no longer dedicated",
    subject=RestartCase,
    check=_check,
    bad=lambda: a_restart(legacy(), new_style(cpu_dedicated_set="1-7"), a_guest(6, 10)),
    good=lambda: a_restart(legacy(), new_style(), a_guest(6, 7)),
)
