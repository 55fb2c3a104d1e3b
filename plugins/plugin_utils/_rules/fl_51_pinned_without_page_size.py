# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pinned guest without a page size on a host with huge pages.

Without hw:mem_page_size the memory of a pinned guest is held against the whole cell before
30.0.0, huge pages and pages in use included; it may land where ordinary memory does not suffice
and be killed (Launchpad 1811886). From 30.0.0 on free small pages are counted.

Source: Launchpad 1811886; ``nova/virt/hardware.py``, ``_numa_fit_instance_cell``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor, new_style, topology
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if not flavors.pinned(case) or (case.guest and case.guest.cells[0].page_size_kb):
        return
    counted: list[str] = []
    blind: list[str] = []
    for host, outcome in zip(case.hosts, case.outcomes, strict=True):
        pools = any(pool.total for cell in host.host.topology.cells for pool in cell.pages[1:])
        if outcome.boots and pools:
            (counted if host.release.pinned_memory_by_pages else blind).append(host.names[0])
    for hosts, effect, severity in (
        (blind, "the guest may land in a cell without enough ordinary memory and be killed", None),
        (counted, "the guest uses small pages although the host has huge ones", Severity.INFO),
    ):
        if hosts:
            yield Detail(
                f"{case.flavor.memory_mb} MiB without hw:mem_page_size on hosts with huge pages",
                effect,
                flavors.set_command(case, {"hw:mem_page_size": "small"}) + "  # or large",
                severity=severity,
                hosts=tuple(hosts),
            )


RULE = Rule(
    code="FL-51",
    severity=Severity.ERROR,
    title="Pinned guest without a page size on a host with huge pages",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(
        new_style(release="28.0.0", machine=topology(huge_pages=1024)), cpu_policy="dedicated"
    ),
    good=lambda: a_flavor(
        new_style(release="28.0.0", machine=topology(huge_pages=1024)),
        cpu_policy="dedicated",
        mem_page_size="small",
    ),
)
