# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every vCPU is realtime and nothing else carries the emulator.

Where all vCPUs are realtime and no emulator policy is set, emulator threads have no CPU. From
22.0.0 on the API refuses that; before, the domain gets an empty emulatorpin, which libvirt
refuses.

Source: ``nova/virt/hardware.py``, ``get_realtime_cpu_constraint``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if not flavors.realtime(case) or case.spec("hw:emulator_threads_policy"):
        return
    realtime = flavors.realtime_vcpus(case)
    if realtime == (1 << case.flavor.vcpus) - 1:
        yield Detail(
            f"all {case.flavor.vcpus} vCPUs are realtime and hw:emulator_threads_policy is not set",
            "every boot is refused: RealtimeMaskNotFoundOrInvalid"
            if case.release.literal_realtime_mask
            else "libvirt refuses the domain: its emulatorpin is empty",
            flavors.set_command(case, {"hw:cpu_realtime_mask": "^0"})
            + "  # or hw:emulator_threads_policy=share, or =isolate",
        )


RULE = Rule(
    code="FL-02",
    severity=Severity.ERROR,
    title="Every vCPU is realtime and nothing else carries the emulator",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="0-3"),
    good=lambda: a_flavor(
        cpu_policy="dedicated", cpu_realtime="yes", emulator_threads_policy="isolate"
    ),
)
