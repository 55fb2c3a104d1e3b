# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work of the kernel may run on the CPUs of realtime guests.

Work that is bound to no CPU runs on any CPU of the workqueue mask: writeback, encryption, parts of
the network.

Source: kernel ``Documentation/core-api/workqueue.rst``; tuned, profile ``realtime``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.kernel import Kernel
from . import hosts, tuning
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


_FILE = "/sys/devices/virtual/workqueue/cpumask"


def _check(case: HostCase) -> Iterator[Detail]:
    kernel, cpus = case.host.kernel, hosts.realtime_cpus(case)
    struck = ((kernel.workqueue_cpus if kernel else None) or 0) & cpus
    if struck:
        kept = tuning.kept(case.host, cpus)
        yield Detail(
            f"unbound workqueues may use realtime CPUs {to_text(struck)}",
            "a realtime vCPU waits, or starves the work that waits for its CPU",
            f"echo {tuning.hex_mask(kept)} > {_FILE}\n(CPUs {to_text(kept)}; tuned's profile "
            "realtime-virtual-host does it at every start)",
            _FILE,
        )


RULE = Rule(
    code="HC-32",
    severity=Severity.WARNING,
    title="Work of the kernel may run on the CPUs of realtime guests",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(intent="realtime", kernel=Kernel(workqueue_cpus=0xFFFFFFFF)),
    good=lambda: new_style(intent="realtime", kernel=Kernel(workqueue_cpus=0x01010101)),
)
