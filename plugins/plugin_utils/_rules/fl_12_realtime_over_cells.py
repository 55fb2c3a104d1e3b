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
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if flavors.realtime(case) and case.guest and len(case.guest.cells) > 1:
        yield Detail(
            f"realtime over {len(case.guest.cells)} guest cells",
            "emulator threads are remote from part of the guest",
            flavors.set_command(case, {"hw:numa_nodes": "1"}),
        )


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
