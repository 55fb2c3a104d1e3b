# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interrupts go to the CPUs of realtime guests.

New interrupts start with the default affinity. irqbalance moves those that may be moved, by itself
off isolated and tickless CPUs unless it was told other CPUs to leave alone. Interrupts that the
kernel manages (a queue of NVMe or virtio for each CPU) are not counted: HC-23 speaks of them.

Source: kernel ``Documentation/core-api/irq/irq-affinity.rst``; irqbalance(1),
``IRQBALANCE_BANNED_CPULIST``.
"""

from __future__ import annotations

import re
import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.kernel import Kernel
from . import hosts, tuning
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


_MANAGED = re.compile(r"nvme[0-9]+q([*]|[1-9])|virtio[0-9]+-req")
_SHOWN = 3


def _check(case: HostCase) -> Iterator[Detail]:
    kernel, cpus = case.host.kernel, hosts.realtime_cpus(case)
    if kernel is None or not cpus:
        return
    kept = tuning.kept(case.host, cpus)
    found: list[tuple[str, str]] = []
    if struck := (kernel.irq_default or 0) & cpus:
        found.append(
            (f"the default affinity has {to_text(struck)}", tuning.argument(irqaffinity=kept))
        )
    going = [
        name
        for name, goal in sorted((kernel.irqs or {}).items())
        if goal & cpus and not _MANAGED.match(name)
    ]
    if going:
        more = f" and {len(going) - _SHOWN} more" if len(going) > _SHOWN else ""
        found.append(
            (
                f"interrupts {', '.join(going[:_SHOWN])}{more} go there",
                f"echo {to_text(kept)} > /proc/irq/NUMBER/smp_affinity_list  # for each of them",
            )
        )
    if struck := _balanced(case, kernel) & cpus:
        banned = f"IRQBALANCE_BANNED_CPULIST={to_text(cpus | (kernel.irqbalance_banned or 0))}"
        where = "/etc/sysconfig/irqbalance or /etc/default/irqbalance"
        found.append((f"irqbalance may use {to_text(struck)}", f"{banned} in {where}"))
    if found:
        yield Detail(
            f"realtime CPUs {to_text(cpus)}: {'; '.join(what for what, _fix in found)}",
            "an interrupt stops the vCPU that is pinned there",
            "\n".join(fix for _what, fix in found),
            "/proc/irq",
        )


def _balanced(case: HostCase, kernel: Kernel) -> int:
    """List the CPUs that irqbalance may move interrupts to (bitmask); none where unknown."""
    banned = kernel.irqbalance_banned
    return case.host.topology.online & ~banned if kernel.irqbalance and banned is not None else 0


RULE = Rule(
    code="HC-22",
    severity=Severity.WARNING,
    title="Interrupts go to the CPUs of realtime guests",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(intent="realtime", kernel=Kernel(irq_default=0xFFFFFFFF)),
    good=lambda: new_style(intent="realtime", kernel=Kernel(irq_default=0x01010101)),
)
