# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets of CPUs that rules propose for a host, and what becomes of those in use."""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.topology import Topology
    from .._nova.outcome import Outcome
    from .rule import FlavorCase, FleetCase, HostCase


def whole_cores(topology: Topology, cpus: int) -> int:
    """Add the thread siblings of ``cpus`` to them."""
    for core in topology.cores:
        if core & cpus:
            cpus |= core
    return cpus


def first_cores(topology: Topology, among: int) -> int:
    """Take of each NUMA cell the first core that lies wholly in ``among``."""
    found = 0
    for cell in topology.cells:
        inside = (core for core in topology.cores if core & cell.cpuset and not core & ~among)
        found |= next(inside, 0)
    return found


def best_cores(topology: Topology, *choices: int) -> int:
    """Take of each NUMA cell one core, of the first of ``choices`` (bitmasks) that has a whole one
    there."""
    found = 0
    for among in choices:
        have = found
        for cell in topology.cells:
            if not have & cell.cpuset:
                found |= first_cores(topology, among & cell.cpuset)
    return found


def snippet(**options: int | str) -> str:
    """Write options of ``[compute]`` as ``nova.conf`` has them; sets of CPUs as lists."""
    rows = (
        f"{name} = {to_text(value) if isinstance(value, int) else value}"
        for name, value in options.items()
    )
    return "\n".join(("[compute]", *rows))


def halves(topology: Topology, among: int, pinned: int, isolated: int = 0) -> tuple[int, int]:
    """Share CPUs out to both sets: a core of each cell is shared, the rest dedicated.

    CPUs that guests are ``pinned`` to become dedicated, those that the kernel has ``isolated``
    too, and a core is left to the host.
    """
    among &= ~_of_host(topology, among, pinned)
    shared = first_cores(topology, among & ~pinned & ~isolated)
    return shared, among & ~shared


def _of_host(topology: Topology, among: int, pinned: int) -> int:
    """Choose the host's core: that of CPU 0, else, where it has no other, the first free one."""
    boot = whole_cores(topology, 1)
    if not boot & pinned:
        return boot if among & ~boot else 0
    if topology.online & ~among:
        return 0
    return next((core for core in topology.cores if core & among and not core & pinned), 0)


def pinned_cpus(case: HostCase) -> int:
    """List the host CPUs that running guests are pinned to (bitmask)."""
    found = 0
    for usage in case.host.usage:
        found |= usage.pinned_cpus
    return found


def powers_off(case: HostCase) -> bool:
    """Say whether nova-compute takes idle dedicated CPUs offline."""
    config = case.host.config
    return (
        case.release.power_management
        and config.cpu_power_management
        and config.cpu_power_management_strategy == "cpu_state"
    )


def sets_governor(case: HostCase) -> bool:
    """Say whether nova-compute sets the frequency governor of dedicated CPUs."""
    config = case.host.config
    return (
        case.release.power_management
        and config.cpu_power_management
        and config.cpu_power_management_strategy == "governor"
    )


def served(case: FleetCase) -> Iterator[tuple[HostCase, tuple[FlavorCase, ...]]]:
    """List each host with the flavors that land on it."""
    for index, host in enumerate(case.hosts):
        yield host, tuple(flavor for flavor in case.flavors if lands(flavor.outcomes[index]))


def lands(outcome: Outcome) -> bool:
    """Say whether a guest gets as far as the host: it boots there, or the driver refuses it."""
    return outcome.boots or outcome.stage == "driver"


def failing(case: FleetCase, error: str) -> Iterator[tuple[HostCase, tuple[FlavorCase, ...]]]:
    """List each host with the flavors whose boot there ends with the exception ``error``."""
    for index, host in enumerate(case.hosts):
        yield (
            host,
            tuple(flavor for flavor in case.flavors if flavor.outcomes[index].error == error),
        )
