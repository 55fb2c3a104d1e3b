# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Emulator threads share a core with a vCPU.

The CPU that emulator policy isolate keeps is the next free thread. After an odd number of vCPUs
on an SMT host that is the sibling of a guest vCPU, and what is left of the core is nobody's.

Source: ``nova/virt/hardware.py``, ``_pack_instance_onto_cores``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import mask
from .examples import a_flavor, new_style
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if case.spec("hw:emulator_threads_policy") != "isolate":
        return
    beside = []
    for host, outcome in zip(case.hosts, case.outcomes, strict=True):
        pins, reserved = mask(outcome.pins.values()), mask(outcome.reserved)
        cores = host.host.topology.cores if reserved else ()
        if any(core & reserved and core & pins for core in cores):
            beside.append(host.names[0])
    if beside:
        yield Detail(
            f"{case.flavor.vcpus} vCPUs and one CPU for emulator threads: it is the thread sibling "
            "of a vCPU",
            "emulator load slows that vCPU down",
            f"an even number of vCPUs, or hosts without SMT: openstack flavor create ... --vcpus "
            f"{case.flavor.vcpus + 1}",
            hosts=tuple(beside),
        )


RULE = Rule(
    code="FL-15",
    severity=Severity.WARNING,
    title="Emulator threads share a core with a vCPU",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(
        new_style(), vcpus=3, cpu_policy="dedicated", emulator_threads_policy="isolate"
    ),
    good=lambda: a_flavor(
        new_style(), vcpus=4, cpu_policy="dedicated", emulator_threads_policy="isolate"
    ),
)
