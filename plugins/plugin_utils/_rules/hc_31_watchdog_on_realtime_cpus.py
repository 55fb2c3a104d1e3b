# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lockup detectors watch the CPUs of realtime guests.

The detectors of soft and hard lockups run a timer, a thread of the highest priority and a
non-maskable interrupt on each CPU that they watch.

Source: kernel ``Documentation/admin-guide/lockup-watchdogs.rst``.
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
    kernel, cpus = case.host.kernel, hosts.realtime_cpus(case)
    watched = ((kernel.watchdog_cpus if kernel else None) or 0) & cpus
    if kernel is None or not watched:
        return
    kept = to_text(tuning.kept(case.host, cpus))
    yield Detail(
        f"lockup detectors watch realtime CPUs {to_text(watched)}"
        + (", with the NMI watchdog" if kernel.nmi_watchdog else ""),
        "a timer and a thread before every realtime vCPU"
        + (", and NMIs that nothing keeps off" if kernel.nmi_watchdog else ""),
        f"{tuning.persistent('kernel.watchdog_cpumask', kept)}\n"
        + (f"{tuning.persistent('kernel.nmi_watchdog', 0)}\n" if kernel.nmi_watchdog else "")
        + "or nowatchdog on the kernel's command line",
        "/proc/sys/kernel/watchdog_cpumask",
    )


RULE = Rule(
    code="HC-31",
    severity=Severity.WARNING,
    title="Lockup detectors watch the CPUs of realtime guests",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(
        intent="realtime", kernel=Kernel(nmi_watchdog=True, watchdog_cpus=0xFFFFFFFF)
    ),
    good=lambda: new_style(
        intent="realtime", kernel=Kernel(nmi_watchdog=True, watchdog_cpus=0x01010101)
    ),
)
