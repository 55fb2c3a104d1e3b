# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limit on realtime tasks does not suit the host.

``sched_rt_runtime_us`` is the time that realtime tasks may have of each second. Until Linux 6.12
one that never sleeps is stopped for the rest, by default for 50 ms. With -1, no limit, it starves
everything else on its CPU, which is a danger where the CPU is not isolated. From 6.12 on a server
for ordinary tasks takes the place of the limit: it runs only where such tasks wait.

Source: kernel ``Documentation/scheduler/sched-rt-group.rst``; ``kernel/sched/rt.c``.
"""

from __future__ import annotations

import re
import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.host import Isolation
from .._model.kernel import Kernel
from . import hosts, tuning
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


_KEY = "kernel.sched_rt_runtime_us"
_PERIOD_US = 1_000_000
_RELEASE = re.compile(r"(\d{1,3})\.(\d{1,3})")


def _check(case: HostCase) -> Iterator[Detail]:
    kernel, cpus = case.host.kernel, hosts.realtime_cpus(case)
    if kernel is None or kernel.rt_runtime_us is None or not cpus or not _limits(kernel):
        return
    limit = kernel.rt_runtime_us
    loose = cpus & ~hosts.isolated(case) if hosts.isolation_told(case.host) else 0
    if 0 <= limit < _PERIOD_US:
        yield Detail(
            f"{_KEY} is {limit}",
            f"a realtime vCPU that never sleeps stops for {(_PERIOD_US - limit) / 1000:g} ms of "
            "each second",
            f"{tuning.persistent(_KEY, -1)}\n(for guests that poll, "
            + (
                f"once CPUs {to_text(loose)} are isolated"
                if loose
                else "while the CPUs are isolated"
            )
            + "; keep the limit for guests that sleep)",
            f"/proc/sys/{_KEY.replace('.', '/')}",
        )
    elif loose:
        yield Detail(
            f"{_KEY} is {limit}, no limit, and realtime CPUs {to_text(loose)} are not isolated",
            "a realtime vCPU that never sleeps starves the host's tasks there for good: lock-ups",
            f"isolate them, or {tuning.persistent(_KEY, 950000)}",
            f"/proc/sys/{_KEY.replace('.', '/')}",
        )


def _limits(kernel: Kernel) -> bool:
    """Say whether the kernel stops realtime tasks by this limit, or may do so."""
    found = _RELEASE.match(kernel.release or "")
    old = found is None or (int(found[1]), int(found[2])) < (6, 12)
    return old or bool(kernel.rt_group_sched)


RULE = Rule(
    code="HC-26",
    severity=Severity.WARNING,
    title="The limit on realtime tasks does not suit the host",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(
        intent="realtime",
        isolation=Isolation(domain=0xFEFEFEFE),
        kernel=Kernel(rt_runtime_us=950000),
    ),
    good=lambda: new_style(
        intent="realtime",
        isolation=Isolation(domain=0xFEFEFEFE),
        kernel=Kernel(rt_runtime_us=-1),
    ),
)
