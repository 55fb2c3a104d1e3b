# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""realtime_scheduler_priority is out of range.

Nova writes the number into the guest's XML unchecked; the kernel knows priorities 1 to 99, and
libvirt does not start a guest with another.

Source: ``nova/conf/libvirt.py``; ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``.
"""

from __future__ import annotations

import typing as t

from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    priority = case.host.config.realtime_scheduler_priority
    if not 1 <= priority <= 99:
        yield Detail(
            f"realtime_scheduler_priority = {priority}; the kernel has 1 to 99",
            "realtime guests do not start: libvirt refuses the priority",
            "[libvirt]\nrealtime_scheduler_priority = 1",
            case.host.config.where("realtime_scheduler_priority"),
        )


RULE = Rule(
    code="HC-17",
    severity=Severity.ERROR,
    title="realtime_scheduler_priority is out of range",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(realtime_scheduler_priority=0),
    good=lambda: new_style(realtime_scheduler_priority=99),
)
