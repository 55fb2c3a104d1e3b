# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime guest over several NUMA cells.

Emulator threads of a guest without policy run on the union of its ordinary vCPUs, which then
spans host cells or lies far from half the guest.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .cases import changed
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.guest import Guest


def _check(case: FlavorCase) -> Iterator[Detail]:
    if flavors.realtime(case) and case.guest and len(case.guest.cells) > 1:
        yield Detail(
            f"realtime over {len(case.guest.cells)} guest cells",
            "emulator threads are remote from part of the guest",
            _fix(case, _needed(case.guest)),
        )


def _needed(guest: Guest) -> int:
    """Count the dedicated CPUs of a guest, with the one for its emulator threads."""
    pinned = sum(cell.pinned_count for cell in guest.cells)
    return pinned + (guest.emulator_threads_policy == "isolate")


def _fix(case: FlavorCase, needed: int) -> str:
    """Propose one cell; where it boots on no host so, say what it takes."""
    specs = {"hw:numa_nodes": "1"}
    command = flavors.set_command(case, specs)
    boots_now = any(outcome.boots for outcome in case.outcomes)
    if boots_now and not any(outcome.boots for outcome in changed(case, specs).outcomes):
        return f"{command}  # boots on no host until one has a cell with {needed} CPUs for it"
    return command


RULE = Rule(
    code="FL-12",
    severity=Severity.WARNING,
    title="Realtime guest over several NUMA cells",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(
        cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0", numa_nodes="2"
    ),
    good=lambda: a_flavor(
        cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0", numa_nodes="1"
    ),
)
