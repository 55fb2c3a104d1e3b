# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RCU callbacks run on the CPUs of realtime guests.

They free memory, in softirq context, in bursts. ``rcu_nocbs`` moves them to threads that run
elsewhere, and ``nohz_full`` implies it.

Source: kernel ``Documentation/admin-guide/kernel-parameters.txt``, ``rcu_nocbs``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.kernel import Kernel
from . import hosts, tuning
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    kernel, tickless = case.host.kernel, hosts.without_tick(case.host)
    if kernel is None or kernel.rcu_nocbs is None or tickless is None:
        return
    cpus = hosts.realtime_cpus(case)
    left = cpus & ~(kernel.rcu_nocbs | tickless)
    if left:
        yield Detail(
            f"realtime CPUs {to_text(left)} are neither in rcu_nocbs nor in nohz_full",
            "callbacks of RCU run there in softirqs: latencies in bursts",
            tuning.argument(rcu_nocbs=cpus | kernel.rcu_nocbs),
            "kernel command line",
        )


RULE = Rule(
    code="HC-21",
    severity=Severity.WARNING,
    title="RCU callbacks run on the CPUs of realtime guests",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(intent="realtime", kernel=Kernel(nohz_full=0, rcu_nocbs=0)),
    good=lambda: new_style(intent="realtime", kernel=Kernel(nohz_full=0, rcu_nocbs=0xFEFEFEFE)),
)
