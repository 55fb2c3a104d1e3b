# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Power management of a release that leaves CPUs offline which a guest needs.

Before 27.3.0, and in 28.0, only the CPUs of the vCPUs are powered up: not the one that emulator
policy isolate keeps, and not those on the destination of a live migration.

Source: ``nova/virt/libvirt/cpu/api.py``, ``power_up_for_instance``; Launchpad 2056612.
"""

from __future__ import annotations

import typing as t

from . import flavors, host_sets, hosts
from .examples import a_flavor, a_fleet, new_style
from .rule import Detail, FleetCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FleetCase) -> Iterator[Detail]:
    for host, landing in host_sets.served(case):
        if not host_sets.powers_off(host) or host.release.powers_emulator_cpu:
            continue
        pinned = tuple(filter(flavors.pinned, landing))
        isolate = tuple(
            flavor
            for flavor in pinned
            if flavor.guest and flavor.guest.emulator_threads_policy == "isolate"
        )
        if pinned:
            yield Detail(
                f"{host.host.name} (Nova {host.release.name}) powers dedicated CPUs down and takes "
                f"{hosts.named(isolate or pinned)}"
                + (" with emulator policy isolate" if isolate else ""),
                "the CPU kept for emulator threads stays offline: the guest does not start; "
                + "pinned guests cannot come in by live migration"
                if isolate
                else "the CPUs on the destination of a live migration stay offline: it fails",
                "update nova-compute to 27.3.0, 28.1.0 or 29.0.0, or\n"
                "[libvirt]\ncpu_power_management = false\n"
                "(and switch the dedicated CPUs on: chcpu -e)",
                host.host.config.where("cpu_power_management"),
                hosts=(host.host.name,),
            )


RULE = Rule(
    code="HC-36",
    severity=Severity.ERROR,
    title="Power management leaves CPUs offline that a guest needs",
    subject=FleetCase,
    check=_check,
    bad=lambda: a_fleet(
        a_flavor(
            host := new_style(release="28.0.0", cpu_power_management=True),
            cpu_policy="dedicated",
            emulator_threads_policy="isolate",
        ),
        hosts=(host,),
    ),
    good=lambda: a_fleet(
        a_flavor(
            host := new_style(release="28.1.0", cpu_power_management=True),
            cpu_policy="dedicated",
            emulator_threads_policy="isolate",
        ),
        hosts=(host,),
    ),
)
