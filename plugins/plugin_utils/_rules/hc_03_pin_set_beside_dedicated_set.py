# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vcpu_pin_set beside cpu_dedicated_set.

The old list and the new one exclude one another; a move to the new options that stops half-way
leaves both.

Source: ``nova/virt/libvirt/driver.py``, ``_check_cpu_set_configuration``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.errors import quoted
from . import host_sets, hosts
from .examples import a_host, legacy
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    config = case.host.config
    if not (case.release.dedicated_set and config.vcpu_pin_set and config.cpu_dedicated_set):
        return
    fix = f"remove vcpu_pin_set from [DEFAULT] ({config.where('vcpu_pin_set')})"
    dedicated = hosts.listed(case, "cpu_dedicated_set")
    rest = hosts.listed(case, "vcpu_pin_set") & ~dedicated & case.host.topology.online
    if dedicated and rest and not config.cpu_shared_set:
        fix += " and set\n" + host_sets.snippet(cpu_shared_set=rest)
    yield Detail(
        f"vcpu_pin_set = {quoted(config.vcpu_pin_set)} and cpu_dedicated_set = "
        f"{quoted(config.cpu_dedicated_set)} are both set",
        "nova-compute does not start: InvalidConfiguration",
        fix,
        config.where("vcpu_pin_set"),
    )


RULE = Rule(
    code="HC-03",
    severity=Severity.ERROR,
    title="vcpu_pin_set beside cpu_dedicated_set",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(vcpu_pin_set="1-7", cpu_dedicated_set="1-7"),
    good=legacy,
)
