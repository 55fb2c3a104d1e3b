# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Power management without a dedicated set.

It powers dedicated CPUs alone. The first releases that have it refuse to start without any; later
ones start, and do nothing.

Source: ``nova/virt/libvirt/cpu/api.py``, ``validate_all_dedicated_cpus``; ``nova`` b1a0aee1ab.
"""

from __future__ import annotations

import typing as t

from .examples import a_host, new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    config, release = case.host.config, case.release
    if not config.cpu_power_management or config.cpu_dedicated_set:
        return
    starts = not release.power_management or release.power_management_without_dedicated
    yield Detail(
        f"cpu_power_management is on, cpu_dedicated_set is unset (Nova {release.name})",
        "the option has no effect"
        if starts
        else "nova-compute does not start: InvalidConfiguration",
        "[libvirt]\ncpu_power_management = false",
        config.where("cpu_power_management"),
        Severity.INFO if starts else None,
    )


RULE = Rule(
    code="HC-72",
    severity=Severity.ERROR,
    title="Power management without a dedicated set",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(release="28.0.0", cpu_shared_set="0-7", cpu_power_management=True),
    good=lambda: new_style(release="28.0.0", cpu_power_management=True),
)
