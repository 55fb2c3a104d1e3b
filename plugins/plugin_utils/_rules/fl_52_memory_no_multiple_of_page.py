# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory that is no multiple of the page size.

A guest cell must fill its pages: memory that a page size does not divide fits no pool of that
size.

Source: ``nova/virt/hardware.py``, ``_numa_cell_supports_pagesize_request``.
"""

from __future__ import annotations

import typing as t

from .._nova.constraints import LARGE
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if not case.guest:
        return
    for cell in case.guest.cells:
        wish = cell.page_size_kb or 0
        size_kb = wish if wish > 0 else 2048 if wish == LARGE else 0
        if size_kb and cell.memory_kb % size_kb:
            mib = size_kb / 1024
            if mib < 1:
                return
            below = int(cell.memory_mb // mib * mib)
            yield Detail(
                f"{cell.memory_mb} MiB of guest cell {cell.id} is no multiple of {mib:g} MiB",
                "no host with such pages takes the guest",
                f"a flavor with {below} or {below + int(mib)} MiB per cell"
                + (" (8192 for 1 GiB pages too)" if below // 1024 == 7 else ""),
            )
            return


RULE = Rule(
    code="FL-52",
    severity=Severity.ERROR,
    title="Memory that is no multiple of the page size",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(memory_mb=8049, cpu_policy="dedicated", mem_page_size="large"),
    good=lambda: a_flavor(memory_mb=8048, cpu_policy="dedicated", mem_page_size="large"),
)
