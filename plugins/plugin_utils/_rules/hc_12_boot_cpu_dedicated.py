# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU 0 is dedicated.

The boot CPU keeps duties that the kernel gives to no other: timekeeping, interrupts that cannot
move, work of early boot. Power management spares it from 27.2.0, 28.0.1 and 29.0.0 on; HC-79 speaks
of the releases before.

Source: ``nova/virt/libvirt/cpu/api.py``, ``power_down_all_dedicated_cpus``; kernel
``Documentation/timers/no_hz.rst``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size, to_text
from . import host_sets
from .examples import a_host, new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    if case.sets is None or not case.sets.dedicated & 1:
        return
    if host_sets.powers_off(case) and not case.release.spares_cpu0:
        return
    core = host_sets.whole_cores(case.host.topology, 1)
    kept = case.sets.dedicated & ~core
    beside = f" with its sibling{'s' if size(core) > 2 else ''} {to_text(core & ~1)}"
    yield Detail(
        "CPU 0, the boot CPU, is in cpu_dedicated_set",
        "a vCPU pinned there shares it with timekeeping and interrupts that cannot move",
        (
            host_sets.snippet(cpu_dedicated_set=kept)
            if kept
            else "dedicate other CPUs than those of the boot CPU's core"
        )
        + f"\n(CPU 0{beside if core != 1 else ''} left to the host)",
        case.host.config.where("cpu_dedicated_set"),
    )


RULE = Rule(
    code="HC-12",
    severity=Severity.WARNING,
    title="CPU 0 is dedicated",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(cpu_shared_set="8,24", cpu_dedicated_set="0-7,9-23,25-31"),
    good=new_style,
)
