# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guests of a realtime host share cores.

Threads of one core share its units and caches: what runs on one delays the other, by amounts that
nobody bounds. The CPU that emulator policy isolate keeps may be the sibling of a realtime vCPU.

Source: Nova's real-time guide; ``nova/virt/hardware.py``, ``_pack_instance_onto_cores``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size, to_text
from . import host_sets, hosts
from .examples import new_style, no_smt
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    cpus = hosts.realtime_cpus(case)
    guests = cpus | (case.sets.shared if case.sets else 0)
    cores = [core for core in case.host.topology.cores if core & cpus]
    double = [core for core in cores if size(core & guests) > 1]
    if double:
        yield Detail(
            f"{len(double)} of {len(cores)} cores with realtime CPUs have more than one thread for "
            "guests",
            "a vCPU is delayed by what runs on its sibling; emulator threads may be that",
            _fix(case),
            "/sys/devices/system/cpu/smt/control",
        )


def _fix(case: HostCase) -> str:
    """Say in which order threads are given up: guests may be pinned to those that go."""
    first, dedicated = _first_threads(case)
    now, then = size(case.sets.dedicated if case.sets else 0), size(dedicated)
    halved = f", and PCPU falls from {now} to {then}" if now != then else ""
    return (
        f"{first}\nand then nosmt on the kernel's command line\n"
        f"(drain the host first, and hold this against what is left with restart_check: guests "
        f"stay pinned to the threads that go{halved})"
    )


def _first_threads(case: HostCase) -> tuple[str, int]:
    """Write the CPU sets with the first thread of each of their cores, dedicated before shared.

    Gives the dedicated ones (bitmask) too.
    """
    cores, taken, found = case.host.topology.cores, 0, {}
    for name, _value in reversed(hosts.read_options(case)):
        listed = hosts.listed(case, name)
        first = sum(core & -core for core in cores if core & listed) & ~taken
        taken |= first
        if first:
            found[name] = first
    if "vcpu_pin_set" in found:
        return f"[DEFAULT]\nvcpu_pin_set = {to_text(found['vcpu_pin_set'])}", 0
    text = host_sets.snippet(**dict(reversed(found.items())))
    return text, found.get("cpu_dedicated_set", 0)


RULE = Rule(
    code="HC-38",
    severity=Severity.WARNING,
    title="Guests of a realtime host share cores",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(intent="realtime"),
    good=lambda: no_smt(intent="realtime"),
)
