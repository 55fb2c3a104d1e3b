# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Odd number of vCPUs with thread policy require.

require fills cores; an odd number leaves half of the last one, which only guests without require
can use, beside a stranger.

Source: Launchpad 1467927; ``nova/virt/hardware.py``, ``_pack_instance_onto_cores``.
"""

from __future__ import annotations

import typing as t

from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if case.guest is None or case.guest.cells[0].cpu_thread_policy != "require":
        return
    odd = [cell.pinned_count for cell in case.guest.cells if cell.pinned_count % 2]
    if odd:
        yield Detail(
            f"{odd[0]} pinned vCPUs in a cell with thread policy require",
            "half a core is stranded or shared with another guest",
            f"an even number of vCPUs: {case.flavor.vcpus + len(odd)}",
        )


RULE = Rule(
    code="FL-53",
    severity=Severity.WARNING,
    title="Odd number of vCPUs with thread policy require",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(vcpus=3, cpu_policy="dedicated", cpu_thread_policy="require"),
    good=lambda: a_flavor(vcpus=4, cpu_policy="dedicated", cpu_thread_policy="require"),
)
