# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Others run on the thread sibling of a realtime vCPU.

The two threads of a core share its execution units and caches: what runs on the sibling of a
realtime vCPU slows it down by an amount that nobody can bound.

Source: Nova's administrator guide, real time; ``nova/virt/hardware.py``,
``_pack_instance_onto_cores``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import guests
from .examples import a_domain, a_guest_case, new_style
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    realtime = guests.realtime_cpus(case.domain)
    if not realtime:
        return
    own = case.pinned[case.domain.id]
    siblings = 0
    for core in case.host.host.topology.cores:
        siblings |= core & ~realtime if core & realtime else 0
    sets, xml = case.host.sets, case.domain.xml
    used = {
        guests.title(other): case.pinned[other.id] | ((other.xml.emulator or 0) if other.xml else 0)
        for other in case.others
    }
    used["its own emulator threads"] = (xml.emulator or 0) if xml else 0
    used["cpu_shared_set"] = sets.shared & ~own if sets and not sets.legacy else 0
    found = {name: cpus & siblings for name, cpus in used.items() if cpus & siblings}
    if found:
        rows = [f"{to_text(cpus)} ({name})" for name, cpus in found.items()]
        yield Detail(
            "thread siblings of its realtime vCPUs are in use: " + guests.few(rows, 4),
            "the other thread of the core slows the realtime vCPU down without a bound",
            "give realtime guests whole cores: sets of whole cores, an even number of vCPUs, "
            "hw:cpu_thread_policy=require, and an emulator policy that takes no odd CPU (share); "
            f"or a host without SMT; then\n{guests.cold_migrate(case)}",
        )


RULE = Rule(
    code="DM-09",
    severity=Severity.WARNING,
    title="Others run on the thread sibling of a realtime vCPU",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        new_style(),
        a_domain(new_style(), 1, 2, hw={"cpu_realtime": "yes", "cpu_realtime_mask": "^0"}),
        a_domain(new_style(), 18, 19, number=2),
    ),
    good=lambda: a_guest_case(
        new_style(),
        a_domain(new_style(), 1, 2, hw={"cpu_realtime": "yes", "cpu_realtime_mask": "^0"}),
        a_domain(new_style(), 3, 19, number=2),
    ),
)
