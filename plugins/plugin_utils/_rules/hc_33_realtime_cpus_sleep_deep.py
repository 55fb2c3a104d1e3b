# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPUs of a realtime host slow down or sleep deeply.

A CPU that changes its frequency, or wakes from a deep idle state, answers late. Nova itself sets
the governor under power management with strategy governor.

Source: kernel ``Documentation/admin-guide/pm/cpufreq.rst`` and ``cpuidle.rst``; tuned, profile
``realtime``; Nova's real-time guide.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.kernel import Kernel
from . import host_sets, hosts, tuning
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


_SHALLOW_US = 10
"""Wake-up latency of the idle states that are near to polling: C1 and C1E."""


def _check(case: HostCase) -> Iterator[Detail]:
    kernel, cpus = case.host.kernel, hosts.realtime_cpus(case)
    if kernel is None or not cpus or host_sets.sets_governor(case):
        return
    found = [
        f"CPUs {to_text(under & cpus)} have governor {name}"
        for name, under in sorted((kernel.governors or {}).items())
        if name != "performance" and under & cpus
    ]
    found += [
        f"CPUs {to_text(under & cpus)} may sleep so that waking takes {latency} us"
        for latency, under in sorted((kernel.idle_latency_us or {}).items())
        if latency > _SHALLOW_US and under & cpus
    ]
    if found:
        yield Detail(
            f"realtime {'; '.join(found)}",
            "a vCPU that was idle answers late, by the time to wake up and to speed up",
            f"{tuning.profile(cpus)}\n"
            "(or cpupower frequency-set -g performance; cpupower idle-set -D "
            f"{_SHALLOW_US})",
            "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        )


RULE = Rule(
    code="HC-33",
    severity=Severity.WARNING,
    title="CPUs of a realtime host slow down or sleep deeply",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(
        intent="realtime",
        kernel=Kernel(governors={"powersave": 0xFFFFFFFF}, idle_latency_us={133: 0xFFFFFFFF}),
    ),
    good=lambda: new_style(
        intent="realtime",
        kernel=Kernel(
            governors={"performance": 0xFEFEFEFE, "powersave": 0x01010101},
            idle_latency_us={2: 0xFEFEFEFE, 133: 0x01010101},
        ),
    ),
)
