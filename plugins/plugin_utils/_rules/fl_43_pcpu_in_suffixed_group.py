# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCPU in a suffixed group escapes the pinning check.

Nova derives a pinning policy from resources:PCPU with no suffix or a numeric one alone. With any
other suffix the guest floats over shared CPUs while it holds PCPU, and pinned guests that follow
find no PCPU although CPUs are free.

Source: ``nova/virt/hardware.py``, ``numa_get_constraints``; ``nova/scheduler/utils.py``.
"""

from __future__ import annotations

import re
import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    found = [
        key
        for key in case.flavor.extra_specs
        if re.fullmatch(r"resources[a-zA-Z0-9_-]+:PCPU", key) and not flavors.EXPLICIT.match(key)
    ]
    if found and case.release.any_suffix and not case.refusal and not flavors.pinned(case):
        amount = case.flavor.extra_specs[found[0]]
        yield Detail(
            f"{found[0]}={amount} allocates PCPU, and the guest has no pinned vCPU",
            "it floats over the shared CPUs and holds dedicated ones for nothing",
            f"{flavors.unset_command(case, *found)}\n"
            + flavors.set_command(case, {"hw:cpu_policy": "dedicated"}),
        )


RULE = Rule(
    code="FL-43",
    severity=Severity.ERROR,
    title="PCPU in a suffixed group escapes the pinning check",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(specs={"resources_cpu:PCPU": "4"}),
    good=lambda: a_flavor(specs={"resources:PCPU": "4"}),
)
