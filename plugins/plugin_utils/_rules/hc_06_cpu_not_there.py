# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A configured CPU is not online or not there.

The text is fine, so nova-compute starts; each time it reports its resources it compares the list
with the host and fails. Under power management (27.0.0 on) dedicated CPUs may be offline, but must
exist. SMT switched off and swapped boards are the usual causes, a lost comma is another.

Source: ``nova/virt/libvirt/driver.py``, ``_get_vcpu_available``, ``_get_pcpu_available``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import ids, to_text
from . import hosts
from .examples import a_host, new_style, topology
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.topology import Topology


def _check(case: HostCase) -> Iterator[Detail]:
    machine, config = case.host.topology, case.host.config
    managed = case.release.power_management and config.cpu_power_management
    for option, value in hosts.read_options(case):
        if option == "cpu_shared_set" and config.vcpu_pin_set:
            continue
        exempt = managed and option == "cpu_dedicated_set"
        known = machine.present if exempt else machine.online
        listed = hosts.listed(case, option)
        lost = listed & ~known
        if lost:
            offline, absent = lost & machine.present, lost & ~machine.present
            hint = _hint(machine, absent, value)
            yield Detail(
                f"{option} lists {_told(offline, absent, machine)}" + (f"; {hint}" if hint else ""),
                "each report of resources and each build of a guest fails: Invalid; the service "
                "looks up, its inventory is stale",
                _fix(option, listed & known, offline),
                config.where(option),
            )


def _told(offline: int, absent: int, machine: Topology) -> str:
    parts = []
    if offline:
        parts.append(f"CPU {to_text(offline)}, which is offline")
    if absent:
        parts.append(
            f"CPU {to_text(absent)}, which this host (CPU {to_text(machine.present)}) lacks"
        )
    return " and ".join(parts)


def _fix(option: str, rest: int, offline: int) -> str:
    section = "DEFAULT" if option == "vcpu_pin_set" else "compute"
    wanted = (
        f"[{section}]\n{option} = {to_text(rest)}" if rest else f"list CPUs in {option} that exist"
    )
    return f"{wanted}\n(or: chcpu -e {to_text(offline)})" if offline else wanted


def _hint(machine: Topology, absent: int, value: str) -> str:
    """Guess at a lost comma: split an id into two that exist, thread siblings first.

    Only an id that is an item of its own can have lost one; those of a range have not.
    """
    items = {item.strip() for item in value.split(",")}
    guesses = []
    for digits in map(str, ids(absent)):
        if digits not in items:
            continue
        pairs = [(digits[:cut], digits[cut:]) for cut in range(1, len(digits))]
        known = [
            (int(left), int(right))
            for left, right in pairs
            if str(int(right)) == right and _both(machine.present, int(left), int(right))
        ]
        if known:
            siblings = [pair for pair in known if any(_both(core, *pair) for core in machine.cores)]
            left, right = (siblings or known)[0]
            guesses.append(f"'{left},{right}' for {digits}")
    # A guess about many ids is none: the list is of another machine.
    return f"perhaps a lost comma: {', '.join(guesses)}" if 0 < len(guesses) <= 2 else ""


def _both(cpus: int, left: int, right: int) -> bool:
    return left != right and bool(cpus >> left & 1 and cpus >> right & 1)


RULE = Rule(
    code="HC-06",
    severity=Severity.ERROR,
    title="A configured CPU is not online or not there",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(topology(offline="16-31"), cpu_dedicated_set="1-15,17-31"),
    good=new_style,
)
