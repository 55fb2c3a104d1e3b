# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flavor that boots on no host.

Placement counts a host as a whole, the fit each cell: a guest may find PCPU enough and yet no
cell that takes it.

Source: ``nova/virt/hardware.py``, ``numa_fit_instance_to_host``.
"""

from __future__ import annotations

import typing as t

from . import flavors, hosts
from .cases import changed
from .examples import a_flavor, new_style
from .policies import KEY
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

NO_SHARED_SET = "RealtimeMaskNotFoundOrInvalid"
"""What the driver raises for a realtime guest with policy share on a host without shared set."""


def _check(case: FlavorCase) -> Iterator[Detail]:
    if case.refusal or not case.hosts or any(outcome.boots for outcome in case.outcomes):
        return
    reasons: dict[str, str] = {}
    for host, outcome in zip(case.hosts, case.outcomes, strict=True):
        if outcome.stage != "startup":
            reasons.setdefault(f"{outcome.stage}: {outcome.reason}", host.names[0])
    if not reasons or _told_elsewhere(case, reasons):
        return
    yield Detail(
        "; ".join(f"{name} refuses at {reason}" for reason, name in list(reasons.items())[:4]),
        "every boot ends with No valid host",
        _fix(case),
        severity=Severity.INFO if _refused_rightly(case) else None,
    )


def _told_elsewhere(case: FlavorCase, reasons: dict[str, str]) -> bool:
    """Say whether FL-20, FL-21, FL-41 or HC-16 names the cause."""
    if any(outcome.error == NO_SHARED_SET for outcome in case.outcomes):
        return True
    if flavors.isolates(case) and _smt_only(case):
        return True
    cells = case.guest.cells if case.guest else ()
    floating = max((cell.floating_count for cell in cells), default=0)
    shared = max((cell.shared_count for host in case.hosts for cell in host.cells or ()), default=0)
    return floating > shared or any("Placement answers 400" in reason for reason in reasons)


def _refused_rightly(case: FlavorCase) -> bool:
    """Say whether the guest requires thread siblings and no host has any."""
    requires = case.guest is not None and case.guest.cells[0].cpu_thread_policy == "require"
    return requires and not any(host.host.topology.hyperthreading for host in case.hosts)


def _smt_only(case: FlavorCase) -> bool:
    return any(
        host.sets and host.sets.dedicated and host.host.topology.hyperthreading
        for host in case.hosts
    )


def _fix(case: FlavorCase) -> str:
    needed = sum(cell.pinned_count for cell in case.guest.cells) if case.guest else 0
    if needed and not any(host.sets and host.sets.dedicated for host in case.hosts):
        return "[compute] cpu_dedicated_set on hosts for it"
    if flavors.realtime(case):
        return _for_realtime(case)
    for host in case.hosts:
        rooms = sorted((cell.dedicated_count for cell in host.cells or ()), reverse=True)
        for nodes in range(2, len(rooms) + 1):
            specs = {"hw:numa_nodes": str(nodes)}
            enough = 0 < needed <= nodes * rooms[nodes - 1]
            if enough and any(then.boots for then in changed(case, specs).outcomes):
                return flavors.set_command(case, specs)
    if any("require" in outcome.reason for outcome in case.outcomes):
        return flavors.set_command(case, {"hw:cpu_thread_policy": "prefer"})
    return "a host class that can take it, or a smaller flavor"


def _for_realtime(case: FlavorCase) -> str:
    """Keep a realtime guest in one cell (FL-12): with share in place of isolate, if that fits."""
    largest = max((cell.pinned_count for cell in case.guest.cells), default=0) if case.guest else 0
    if case.guest and case.guest.emulator_threads_policy == "isolate":
        largest += 1
        then = changed(case, {KEY: "share"}).outcomes
        tried = [*zip(case.hosts, then, strict=True)]
        booting = [name for host, each in tried if each.boots for name in host.names]
        unset = [name for host, each in tried if each.error == NO_SHARED_SET for name in host.names]
        command = flavors.set_command(case, {KEY: "share"})
        if booting:
            return f"{command}  # boots on {hosts.few(booting)}"
        if unset:
            return f"{command}  # needs [compute] cpu_shared_set on {hosts.few(unset)}"
    return f"hosts with {largest} dedicated CPUs in one cell, or a smaller flavor"


RULE = Rule(
    code="FL-46",
    severity=Severity.ERROR,
    title="Flavor that boots on no host",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(new_style(), vcpus=20, cpu_policy="dedicated"),
    good=lambda: a_flavor(new_style(), vcpus=20, cpu_policy="dedicated", numa_nodes="2"),
    by_subject=True,
)
