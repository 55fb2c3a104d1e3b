# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime without an emulator threads policy.

Without a policy the emulator threads run on the guest's own ordinary vCPUs, with whatever load
the guest puts there. Two flavors are better. share puts them on [compute] cpu_shared_set and
costs no PCPU; each host needs that set, else realtime guests fail to build. isolate keeps one
more host CPU for them: the guest then takes one PCPU more than it has vCPUs.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``; Launchpad 1614054.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import flavors, hosts
from .cases import changed
from .examples import a_flavor
from .policies import KEY
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if not flavors.realtime(case) or case.refusal or case.spec(KEY):
        return
    realtime = flavors.realtime_vcpus(case)
    if not realtime or not case.guest:
        return
    pinned = sum(cell.pinned_count for cell in case.guest.cells)
    ordinary = ((1 << case.flavor.vcpus) - 1) & ~realtime
    yield Detail(
        f"hw:cpu_realtime is on without hw:emulator_threads_policy: emulator threads run on the "
        f"host CPUs of vCPU {to_text(ordinary)}",
        "QEMU's own threads compete with the guest; device and timer work of the guest waits for "
        "them, and realtime vCPUs wait for it",
        f"{_share(case, pinned)}\n{_isolate(case, pinned)}",
    )


def _share(case: FlavorCase, pinned: int) -> str:
    unset = [
        name
        for host, outcome in zip(case.hosts, case.outcomes, strict=True)
        if outcome.boots and host.release.dedicated_set and not host.host.config.cpu_shared_set
        for name in host.names
    ]
    lack = f", which {hosts.few(unset)} lack{'' if unset[1:] else 's'}" if unset else ""
    command = flavors.set_command(case, {KEY: "share"})
    return f"{command}  # PCPU {pinned} as today; needs [compute] cpu_shared_set{lack}"


def _isolate(case: FlavorCase, pinned: int) -> str:
    """Propose isolate where it boots, and say on which hosts of today it does not."""
    then = changed(case, {KEY: "isolate"}).outcomes
    cost = f"# PCPU {pinned + 1} instead of {pinned}"
    command = f"{flavors.set_command(case, {KEY: 'isolate'})}  {cost}"
    refused = {
        name: after.reason
        for host, now, after in zip(case.hosts, case.outcomes, then, strict=True)
        if now.boots and not after.boots
        for name in host.names
    }
    if not refused:
        return command
    where, why = hosts.few(list(refused)), next(iter(refused.values()))
    if any(after.boots for after in then):
        return f"{command}; not on {where}: {why}"
    return f"# {KEY}=isolate boots on no host: {where}: {why}"


RULE = Rule(
    code="FL-08",
    severity=Severity.WARNING,
    title="Realtime without an emulator threads policy",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0"),
    good=lambda: a_flavor(
        cpu_policy="dedicated",
        cpu_realtime="yes",
        cpu_realtime_mask="^0",
        emulator_threads_policy="share",
    ),
)
