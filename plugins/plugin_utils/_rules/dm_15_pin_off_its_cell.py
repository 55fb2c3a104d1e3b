# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vCPU is pinned to another host cell than its memory.

``memnode`` ties the memory of a guest cell to one cell of the host, ``vcpupin`` its vCPUs to CPUs
of another one: pins of before a move, or an edit.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``; libvirt
``docs/formatdomain.rst``, NUMA Node Tuning.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import ids, to_text
from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    xml, online = case.domain.xml, case.host.host.topology.online
    if xml is None:
        return
    found = []
    members = {cell.id: cell.vcpus for cell in xml.cells}
    if not members and len(xml.memnodes) == 1:
        members = dict.fromkeys(xml.memnodes, (1 << xml.vcpus) - 1)
    for cell, vcpus in members.items():
        nodes = xml.memnodes.get(cell, 0)
        local = case.host.host.topology.cpus_of(nodes)
        for vcpu in ids(vcpus):
            # CPUs that are offline belong to no cell.
            remote = xml.vcpu_pins.get(vcpu, 0) & online & ~local
            if nodes and remote:
                found.append(
                    f"vCPU {vcpu} may run on {to_text(remote)}, its memory is on host cell "
                    f"{to_text(nodes)}"
                )
    if found:
        yield Detail(
            guests.few(found),
            "each access to memory goes to another cell of the host",
            guests.cold_migrate(case),
        )


RULE = Rule(
    code="DM-15",
    severity=Severity.ERROR,
    title="vCPU is pinned to another host cell than its memory",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(), a_domain(no_smt(), 1, 2, xml={"memnodes": {0: 0b10}, "host_cells": 0b10})
    ),
    good=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2)),
)
