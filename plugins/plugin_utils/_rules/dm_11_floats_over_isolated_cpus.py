# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Floating vCPUs may run on isolated CPUs.

The kernel balances nothing over isolated CPUs: vCPUs that float there stay on the CPU where they
were put, all on one perhaps, while others idle.

Source: kernel ``Documentation/admin-guide/kernel-parameters.rst``, isolcpus.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import guests, hosts
from .examples import a_domain, a_guest_case, isolating, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

WIDE = {"cpu_shared_set": "0-2,8", "cpu_dedicated_set": "3-7,9-15"}


def _check(case: GuestCase) -> Iterator[Detail]:
    pins, isolated = guests.tied(case.domain, case.host), hosts.isolated(case.host)
    found = [
        thread
        for thread in guests.threads(case.domain, "vcpu")
        if thread.index not in pins and thread.cpus & isolated
    ]
    if not found:
        return
    struck = 0
    for thread in found:
        struck |= thread.cpus & isolated
    shared = case.host.sets.shared if case.host.sets else 0
    better = f"\n[compute]\ncpu_shared_set = {to_text(shared & ~isolated)}\n" if shared else "\n"
    yield Detail(
        f"{guests.told_threads(found)}: isolated of them: {guests.told_cpus(struck)}",
        "the kernel does not spread these vCPUs: they pile up on the CPU where they were put",
        f"keep isolated CPUs out of the shared set:{better}(then, for each guest that floats)\n"
        + guests.hard_reboot(case),
    )


RULE = Rule(
    code="DM-11",
    severity=Severity.WARNING,
    title="Floating vCPUs may run on isolated CPUs",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(isolating(**WIDE), a_domain(no_smt(**WIDE))),
    good=lambda: a_guest_case(isolating(), a_domain(no_smt())),
)
