# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Emulator policy isolate and a first cell without pinned vCPUs.

The CPU for emulator threads is kept beside the pins of guest cell 0. Where that cell has none,
Nova keeps nothing and refuses the cell, in every release.

Source: ``nova/virt/hardware.py``, ``_pack_instance_onto_cores``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    guest = case.guest
    if guest and guest.emulator_threads_policy == "isolate":
        first = guest.cells[0]
        if first.cpu_policy == "mixed" and not first.pinned_count:
            yield Detail(
                "guest cell 0 has no pinned vCPU, and emulator policy isolate needs one there",
                "the guest fits no host",
                flavors.set_command(case, {"hw:cpu_dedicated_mask": "0"})
                + "  # or any mask that pins a vCPU of cell 0",
            )


RULE = Rule(
    code="FL-17",
    severity=Severity.ERROR,
    title="Emulator policy isolate and a first cell without pinned vCPUs",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(
        cpu_policy="mixed",
        cpu_dedicated_mask="2-3",
        numa_nodes="2",
        emulator_threads_policy="isolate",
    ),
    good=lambda: a_flavor(
        cpu_policy="mixed",
        cpu_dedicated_mask="0-1",
        numa_nodes="2",
        emulator_threads_policy="isolate",
    ),
)
