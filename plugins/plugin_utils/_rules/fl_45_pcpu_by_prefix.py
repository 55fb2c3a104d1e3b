# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A resource class that only begins like PCPU.

The check of explicit CPUs compares the beginning of the key: resources:PCPU_X counts as PCPU
there, while Placement is asked for nothing of the kind.

Source: ``nova/virt/hardware.py``, ``_get_vcpu_pcpu_resources``.
"""

from __future__ import annotations

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
        if flavors.EXPLICIT.match(key) and not flavors.EXPLICIT.fullmatch(key)
    ]
    if found:
        yield Detail(
            f"{found[0]} is read as an amount of CPUs by the check alone",
            "the guest is pinned, but asks Placement for VCPU",
            f"{flavors.unset_command(case, *found)}\n"
            + flavors.set_command(case, {"hw:cpu_policy": "dedicated"}),
        )


RULE = Rule(
    code="FL-45",
    severity=Severity.WARNING,
    title="A resource class that only begins like PCPU",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(specs={"resources:PCPU_X": "4"}),
    good=lambda: a_flavor(specs={"resources:PCPU": "4"}),
)
