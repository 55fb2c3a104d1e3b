# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""resources:PCPU or VCPU that the API refuses.

resources:PCPU must name as many CPUs as the flavor has vCPUs, one more with emulator policy
isolate, and excludes a CPU policy and resources:VCPU.

Source: ``nova/virt/hardware.py``, ``numa_get_constraints``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    explicit = [key for key in case.flavor.extra_specs if flavors.EXPLICIT.match(key)]
    if case.refusal and case.refusal.name == "InvalidRequest" and explicit:
        needed = case.flavor.vcpus + (case.spec("hw:emulator_threads_policy") == "isolate")
        unset = " ".join(f"--property {key}" for key in explicit)
        yield Detail(
            case.refusal.text,
            "every boot is refused: InvalidRequest",
            f"openstack flavor unset {case.flavor.name} {unset}"
            if case.spec("hw:cpu_policy")
            else flavors.set_command(case, {"resources:PCPU": str(needed)}),
        )


RULE = Rule(
    code="FL-14",
    severity=Severity.ERROR,
    title="resources:PCPU or VCPU that the API refuses",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(specs={"resources:PCPU": "3"}),
    good=lambda: a_flavor(specs={"resources:PCPU": "4"}),
)
