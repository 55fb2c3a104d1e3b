# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``cpu_shared_set`` that a host could have, off the isolated CPUs, and what that costs."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.cpu_list import size, to_text
from . import host_sets, hosts
from .cases import changed, host_case
from .policies import KEY

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from .._model.config import HostConfig
    from .rule import FlavorCase, HostCase


def fix(host: HostCase, guests: Iterable[FlavorCase]) -> str:
    """Write a ``cpu_shared_set`` for a host that takes ``guests``, and what it costs.

    Where no CPU is free for it and a guest with policy share does not fit on those that stay
    dedicated, no set is proposed; that a mere image makes it not fit is said.
    """
    config, conf, notes = with_shared_set(host, 0)
    told = "\n".join((conf, *(f"# {note}" for note in notes))) if conf else ""
    if not conf or config.cpu_dedicated_set == host.host.config.cpu_dedicated_set:
        return told or "; ".join(notes)
    then = (host_case(dataclasses.replace(host.host, config=config), host.names),)
    tried = [(each, changed(each, {KEY: "share"}, then).outcomes[0]) for each in guests]
    lost = [(each, outcome) for each, outcome in tried if not outcome.boots]
    if not lost:
        return told
    named = hosts.named(tuple(each for each, _outcome in lost))
    fits = f"{named} no longer {'fit' if len(lost) > 1 else 'fits'} ({lost[0][1].reason})"
    alone = [each for each, _outcome in tried if not each.image.name]
    if alone and all(each.image.name for each, _outcome in lost):
        return f"{told}\n# {fits}"
    why = (
        "no CPU is free for cpu_shared_set, and without a core of each cell"
        if host.host.config.cpu_dedicated_set
        else "cpu_shared_set takes cpu_dedicated_set beside it here, and with both"
    )
    return f"{why} {fits}: other hosts for policy share"


def with_shared_set(host: HostCase, cells: int) -> tuple[HostConfig, str, list[str]]:
    """Give a host a ``cpu_shared_set``: its options then, as a snippet, and what is to be known.

    Whole cores that the kernel does not isolate and nobody is pinned to are taken, one of each
    cell, not CPU 0's where there is another; ``cells`` are the guest's host cells (bitmask), which
    are to have one. Where no such core is left, the dedicated CPUs give one up.
    """
    config, topology = host.host.config, host.host.topology
    kept = hosts.isolated(host) | host.host.data_path_cpus
    pinnable = hosts.pinnable(host) if hosts.read_options(host) else 0
    free = topology.online & ~pinnable & ~kept
    close = near(host, cells)
    chosen = _cores(host, free)
    if pinnable and chosen:
        notes = [] if chosen & close or not close else ["no free core is in the guest's host cell"]
        if host_sets.whole_cores(topology, 1) & chosen:
            notes.append("the host's own tasks run there too, for want of another free core")
        if not config.vcpu_pin_set:
            notes.append("the host then has VCPU too: floating guests can land on it")
        changed = dataclasses.replace(config, cpu_shared_set=to_text(chosen))
        return changed, host_sets.snippet(cpu_shared_set=chosen), notes
    if not host.release.dedicated_set:
        return config, "", ["no core of the host is free for cpu_shared_set"]
    if config.cpu_dedicated_set:
        among = pinnable & ~host_sets.pinned_cpus(host)
        shared = _cores(host, among & ~kept) or _cores(host, among & close) or _cores(host, among)
        dedicated = pinnable & ~shared
        fewer = f"PCPU {size(dedicated)} instead of {size(pinnable)}"
        notes = [f"CPU {to_text(shared)} is dedicated no more: {fewer}"]
    else:
        among = (pinnable or topology.online) & ~host.host.data_path_cpus
        shared, dedicated = host_sets.halves(topology, among, host_sets.pinned_cpus(host), kept)
        notes = ["floating guests keep to cpu_shared_set then, and pinned ones are PCPU"]
        notes += without_core(host, shared, dedicated)
    if not shared:
        return config, "", ["no core of the host is free for cpu_shared_set"]
    changed = dataclasses.replace(
        config,
        vcpu_pin_set=None,
        reserved_host_cpus=0,
        cpu_shared_set=to_text(shared),
        cpu_dedicated_set=to_text(dedicated),
    )
    return changed, host_sets.snippet(cpu_shared_set=shared, cpu_dedicated_set=dedicated), notes


def split(host: HostCase, among: int) -> str:
    """Share CPUs out to both sets and write them, with what is to be known; "" without any CPU.

    Where the kernel isolates all of them in a cell, a free core is shared there instead.
    """
    topology = host.host.topology
    kept = hosts.isolated(host) | host.host.data_path_cpus
    shared, dedicated = host_sets.halves(topology, among, host_sets.pinned_cpus(host), kept)
    if among & kept:
        free = topology.online & ~among & ~kept
        boot = host_sets.whole_cores(topology, 1)
        shared = host_sets.best_cores(topology, shared, free & ~boot, free)
    options = {"cpu_shared_set": shared, "cpu_dedicated_set": dedicated}
    wanted = {name: cpus for name, cpus in options.items() if cpus}
    notes = (f"# {note}" for note in without_core(host, shared, dedicated))
    return "\n".join((host_sets.snippet(**wanted), *notes)) if wanted else ""


def without_core(host: HostCase, shared: int, dedicated: int) -> list[str]:
    """Say which cells have no shared CPU because the kernel isolates what is left there."""
    isolated = hosts.isolated(host)
    bare = [
        str(cell.id)
        for cell in host.host.topology.cells
        if cell.cpuset & dedicated & isolated and not cell.cpuset & shared
    ]
    if not bare:
        return []
    cells = f"cell{'s' if len(bare) > 1 else ''} {', '.join(bare)}"
    return [f"{cells}: no core is free and not isolated; take one out of isolcpus to share it"]


def near(host: HostCase, cells: int) -> int:
    """List the CPUs of host ``cells`` (bitmask), as a bitmask."""
    found = 0
    for cell in host.host.topology.cells:
        if cells >> cell.id & 1:
            found |= cell.cpuset
    return found


def _cores(host: HostCase, among: int) -> int:
    """Take a whole core of each cell, that of CPU 0 only where the cell has no other."""
    topology = host.host.topology
    return host_sets.best_cores(topology, among & ~host_sets.whole_cores(topology, 1), among)
