# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""isolcpus keeps no task off any CPU.

Flags without CPUs isolate nothing. Where flags are given, only the flag domain keeps tasks off;
managed_irq moves interrupts, nohz stops ticks.

Source: kernel ``kernel/sched/isolation.c``, ``housekeeping_isolcpus_setup``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.host import Isolation
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    told = case.host.isolation
    if told is None or case.host.topology.isolated:
        return
    if told.flags_without_cpus:
        cpus = to_text(case.sets.dedicated) if case.sets else ""
        yield Detail(
            "isolcpus names flags and no CPUs",
            "it isolates nothing",
            f"isolcpus=managed_irq,domain,{cpus or 'CPUs'}, or leave it out",
            "kernel command line",
        )
    flagged = (told.managed_irq or 0) | (told.nohz or 0)
    if flagged and told.domain is None:
        yield Detail(
            f"isolcpus names {to_text(flagged)} with flags, but not with the flag domain",
            "interrupts or ticks are kept off these CPUs, tasks are not",
            f"isolcpus=managed_irq,domain,{to_text(flagged)}",
            "kernel command line",
        )


RULE = Rule(
    code="HC-70",
    severity=Severity.WARNING,
    title="isolcpus keeps no task off any CPU",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(isolation=Isolation(managed_irq=0xFEFEFEFE)),
    good=lambda: new_style(isolation=Isolation(domain=0xFEFEFEFE, managed_irq=0xFEFEFEFE)),
)
