# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The threads of a core are used for different ends.

Threads of a core share its execution units, caches and load ports. Where one is dedicated and the
other shared or left to the host, whatever runs on the other slows the pinned vCPU, and thread
policies find half a core. Worst are a shared sibling, and a host that has no whole core of its own:
its daemons then always run beside pinned vCPUs. Siblings come from the host's facts: they may be
n and n+1, n and n+8 or four to a core.

Source: ``nova/virt/libvirt/driver.py``, ``_get_host_numa_topology``;
``nova/virt/hardware.py``, ``_pack_instance_onto_cores``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size, to_text
from . import host_sets
from .examples import a_host, new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

_SHOWN = 4


def _check(case: HostCase) -> Iterator[Detail]:
    sets = case.sets
    if sets is None:
        return
    cores = [core for core in case.host.topology.cores if core & sets.pinnable]
    split = [core for core in cores if core & ~sets.pinnable]
    if not split:
        return
    if sets.legacy:
        yield _legacy(case, split)
        return
    beside = [core for core in split if core & sets.shared]
    left = [core for core in split if not core & sets.shared]
    if beside:
        yield _beside(case, beside)
    # One thread of every core and no other in a set: HC-78 speaks of it.
    if left and any(size(core & (sets.dedicated | sets.shared)) > 1 for core in cores):
        yield _left(case, left)


def _beside(case: HostCase, cores: list[int]) -> Detail:
    machine, config = case.host.topology, case.host.config
    shared, dedicated = (case.sets.shared, case.sets.dedicated) if case.sets else (0, 0)
    moved = host_sets.whole_cores(machine, shared)
    kept = dedicated & ~moved
    half = sum(cores) & dedicated
    proposed = {"cpu_shared_set": shared | half, "cpu_dedicated_set": kept}
    pairs = host_sets.first_cores(machine, shared | dedicated)
    if not kept:
        proposed = {"cpu_shared_set": pairs, "cpu_dedicated_set": (shared | dedicated) & ~pairs}
    return Detail(
        f"{_cores(cores)} split: {_pairs(cores, dedicated, shared, 'dedicated', 'shared')}",
        "floating guests run on the siblings of pinned vCPUs and slow them; policies require and "
        "isolate do not fit these cores",
        host_sets.snippet(**{name: cpus for name, cpus in proposed.items() if cpus}),
        config.where("cpu_dedicated_set"),
        Severity.ERROR,
    )


def _left(case: HostCase, cores: list[int]) -> Detail:
    machine = case.host.topology
    dedicated = case.sets.dedicated if case.sets else 0
    shared = case.sets.shared if case.sets else 0
    # The host's own cores, with those that it shares with floating guests.
    own = [core for core in machine.cores if not core & dedicated]
    outside = machine.online & ~dedicated & ~shared
    return Detail(
        f"{_cores(cores)} split: {_pairs(cores, dedicated, outside, 'dedicated', 'in no set')}"
        + ("" if own else "; the host has no whole core of its own"),
        "the host's work on the CPUs in no set slows the pinned vCPUs beside it; policies require "
        "and isolate count these cores short",
        host_sets.snippet(cpu_dedicated_set=_whole(case, dedicated, cores)),
        case.host.config.where("cpu_dedicated_set"),
        None if own else Severity.ERROR,
    )


def _legacy(case: HostCase, cores: list[int]) -> Detail:
    pins = case.sets.pinnable if case.sets else 0
    return Detail(
        f"{_cores(cores)} split: {_pairs(cores, pins, ~pins, 'in vcpu_pin_set', 'not')}",
        "the host's work on the other threads slows the guests; policies require and isolate find "
        "half cores",
        f"[DEFAULT]\nvcpu_pin_set = {to_text(_whole(case, pins, cores))}",
        case.host.config.where("vcpu_pin_set"),
    )


def _whole(case: HostCase, cpus: int, cores: list[int]) -> int:
    """Make a set of whole cores: without the split ones, or with all of them.

    All of them where guests are pinned to them, or where that changes fewer CPUs and still leaves
    a core to the host.
    """
    split = sum(cores)
    less, more = cpus & ~split, cpus | split
    if not less or host_sets.pinned_cpus(case) & cpus & split:
        return more
    taken = more & ~cpus & case.host.data_path_cpus
    left = any(not core & more for core in case.host.topology.cores)
    return more if left and not taken and size(more & ~cpus) <= size(cpus & split) else less


def _cores(cores: list[int]) -> str:
    return f"{len(cores)} core{'s' if len(cores) > 1 else ''}"


def _pairs(cores: list[int], one: int, other: int, first: str, second: str) -> str:
    rows = [
        f"{to_text(core & one)} {first} and {to_text(core & other)} {second}"
        for core in cores[:_SHOWN]
    ]
    return "; ".join(rows) + (f"; and {len(cores) - _SHOWN} more" if len(cores) > _SHOWN else "")


RULE = Rule(
    code="HC-11",
    severity=Severity.WARNING,
    title="The threads of a core are used for different ends",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(cpu_shared_set="0-15", cpu_dedicated_set="16-31"),
    good=new_style,
)
