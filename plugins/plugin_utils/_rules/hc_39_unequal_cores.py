# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cores with unequal numbers of threads.

Nova judges the thread policies of a cell by its widest core: require and isolate take for granted
what only some cores have. Hybrid processors are built so, others have single threads offline.
HC-11 speaks of cores that the sets make unequal.

Source: ``nova/virt/hardware.py``, ``_pack_instance_onto_cores``.
"""

from __future__ import annotations

import collections
import typing as t

from ...module_utils._read.cpu_list import size, to_text
from .examples import new_style, topology
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    machine = case.host.topology
    # Dedicated CPUs that are powered down belong to cores all the same.
    if case.sets is None or case.sets.dedicated & ~machine.online:
        return
    for cell in machine.cells:
        by_width: dict[int, int] = collections.defaultdict(int)
        for core in machine.cores:
            if core & cell.cpuset & case.sets.pinnable:
                by_width[size(core)] |= core
        if len(by_width) < 2:
            continue
        widest = max(by_width)
        narrow = sum(cpus for width, cpus in by_width.items() if width < widest)
        told = ", ".join(
            f"{size(cpus) // width} of {width} ({to_text(cpus)})"
            for width, cpus in sorted(by_width.items(), reverse=True)
        )
        yield Detail(
            f"cell {cell.id} has cores of unequal numbers of threads: {told}",
            f"thread policies are judged by cores of {widest}: CPU {to_text(narrow)} counts less "
            "for require and isolate than Placement shows",
            f"bring missing siblings online, or keep CPU {to_text(narrow)} for the host or for "
            "floating guests",
            case.host.config.where("cpu_dedicated_set"),
        )


RULE = Rule(
    code="HC-39",
    severity=Severity.INFO,
    title="Cores with unequal numbers of threads",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(
        machine=topology(offline="20-23"), cpu_dedicated_set="1-7,9-15,17-19,25-31"
    ),
    good=new_style,
)
