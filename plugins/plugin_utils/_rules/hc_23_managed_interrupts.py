# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Managed interrupts may go to isolated CPUs.

Devices with many queues, NVMe above all, have an interrupt for each CPU. Where the kernel manages
its affinity nobody else can move it: ``isolcpus`` keeps such interrupts off isolated CPUs with the
flag managed_irq alone, and then as far as a queue has other CPUs.

Source: kernel ``Documentation/admin-guide/kernel-parameters.txt``, ``isolcpus``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.host import Isolation
from .._model.kernel import Kernel
from . import tuning
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    told, kernel = case.host.isolation, case.host.kernel
    if told is None or not told.domain or kernel is None or not kernel.managed_irqs:
        return
    exposed = told.domain & ~(told.managed_irq or 0)
    if exposed:
        cpus = to_text(told.domain)
        yield Detail(
            f"isolcpus without flag managed_irq for CPUs {to_text(exposed)}, and devices with an "
            "interrupt for each CPU",
            "I/O that others start may end in an interrupt on an isolated CPU",
            tuning.argument(isolcpus=f"managed_irq,domain,{cpus}"),
            "kernel command line",
        )


RULE = Rule(
    code="HC-23",
    severity=Severity.INFO,
    title="Managed interrupts may go to isolated CPUs",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(isolation=Isolation(domain=0xFEFEFEFE), kernel=Kernel(managed_irqs=True)),
    good=lambda: new_style(
        isolation=Isolation(domain=0xFEFEFEFE, managed_irq=0xFEFEFEFE),
        kernel=Kernel(managed_irqs=True),
    ),
)
