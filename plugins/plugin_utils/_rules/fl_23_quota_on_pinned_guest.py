# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU quota on a pinned guest.

quota:cpu_* sets cgroup limits, which throttle vCPUs that have a host CPU to themselves.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_config``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    keys = [key for key in case.flavor.extra_specs if key.startswith("quota:cpu_")]
    if keys and flavors.pinned(case):
        unset = " ".join(f"--property {key}" for key in keys)
        yield Detail(
            f"{', '.join(keys)} on a guest with pinned vCPUs",
            "the kernel throttles vCPUs although their CPUs are idle otherwise",
            f"openstack flavor unset {case.flavor.name} {unset}",
        )


RULE = Rule(
    code="FL-23",
    severity=Severity.WARNING,
    title="CPU quota on a pinned guest",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="dedicated", specs={"quota:cpu_quota": "50000"}),
    good=lambda: a_flavor(specs={"quota:cpu_quota": "50000"}),
)
