# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime host balances memory over cells.

The kernel takes pages away from a task for a moment, to learn from the fault which cell uses them.
Nova binds the memory of pinned guests to their cells anyway.

Source: kernel ``Documentation/admin-guide/sysctl/kernel.rst``, ``numa_balancing``.
"""

from __future__ import annotations

import typing as t

from .._model.kernel import Kernel
from . import hosts, tuning
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    kernel = case.host.kernel
    if hosts.realtime(case) and kernel is not None and kernel.numa_balancing:
        yield Detail(
            "kernel.numa_balancing is on",
            "it makes page faults in the memory of guests, each some microseconds of a vCPU",
            tuning.persistent("kernel.numa_balancing", 0),
            "/proc/sys/kernel/numa_balancing",
        )


RULE = Rule(
    code="HC-29",
    severity=Severity.WARNING,
    title="Realtime host balances memory over cells",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(intent="realtime", kernel=Kernel(numa_balancing=True)),
    good=lambda: new_style(intent="realtime", kernel=Kernel(numa_balancing=False)),
)
