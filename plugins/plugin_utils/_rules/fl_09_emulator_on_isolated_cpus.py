# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Emulator threads of a realtime guest on several isolated CPUs.

The kernel does not balance load over CPUs that isolcpus takes out of its domains. An emulator
mask of several such CPUs is as good as its first one.

Source: kernel ``Documentation/admin-guide/kernel-parameters.rst``, ``isolcpus``.
"""

from __future__ import annotations

import typing as t

from .._model.host import Isolation
from . import flavors
from .examples import a_flavor, new_style
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if not flavors.realtime(case) or case.spec("hw:emulator_threads_policy"):
        return
    realtime = flavors.realtime_vcpus(case)
    ordinary = (((1 << case.flavor.vcpus) - 1) & ~realtime).bit_count() if realtime else 0
    isolated = [
        host.names[0]
        for host, outcome in zip(case.hosts, case.outcomes, strict=True)
        if outcome.boots and host.host.isolation and host.host.isolation.domain
    ]
    if ordinary > 1 and isolated:
        yield Detail(
            f"{ordinary} ordinary vCPUs carry the emulator threads, on CPUs that are isolated",
            "all of them may sit on one CPU, since the kernel does not balance there",
            flavors.set_command(case, {"hw:emulator_threads_policy": "share"}),
            hosts=tuple(isolated),
        )


RULE = Rule(
    code="FL-09",
    severity=Severity.WARNING,
    title="Emulator threads of a realtime guest on several isolated CPUs",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(
        new_style(isolation=Isolation(domain=0xFEFEFEFE)),
        cpu_policy="dedicated",
        cpu_realtime="yes",
        cpu_realtime_mask="^0-1",
    ),
    good=lambda: a_flavor(
        new_style(isolation=Isolation(domain=0xFEFEFEFE)),
        cpu_policy="dedicated",
        cpu_realtime="yes",
        cpu_realtime_mask="^0",
    ),
)
