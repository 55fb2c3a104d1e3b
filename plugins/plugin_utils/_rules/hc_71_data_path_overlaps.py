# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPUs of the data path are also given to guests.

A poll-mode thread never sleeps. Whatever else runs on its CPU gets what the kernel's scheduler
leaves; Nova knows nothing of it.

Source: OVS ``other_config:pmd-cpu-mask``; ``nova/virt/libvirt/driver.py``,
``_get_pcpu_available``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import hosts
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    polled = case.host.data_path_cpus & case.host.topology.online
    if polled and hosts.unconfigured(case):
        yield Detail(
            f"no option keeps guests off CPUs {to_text(polled)}, which the data path polls",
            "floating guests run there too and lose most of the CPU; the data path loses packets",
            "list the CPUs of guests in cpu_shared_set and cpu_dedicated_set, without these"
            if case.release.dedicated_set
            else "list the CPUs of guests in vcpu_pin_set, without these",
        )
    for name, _rest in hosts.read_options(case):
        cpus = hosts.listed(case, name)
        if cpus & polled:
            yield Detail(
                f"CPUs {to_text(cpus & polled)} of {name} are polled by the data path",
                "guests there lose most of the CPU, and the data path loses packets",
                f"{name} = {left}"
                if (left := to_text(cpus & ~polled))
                else f"give {name} other CPUs",
                case.host.config.where(name),
            )


RULE = Rule(
    code="HC-71",
    severity=Severity.ERROR,
    title="CPUs of the data path are also given to guests",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(data_path_cpus=0b110),
    good=lambda: new_style(cpu_dedicated_set="3-7,9-15,17-23,25-31", data_path_cpus=0b110),
)
