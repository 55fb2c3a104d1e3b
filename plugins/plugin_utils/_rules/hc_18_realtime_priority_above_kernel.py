# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime vCPUs run before threads that the kernel needs.

On a kernel with PREEMPT_RT softirqs, timers and RCU callbacks are served by threads. A realtime
vCPU of the same or a higher FIFO priority that never sleeps keeps them off its CPU for good.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``; tuned, profile
``realtime-virtual-host``.
"""

from __future__ import annotations

import typing as t

from .._model.kernel import Kernel
from . import hosts
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    kernel, config = case.host.kernel, case.host.config
    priority = config.realtime_scheduler_priority
    if kernel is None or not kernel.preempt_rt or not hosts.realtime(case):
        return
    threads = sorted((kernel.kthread_priorities or {}).items())
    behind = [(name, own) for name, own in threads if own <= priority]
    if not behind or not 1 <= priority <= 99:
        return
    told = ", ".join(f"{name} {own or 'none'}" for name, own in behind)
    fixes = ["[libvirt]\nrealtime_scheduler_priority = 1"] if priority > 1 else []
    if any(own <= 1 for _name, own in behind):
        fixes.append(
            "raise the threads: tuned-adm profile realtime-virtual-host (ksoftirqd 2, ktimers 3, "
            "rcuc 4)"
        )
    yield Detail(
        f"realtime_scheduler_priority is {priority}, FIFO priorities of kernel threads: {told}",
        "a vCPU that never sleeps starves them on its CPU: RCU stalls, late timers, lock-ups",
        "\n".join(fixes),
        config.where("realtime_scheduler_priority"),
    )


RULE = Rule(
    code="HC-18",
    severity=Severity.WARNING,
    title="Realtime vCPUs run before threads that the kernel needs",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(
        realtime_scheduler_priority=2,
        kernel=Kernel(preempt_rt=True, kthread_priorities={"ksoftirqd": 2, "rcuc": 4}),
    ),
    good=lambda: new_style(
        realtime_scheduler_priority=1,
        kernel=Kernel(preempt_rt=True, kthread_priorities={"ksoftirqd": 2, "rcuc": 4}),
    ),
)
