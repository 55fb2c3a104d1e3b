# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pinned server holds VCPU on a host with dedicated CPUs.

It came by the fallback query while Placement had no PCPU for it and the NUMA books had free CPUs:
PCPU held by consumers that use none, or thread policy isolate before Nova refused it on hosts with
SMT. A flavor that asks for VCPU in a group of its own does it too. Nova never puts it right: the
reshape runs once, when a host first reports PCPU.

Source: ``nova/scheduler/manager.py``, ``select_destinations``; ``nova/virt/libvirt/driver.py``,
``_update_provider_tree_for_pcpu``.
"""

from __future__ import annotations

import typing as t

from . import servers
from .examples import a_guest, a_server, new_style
from .rule import Detail, Rule, ServerCase, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: ServerCase) -> Iterator[Detail]:
    held, due = servers.held(case), servers.due(case)
    if case.resident.pinned and held.keys() - due.keys():
        taken = case.occupied.bit_count() or due["PCPU"]
        yield Detail(
            f"the server is pinned and holds {servers.told(held)}, where "
            f"{servers.told(due)} is right",
            f"Placement counts {held.get('PCPU', 0)} of the {taken} dedicated CPUs that it "
            "occupies; cpu_shared_set cannot go, and no restart moves the server to PCPU",
            "migrate it to a host where it takes the right class",
        )


RULE = Rule(
    code="FU-10",
    severity=Severity.ERROR,
    title="Pinned server holds VCPU on a host with dedicated CPUs",
    subject=ServerCase,
    check=_check,
    bad=lambda: a_server(new_style(), a_guest(1, 2, allocation={"VCPU": 2})),
    good=lambda: a_server(new_style(), a_guest(1, 2, allocation={"PCPU": 2})),
)
