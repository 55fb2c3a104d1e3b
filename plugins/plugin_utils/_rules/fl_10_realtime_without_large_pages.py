# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime without large pages.

Nova locks the memory of a realtime guest, but small pages still cost page walks at any moment.

Source: Nova's real-time guide.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if not flavors.realtime(case) or case.refusal:
        return
    pages = case.spec("hw:mem_page_size")
    has_pools = any(len(cell.pages) > 1 for host in case.hosts for cell in host.host.topology.cells)
    if pages in (None, "small", "4", "4KB") and (has_pools or not case.hosts):
        yield Detail(
            f"realtime with {'no page size' if pages is None else 'small pages'}",
            "page walks and TLB misses show up as latency",
            flavors.set_command(case, {"hw:mem_page_size": "large"}),
        )


RULE = Rule(
    code="FL-10",
    severity=Severity.WARNING,
    title="Realtime without large pages",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0"),
    good=lambda: a_flavor(
        cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0", mem_page_size="1GB"
    ),
)
