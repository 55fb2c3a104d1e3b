# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory of the guest lies on other host cells than it is tied to.

``numatune`` binds memory that is touched from then on; pages that were there before, or came while
the binding was another one, stay.

Source: kernel ``Documentation/filesystems/proc.rst``, numa_maps; libvirt
``docs/formatdomain.rst``, NUMA Node Tuning.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

SMALL_SHARE = 100
"""Up to one in so many KiB elsewhere is what the process itself needs."""

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    xml, memory_kb = case.domain.xml, case.domain.memory_kb
    if xml is None or not memory_kb:
        return
    cells = xml.host_cells
    for nodes in xml.memnodes.values():
        cells |= nodes
    away = {cell: kb for cell, kb in memory_kb.items() if kb and not cells >> cell & 1}
    if cells and sum(away.values()) * SMALL_SHARE > sum(memory_kb.values()):
        rows = [f"{kb // 1024} MiB on host cell {cell}" for cell, kb in away.items()]
        yield Detail(
            f"its memory is tied to host cells {to_text(cells)}, and {guests.few(rows)}",
            "its vCPUs reach that memory through another cell of the host",
            guests.hard_reboot(case),
        )


RULE = Rule(
    code="DM-23",
    severity=Severity.WARNING,
    title="Memory of the guest lies on other host cells than it is tied to",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2, memory_kb={0: 524288, 1: 524288})),
    good=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2, memory_kb={0: 1048576, 1: 64})),
)
