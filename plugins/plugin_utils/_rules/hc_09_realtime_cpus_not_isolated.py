# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPUs of a realtime host are not isolated.

The kernel then runs tasks of the host, and its own threads, on the CPUs of realtime vCPUs. HC-68
speaks of hosts that isolate some of these CPUs, HC-25 of those where tuned was taken to isolate.

Source: kernel ``Documentation/admin-guide/kernel-parameters.txt``, ``isolcpus``; Nova's real-time
guide.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.host import Isolation
from . import hosts, tuning
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    cpus = hosts.realtime_cpus(case)
    if not cpus or not hosts.isolation_told(case.host) or tuning.partitions(case.host):
        return
    cores = sum(core for core in case.host.topology.cores if core & cpus)
    if not hosts.isolated(case) & (cores | cpus):
        yield Detail(
            f"none of the CPUs {to_text(cpus)}, which realtime vCPUs are pinned to, is isolated",
            "tasks and threads of the host run between a realtime vCPU's own work",
            f"{tuning.profile(cpus)}; or\n"
            + tuning.argument(isolcpus=f"managed_irq,domain,{to_text(cpus)}"),
            "kernel command line",
        )


RULE = Rule(
    code="HC-09",
    severity=Severity.WARNING,
    title="CPUs of a realtime host are not isolated",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(intent="realtime", isolation=Isolation()),
    good=lambda: new_style(intent="realtime", isolation=Isolation(domain=0xFEFEFEFE)),
)
