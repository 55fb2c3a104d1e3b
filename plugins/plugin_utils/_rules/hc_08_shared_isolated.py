# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared CPUs are isolated from the kernel's scheduler.

Nova writes the range of shared CPUs and leaves the balance to the kernel, which does not balance
over isolated ones, be it by ``isolcpus`` or by an isolated cpuset partition: a thread stays where
it starts. Nova never reads what the kernel was told.

Source: kernel ``kernel/sched/isolation.c``; ``nova/virt/libvirt/driver.py``,
``_get_guest_numa_config``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.host import Isolation
from . import hosts
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    if case.sets is None or case.sets.legacy:
        return
    both = case.sets.shared & hosts.isolated(case)
    if both:
        left = hosts.isolated(case) & ~case.sets.shared
        yield Detail(
            f"shared CPUs {to_text(both)} are isolated from the kernel's scheduler",
            "floating vCPUs and shared emulator threads may all pile up on one CPU",
            f"isolate {to_text(left)} alone"
            if left
            else "isolate none (isolcpus, cpuset partitions)",
            case.host.config.where("cpu_shared_set"),
        )


RULE = Rule(
    code="HC-08",
    severity=Severity.ERROR,
    title="Shared CPUs are isolated from the kernel's scheduler",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(isolation=Isolation(domain=(1 << 32) - 2)),
    good=lambda: new_style(isolation=Isolation(domain=0xFEFEFEFE)),
)
