# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU 0 is dedicated under power management.

Unused dedicated CPUs are powered down when nova-compute starts. The first releases do not spare CPU
0, which most machines cannot take offline.

Source: ``nova/virt/libvirt/cpu/api.py``, ``power_down_all_dedicated_cpus``; ``nova`` 0b9d8cee58.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .examples import a_host
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    config, release = case.host.config, case.release
    if not config.cpu_power_management or config.cpu_power_management_strategy != "cpu_state":
        return
    if case.sets is None or not release.power_management or release.spares_cpu0:
        return
    if case.sets.dedicated & 1:
        yield Detail(
            f"CPU 0 is in cpu_dedicated_set and Nova {release.name} powers it down",
            "most machines cannot switch CPU 0 off; the attempt fails (bug 2038840)",
            f"[compute]\ncpu_dedicated_set = {to_text(case.sets.dedicated & ~1)}\n"
            "or a release from 27.2.0, 28.0.1 or 29.0.0 on",
            config.where("cpu_dedicated_set"),
        )


RULE = Rule(
    code="HC-79",
    severity=Severity.ERROR,
    title="CPU 0 is dedicated under power management",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(release="28.0.0", cpu_dedicated_set="0-15", cpu_power_management=True),
    good=lambda: a_host(release="28.0.1", cpu_dedicated_set="0-15", cpu_power_management=True),
)
