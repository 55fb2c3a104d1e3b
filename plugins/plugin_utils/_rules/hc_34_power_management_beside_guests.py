# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Power management by CPU state while pinned guests run.

At its start nova-compute powers down every dedicated CPU without a look at the guests, and brings
those in use up again only with guests that it starts itself. The kernel then moves the vCPUs of
running guests off their CPUs.

Source: ``nova/virt/libvirt/cpu/api.py``, ``power_down_all_dedicated_cpus``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size, to_text
from .._model.host import CellUsage
from . import host_sets, hosts
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    if not host_sets.powers_off(case):
        return
    spared = int(case.release.spares_cpu0)
    struck = host_sets.pinned_cpus(case) & hosts.listed(case, "cpu_dedicated_set") & ~spared
    if struck:
        yield Detail(
            f"cpu_power_management with strategy cpu_state, and guests are pinned to "
            f"{size(struck)} dedicated CPUs: {to_text(struck)}",
            "the next start of nova-compute takes these CPUs offline under the running guests",
            "[libvirt]\ncpu_power_management_strategy = governor\n"
            "(needs every dedicated CPU online; or cpu_power_management = false; before any other "
            "restart move the pinned guests away)",
            case.host.config.where("cpu_power_management"),
        )


RULE = Rule(
    code="HC-34",
    severity=Severity.ERROR,
    title="Power management by CPU state while pinned guests run",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(
        cpu_power_management=True, usage=(CellUsage(0, pinned_cpus=0b1100, cpu_usage=2),)
    ),
    good=lambda: new_style(
        cpu_power_management=True,
        cpu_power_management_strategy="governor",
        usage=(CellUsage(0, pinned_cpus=0b1100, cpu_usage=2),),
    ),
)
