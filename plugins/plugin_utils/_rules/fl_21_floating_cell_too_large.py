# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Floating guest with more vCPUs in a cell than any host cell shares.

A cell of a guest with NUMA topology may not overcommit against itself: whatever the ratio, its
floating vCPUs must not outnumber the shared CPUs of the host cell.

Source: ``nova/virt/hardware.py``, ``_numa_fit_instance_cell``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor, new_style
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    cells = case.guest.cells if case.guest and case.hosts else ()
    floating = max((cell.floating_count for cell in cells), default=0)
    shared = max((cell.shared_count for host in case.hosts for cell in host.cells or ()), default=0)
    if floating > shared:
        yield Detail(
            f"{floating} floating vCPUs in a guest cell, a host cell shares {shared} CPUs at most",
            "the guest fits no host",
            flavors.set_command(case, {"hw:numa_nodes": str(-(-floating // max(shared, 1)))})
            + "  # or share more CPUs per cell",
        )


RULE = Rule(
    code="FL-21",
    severity=Severity.ERROR,
    title="Floating guest with more vCPUs in a cell than any host cell shares",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(new_style(), vcpus=8, numa_nodes="1"),
    good=lambda: a_flavor(new_style(), vcpus=2, numa_nodes="1"),
)
