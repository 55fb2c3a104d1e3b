# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pinned guests run on a host that has no set of CPUs.

Without any list the host offers every online CPU, to floating guests and to pinned ones, and keeps
none for itself: the promise that the running guests were given does not hold.

Source: ``nova/virt/libvirt/driver.py``, ``_get_vcpu_available``, ``_get_host_numa_topology``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size, to_text
from .._model.host import CellUsage
from . import host_sets, hosts, shared_cpus
from .examples import a_host, new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    pinned = host_sets.pinned_cpus(case)
    if not pinned or not hosts.unconfigured(case) or not case.release.dedicated_set:
        return
    online = case.host.topology.online
    reserve = host_sets.first_cores(case.host.topology, online & ~pinned)
    yield Detail(
        f"guests are pinned to CPU {to_text(pinned)}, and no option sets these CPUs apart",
        f"floating guests and the host run on them too: all {size(online)} online CPUs are shared",
        f"{shared_cpus.split(case, online)}\n"
        + (
            f"(CPU {to_text(reserve)} also serves the host; keep {to_text(pinned)} dedicated)"
            if reserve
            else f"(move guests away first: no whole core is free of pins, {to_text(pinned)})"
        ),
    )


RULE = Rule(
    code="HC-05",
    severity=Severity.WARNING,
    title="Pinned guests run on a host that has no set of CPUs",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(usage=(CellUsage(0, pinned_cpus=0b1100, cpu_usage=2),)),
    good=lambda: new_style(usage=(CellUsage(0, pinned_cpus=0b1100, cpu_usage=2),)),
)
