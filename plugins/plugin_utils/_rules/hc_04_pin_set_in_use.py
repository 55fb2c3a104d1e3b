# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vcpu_pin_set is in use.

The list bounds floating and pinned guests alike, so both get the same CPUs: whatever floats runs
beside what is pinned. The host reports VCPU for them and no PCPU, so pinned guests reach it only
through the fallback query. cpu_shared_set beside it serves emulator threads alone.

Source: ``nova/virt/libvirt/driver.py``, ``_get_vcpu_available``, ``_get_host_numa_topology``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size, to_text
from ...module_utils._read.errors import quoted
from . import hosts, shared_cpus
from .examples import legacy, new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    config = case.host.config
    pins = hosts.listed(case, "vcpu_pin_set") & case.host.topology.online
    if not case.release.dedicated_set or not pins or config.cpu_dedicated_set:
        return
    beside = (
        f"; cpu_shared_set = {quoted(config.cpu_shared_set)} serves emulator threads only"
        if config.cpu_shared_set
        else ""
    )
    yield Detail(
        f"vcpu_pin_set = {to_text(pins)}: {size(pins)} CPUs for floating and pinned guests "
        f"alike{beside}",
        "floating vCPUs run on the CPUs of pinned ones; no PCPU is reported, and pinned guests "
        "come only by the fallback query",
        f"remove vcpu_pin_set ({config.where('vcpu_pin_set')}) and set\n"
        + shared_cpus.split(case, pins),
        config.where("vcpu_pin_set"),
    )


RULE = Rule(
    code="HC-04",
    severity=Severity.WARNING,
    title="vcpu_pin_set is in use",
    subject=HostCase,
    check=_check,
    bad=legacy,
    good=new_style,
)
