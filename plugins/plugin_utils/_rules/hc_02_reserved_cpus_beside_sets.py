# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""reserved_host_cpus beside cpu_shared_set or cpu_dedicated_set.

The number of CPUs held back belongs to vcpu_pin_set and to hosts without any list. Where a set is
configured the host keeps the CPUs that are in neither, and nova-compute refuses the number.

Source: ``nova/virt/libvirt/driver.py``, ``_check_cpu_set_configuration``.
"""

from __future__ import annotations

import typing as t

from .examples import legacy, new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    config = case.host.config
    sets = [name for name in ("cpu_shared_set", "cpu_dedicated_set") if getattr(config, name)]
    if not case.release.dedicated_set or config.vcpu_pin_set or not sets:
        return
    if config.reserved_host_cpus:
        yield Detail(
            f"reserved_host_cpus = {config.reserved_host_cpus} beside {' and '.join(sets)}",
            "nova-compute does not start: InvalidConfiguration",
            "[DEFAULT]\nreserved_host_cpus = 0\n# the host keeps the CPUs that are in neither set",
            config.where("reserved_host_cpus"),
        )


RULE = Rule(
    code="HC-02",
    severity=Severity.ERROR,
    title="reserved_host_cpus beside CPU sets",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(reserved_host_cpus=2),
    good=lambda: legacy(reserved_host_cpus=2),
)
