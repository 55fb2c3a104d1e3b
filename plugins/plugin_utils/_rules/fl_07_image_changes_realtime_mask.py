# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image changes the realtime vCPUs.

hw_cpu_realtime_mask of an image wins over the flavor's mask, so that whoever uploads images
decides how many vCPUs run with realtime priority.

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
    wished = case.image.properties.get("hw_cpu_realtime_mask")
    asked = case.spec("hw:cpu_realtime_mask")
    if flavors.realtime(case) and wished and str(wished) != (asked or ""):
        yield Detail(
            f"image {case.image.name} has hw_cpu_realtime_mask={wished}, the flavor {asked}",
            "the image wins: its guests have other realtime vCPUs than the flavor says",
            f"openstack image unset --property hw_cpu_realtime_mask {case.image.name}",
        )


RULE = Rule(
    code="FL-07",
    severity=Severity.WARNING,
    title="An image changes the realtime vCPUs",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(
        cpu_policy="dedicated",
        cpu_realtime="yes",
        cpu_realtime_mask="^0",
        image={"hw_cpu_realtime_mask": "^0-1"},
    ),
    good=lambda: a_flavor(
        cpu_policy="dedicated",
        cpu_realtime="yes",
        cpu_realtime_mask="^0",
        image={"hw_cpu_realtime_mask": "^0"},
    ),
)
