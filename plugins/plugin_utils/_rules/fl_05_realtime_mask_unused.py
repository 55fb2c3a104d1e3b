# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime mask without hw:cpu_realtime.

Nova looks at the mask only where hw:cpu_realtime is a word for yes.

Source: ``nova/virt/hardware.py``, ``get_realtime_cpu_constraint``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    mask = case.spec("hw:cpu_realtime_mask")
    if mask and not flavors.realtime(case):
        yield Detail(
            f"hw:cpu_realtime_mask={mask} is set, hw:cpu_realtime is not on",
            "the guest is not realtime: the mask is passed over in silence",
            flavors.set_command(case, {"hw:cpu_realtime": "yes"})
            + f"  # or: openstack flavor unset {case.flavor.name} --property hw:cpu_realtime_mask",
        )


RULE = Rule(
    code="FL-05",
    severity=Severity.WARNING,
    title="Realtime mask without hw:cpu_realtime",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="dedicated", cpu_realtime_mask="^0"),
    good=lambda: a_flavor(cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0"),
)
