# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tick is not stopped on just the CPUs of realtime guests.

A CPU of ``nohz_full`` loses its periodic tick while one task alone runs there. Without it a
realtime vCPU is interrupted some hundred times a second; on other CPUs it only makes entering and
leaving the kernel slower. The boot CPU keeps its tick always.

Source: kernel ``Documentation/timers/no_hz.rst``.
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
    cpus, tickless = hosts.realtime_cpus(case) & ~1, hosts.without_tick(case.host)
    if not cpus or tickless is None:
        return
    ticking = cpus & ~tickless
    useless = tickless & ~(cpus | hosts.isolated(case) | case.host.data_path_cpus | 1)
    if not ticking and not useless:
        return
    built = case.host.kernel is None or case.host.kernel.no_hz_full is not False
    facts = (
        (ticking, "realtime CPUs {} keep their tick", "interrupts on them, 100 to 1000 a second"),
        (useless, "CPUs {} without tick pin no guest", "the kernel is slower there for nothing"),
    )
    found = [(what.format(to_text(some)), effect) for some, what, effect in facts if some]
    yield Detail(
        "; ".join(what for what, _effect in found)
        + ("" if built else "; the kernel is built without CONFIG_NO_HZ_FULL"),
        "; ".join(effect for _what, effect in found),
        tuning.argument(nohz_full=cpus | tickless & ~(useless | 1))
        if built
        else "a kernel with CONFIG_NO_HZ_FULL",
        "/sys/devices/system/cpu/nohz_full",
    )


RULE = Rule(
    code="HC-20",
    severity=Severity.WARNING,
    title="The tick is not stopped on just the CPUs of realtime guests",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(intent="realtime", kernel=Kernel(nohz_full=0)),
    good=lambda: new_style(intent="realtime", kernel=Kernel(nohz_full=0xFEFEFEFE)),
)
