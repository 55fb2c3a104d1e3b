# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Emulator policy share on a floating guest.

20 and 21 pass the policy over. From 22.0.0 on the emulator threads of a floating guest with a
NUMA topology run over the shared CPUs of all cells instead of the guest's own.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    shares = case.spec("hw:emulator_threads_policy") == "share" and not case.refusal
    if shares and not flavors.pinned(case):
        yield Detail(
            "hw:emulator_threads_policy=share without pinned vCPUs",
            "emulator threads leave the guest's cell"
            if case.guest and case.release.policy_first
            else "nothing: the policy is passed over",
            flavors.unset_command(case, "hw:emulator_threads_policy"),
        )


RULE = Rule(
    code="FL-19",
    severity=Severity.WARNING,
    title="Emulator policy share on a floating guest",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(numa_nodes="1", emulator_threads_policy="share"),
    good=lambda: a_flavor(cpu_policy="dedicated", emulator_threads_policy="share"),
)
