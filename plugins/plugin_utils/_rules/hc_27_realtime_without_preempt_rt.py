# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime host without a realtime kernel.

Without PREEMPT_RT the kernel bounds no latency: long sections of it cannot be interrupted. A host
counts that is meant for realtime guests, by its intent, by tuned's profile or by a trait.

Source: kernel ``/sys/kernel/realtime``; Nova's real-time guide.
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
    kernel = case.host.kernel
    traits = sorted(each for each in case.host.traits if "REALTIME" in each)
    if kernel is None or kernel.preempt_rt is not False:
        return
    if hosts.realtime(case) or traits:
        advertised = f" by trait {traits[0]}" if traits else ""
        yield Detail(
            f"the host is for realtime guests{advertised}, and its kernel "
            f"{kernel.release + ' ' if kernel.release else ''}is built without PREEMPT_RT",
            "realtime vCPUs run first, but the kernel bounds no latency",
            "a realtime kernel: dnf install kernel-rt kernel-rt-kvm, or pro enable realtime-kernel",
            "/sys/kernel/realtime",
        )


RULE = Rule(
    code="HC-27",
    severity=Severity.WARNING,
    title="Realtime host without a realtime kernel",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(intent="realtime", kernel=Kernel(preempt_rt=False)),
    good=lambda: new_style(intent="realtime", kernel=Kernel(preempt_rt=True)),
)
