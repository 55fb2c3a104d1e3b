# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""machine.slice does not allow all CPUs of guests.

libvirt's guests live below machine.slice. No task there can have a CPU that the cpuset of the slice
or of its parents lacks.

Source: systemd.resource-control(5), ``AllowedCPUs``; kernel
``Documentation/admin-guide/cgroup-v2.rst``, ``cpuset.cpus.effective``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.kernel import Cgroups
from . import hosts
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    groups = case.host.cgroups
    if groups is None or groups.machine_cpus is None or case.sets is None:
        return
    if hosts.unconfigured(case):
        return
    guests = (case.sets.shared | case.sets.dedicated) & case.host.topology.online
    lacking = guests & ~groups.machine_cpus
    if lacking:
        yield Detail(
            f"machine.slice allows CPUs {to_text(groups.machine_cpus) or 'none'}, not "
            f"{to_text(lacking)} of the CPU sets",
            "guests that Nova pins there do not start, or run elsewhere",
            "systemctl set-property machine.slice "
            f"AllowedCPUs={to_text(groups.machine_cpus | guests)}  # and so for its parents",
            "/sys/fs/cgroup/machine.slice/cpuset.cpus.effective",
        )


RULE = Rule(
    code="HC-40",
    severity=Severity.ERROR,
    title="machine.slice does not allow all CPUs of guests",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(cgroups=Cgroups(machine_cpus=0x0000FFFF)),
    good=lambda: new_style(cgroups=Cgroups(machine_cpus=0xFFFFFFFF)),
)
