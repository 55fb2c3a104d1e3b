# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Power management refuses the state of dedicated CPUs.

By CPU state it wants one frequency governor for all dedicated CPUs, by governor it wants all of
them online. nova-compute checks that when it starts. Before 27.5.0, 28.3.0 and 29.2.0 it looks for
the governors of offline CPUs too, which have none: a second start can fail, after the first one
took CPUs offline.

Source: ``nova/virt/libvirt/cpu/api.py``, ``validate_all_dedicated_cpus``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.kernel import Kernel
from . import host_sets, hosts
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


_REFUSED = "nova-compute does not start: InvalidConfiguration"


def _check(case: HostCase) -> Iterator[Detail]:
    topology, config = case.host.topology, case.host.config
    offline = hosts.listed(case, "cpu_dedicated_set") & topology.present & ~topology.online
    where = config.where("cpu_power_management")
    if host_sets.sets_governor(case):
        if offline:
            yield Detail(
                f"cpu_power_management by governor, and dedicated CPUs {to_text(offline)} are "
                "offline",
                _REFUSED,
                f"chcpu -e {to_text(offline)}",
                where,
            )
    elif host_sets.powers_off(case):
        yield from _by_state(case, offline & ~int(case.release.spares_cpu0), where)


def _by_state(case: HostCase, offline: int, where: str) -> Iterator[Detail]:
    dedicated = hosts.listed(case, "cpu_dedicated_set") & ~int(case.release.spares_cpu0)
    kernel, online = case.host.kernel, case.host.topology.online & dedicated
    governors = {
        name: cpus & online
        for name, cpus in sorted(((kernel.governors if kernel else None) or {}).items())
        if cpus & online
    }
    if len(governors) > 1:
        told = ", ".join(f"{name} {to_text(cpus)}" for name, cpus in governors.items())
        yield Detail(
            f"cpu_power_management by CPU state, and governors of dedicated CPUs differ: {told}",
            _REFUSED,
            f"cpupower -c {to_text(online)} frequency-set -g performance",
            where,
        )
    if offline and not case.release.judges_online_governors:
        yield Detail(
            f"cpu_power_management by CPU state, dedicated CPUs {to_text(offline)} are offline, "
            f"and Nova {case.release.name} looks for their governors",
            "offline CPUs have none: the next start of nova-compute may fail",
            f"chcpu -e {to_text(offline)} before each start, or update nova-compute to 27.5.0, "
            "28.3.0 or 29.2.0",
            where,
            Severity.WARNING,
        )


RULE = Rule(
    code="HC-35",
    severity=Severity.ERROR,
    title="Power management refuses the state of dedicated CPUs",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(
        cpu_power_management=True,
        kernel=Kernel(governors={"performance": 0x0000FFFF, "powersave": 0xFFFF0000}),
    ),
    good=lambda: new_style(
        cpu_power_management=True,
        kernel=Kernel(governors={"performance": 0xFEFEFEFE, "powersave": 0x01010101}),
    ),
)
