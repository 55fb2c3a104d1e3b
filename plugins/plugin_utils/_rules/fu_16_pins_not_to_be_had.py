# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Server is pinned to CPUs that its host does not pin to, or that another server has.

nova-compute enters every server in fresh books at its start and with every update, and gives up at
the first whose CPUs are not there or are taken. The record of the host then stays as it was.

Source: ``nova/compute/resource_tracker.py``, ``_update_usage_from_instances``;
``nova/objects/numa.py``, ``NUMACell.pin_cpus``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .examples import a_guest, a_server, new_style
from .rule import Detail, Rule, ServerCase, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: ServerCase) -> Iterator[Detail]:
    effect = (
        "every update of nova-compute fails ({}): scheduler and Placement keep what they knew "
        "of the host before, and boots that they send there fail"
    )
    outside = case.occupied & ~case.seen.sets.pinnable if case.seen.sets else 0
    if outside:
        yield Detail(
            f"the server keeps CPU {to_text(outside)}, which the host does not pin to",
            effect.format("CPUPinningUnknown"),
            f"put CPU {to_text(outside)} back in the set of pinned CPUs and restart nova-compute, "
            "then migrate the server",
        )
    if case.doubled:
        both = 0
        for cpus in case.doubled.values():
            both |= cpus
        yield Detail(
            f"the server keeps CPU {to_text(both)}, which server {', '.join(case.doubled)} has",
            effect.format("CPUPinningInvalid"),
            "migrate one of the two",
        )


RULE = Rule(
    code="FU-16",
    severity=Severity.ERROR,
    title="Server is pinned to CPUs that its host does not pin to, or that another server has",
    subject=ServerCase,
    check=_check,
    bad=lambda: a_server(new_style(), a_guest(2, 3), a_guest(1, 2, name="2")),
    good=lambda: a_server(new_style(), a_guest(3, 4), a_guest(1, 2, name="2")),
)
