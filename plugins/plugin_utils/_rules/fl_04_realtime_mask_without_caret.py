# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime mask without a caret.

From 22.0.0 on a mask without ^ lists the realtime vCPUs. Train and Ussuri read it as 0-N,mask, so
that every vCPU is realtime: one flavor, two meanings in the middle of an upgrade.

Source: Launchpad 1688673; ``nova/virt/hardware.py``, ``get_realtime_cpu_constraint``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import parse_nova, to_text
from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    mask = flavors.realtime_mask(case)
    realtime = flavors.realtime_vcpus(case)
    if not flavors.realtime(case) or mask is None or mask.strip().startswith("^") or not realtime:
        return
    everyone = (1 << case.flavor.vcpus) - 1
    if realtime == everyone and case.release.literal_realtime_mask:
        return
    meant = parse_nova(mask) & everyone
    yield Detail(
        f"hw:cpu_realtime_mask {mask!r} has no ^: from 22.0.0 on vCPU {to_text(meant)} are "
        f"realtime, in 20 and 21 all of 0-{case.flavor.vcpus - 1}",
        "the guest means one thing before and another after the upgrade",
        flavors.set_command(case, {"hw:cpu_realtime_mask": "^" + to_text(everyone & ~meant)})
        if everyone & ~meant
        else flavors.set_command(case, {"hw:cpu_realtime_mask": "^0"}),
        severity=Severity.WARNING if case.release.literal_realtime_mask else None,
    )


RULE = Rule(
    code="FL-04",
    severity=Severity.ERROR,
    title="Realtime mask without a caret",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(
        cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="1-3", release="21.0.0"
    ),
    good=lambda: a_flavor(
        cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0", release="21.0.0"
    ),
)
