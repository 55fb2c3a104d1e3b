# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Power management beside what needs its CPUs online.

By CPU state nova-compute takes idle dedicated CPUs offline. tuned's realtime profiles, but for
those of new versions, check that the cores that they isolate are online, and fail. Before 27.5.1,
28.3.1 and 29.2.1 Nova itself loses the socket of an offline CPU, which PCI affinity policy socket
asks for.

Source: tuned, profile ``realtime-virtual-host``; ``nova/virt/libvirt/host.py``.
"""

from __future__ import annotations

import typing as t

from . import host_sets
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    if not host_sets.powers_off(case) or case.sets is None or not case.sets.dedicated:
        return
    config, profile = case.host.config, case.host.tuned_profile or ""
    asserting = [name for name in profile.split() if name.startswith("realtime")]
    if asserting:
        yield Detail(
            f"cpu_power_management by CPU state, and tuned profile {asserting[0]}",
            "all but new versions of the profile want isolated cores online: tuned fails at its "
            "next start, and tunes nothing",
            "[libvirt]\ncpu_power_management_strategy = governor\n"
            "(with every dedicated CPU online)",
            config.where("cpu_power_management"),
        )
    if case.release.socket_affinity and not case.release.keeps_sockets:
        yield Detail(
            f"cpu_power_management by CPU state, and Nova {case.release.name} loses the socket of "
            "CPUs that are offline",
            "hw:pci_numa_affinity_policy=socket judges hosts wrongly",
            "update nova-compute to 27.5.1, 28.3.1 or 29.2.1, or\n"
            "[libvirt]\ncpu_power_management_strategy = governor",
            config.where("cpu_power_management"),
        )


RULE = Rule(
    code="HC-37",
    severity=Severity.WARNING,
    title="Power management beside what needs its CPUs online",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(cpu_power_management=True, tuned_profile="realtime-virtual-host"),
    good=lambda: new_style(cpu_power_management=True, tuned_profile="virtual-host"),
)
