# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime host merges equal pages.

KSM scans memory and merges pages that are equal; the guest that writes to one pays for its copy.
Nova keeps realtime guests out of it (nosharepages); the scan and its locks stay.

Source: kernel ``Documentation/admin-guide/mm/ksm.rst``; tuned, profile ``realtime-virtual-host``.
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
    if hosts.realtime(case) and kernel is not None and kernel.ksm == 1:
        yield Detail(
            "KSM runs (/sys/kernel/mm/ksm/run is 1)",
            "its scan takes CPU time and memory locks; a write to a merged page first copies it",
            "systemctl disable --now ksm ksmtuned; echo 2 > /sys/kernel/mm/ksm/run",
            "/sys/kernel/mm/ksm/run",
        )


RULE = Rule(
    code="HC-28",
    severity=Severity.WARNING,
    title="Realtime host merges equal pages",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(intent="realtime", kernel=Kernel(ksm=1)),
    good=lambda: new_style(intent="realtime", kernel=Kernel(ksm=2)),
)
