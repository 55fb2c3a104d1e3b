# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""isolcpus=nohz and nohz_full name different CPUs.

Both set the same list of the kernel. Where they differ some kernels drop the second one, so that
it isolates nothing at all; which that is hangs on their order.

Source: kernel ``kernel/sched/isolation.c``, ``housekeeping_setup``.
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
    if told is None or not told.nohz or not told.nohz_full or told.nohz == told.nohz_full:
        return
    yield Detail(
        f"isolcpus with flag nohz names {to_text(told.nohz)}, "
        f"nohz_full {to_text(told.nohz_full)}: {to_text(told.nohz ^ told.nohz_full)} in one alone",
        "some kernels drop the second argument; then what it names is not isolated",
        f"nohz_full={to_text(told.nohz)}\n(compare /sys/devices/system/cpu/isolated after a boot)",
        "kernel command line",
    )


RULE = Rule(
    code="HC-69",
    severity=Severity.ERROR,
    title="isolcpus=nohz and nohz_full name different CPUs",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(
        isolation=Isolation(domain=0xFEFEFEFE, nohz=0xFEFEFEFE, nohz_full=0xFFFEFFFE)
    ),
    good=lambda: new_style(
        isolation=Isolation(domain=0xFEFEFEFE, nohz=0xFEFEFEFE, nohz_full=0xFEFEFEFE)
    ),
)
