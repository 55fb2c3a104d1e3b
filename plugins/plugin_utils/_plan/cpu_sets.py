# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CPUs of a host by what they are for, from its hardware and a wish."""

from __future__ import annotations

import dataclasses
import fractions
import typing as t

from ...module_utils._read.cpu_list import parse_nova, to_text
from ...module_utils._read.errors import InputError
from .._rules.host_sets import whole_cores
from .._rules.hosts import CPU_OPTIONS

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.config import HostConfig
    from .._model.topology import NumaCell, Topology
    from .._model.wish import ExplicitSets, Wish

PHASES = ("new", "legacy")
"""``legacy``: ``vcpu_pin_set``. ``new``: both sets, and neither it nor ``reserved_host_cpus``."""

REPLACED = (*CPU_OPTIONS, "reserved_host_cpus")
"""The options of ``nova.conf`` that a phase decides on."""


@dataclasses.dataclass(frozen=True, slots=True)
class CpuRoles:
    """The online CPUs by what they are for (bitmasks)."""

    shared: int
    dedicated: int
    host: int
    """For the host itself."""
    data_path: int = 0
    """Cores of a poll-mode data path."""
    left_out: int = 0
    """Cores that the wish leaves out."""

    @property
    def guests(self) -> int:
        """CPUs that guests may use."""
        return self.shared | self.dedicated


def derive(
    topology: Topology,
    wish: Wish,
    data_path_cpus: int = 0,
    later: tuple[int, ...] = (),
    must_stay_dedicated: int = 0,
) -> CpuRoles:
    """Share out the online CPUs, core by core: to the host, to floating and to pinned vCPUs.

    In each cell the lowest cores are for the host, the next ones shared, the rest dedicated. The
    sets ``later`` are CPUs to be taken last for the first two ends, those of the first set last of
    all; CPUs that ``must_stay_dedicated`` never are. CPU 0 is the host's, unless the data path
    polls it or the wish leaves it out.

    Raises ``InputError`` for a wish that a cell has too few cores for.
    """
    online = topology.online
    data_path = whole_cores(topology, data_path_cpus & online) & online
    left_out = whole_cores(topology, wish.leave_out & online) & online & ~data_path
    kept = whole_cores(topology, must_stay_dedicated & online) & online
    _refuse_lost_pins(must_stay_dedicated, kept & (data_path | left_out | _boot_core(topology)))
    populated = [cell for cell in topology.cells if cell.cpuset & online]
    first = next((cell for cell in populated if cell.cpuset & 1), next(iter(populated), None))
    host = shared = dedicated = 0
    for cell in populated:
        taken = host | shared | dedicated | data_path | left_out
        cores = [core for core in _cores(topology, cell) if not core & taken]
        wanted = wish.housekeeping_cores if wish.housekeeping_in_each_cell or cell is first else 0
        own, floating, pinned = _split(cell, cores, wanted, wish, later, kept)
        host, shared, dedicated = host | own, shared | floating, dedicated | pinned
    if not shared | dedicated:
        raise InputError(
            f"no core is left for guests of CPU {to_text(online) or 'none'}",
            "a wish that leaves cores",
        )
    # CPUs that libvirt has in no cell are of no use to guests.
    host |= online & ~(host | shared | dedicated | data_path | left_out)
    return CpuRoles(shared, dedicated, host, data_path, left_out)


def _boot_core(topology: Topology) -> int:
    return whole_cores(topology, 1 & topology.online)


def _refuse_lost_pins(pinned: int, lost: int) -> None:
    if lost:
        raise InputError(
            f"guests are pinned to CPU {to_text(pinned & lost)}, which cannot be dedicated: its "
            "core is that of CPU 0, polled or left out",
            "a host whose guests have moved off these CPUs",
        )


def _cores(topology: Topology, cell: NumaCell) -> Iterator[int]:
    """List the online threads of each core of a cell, by lowest id."""
    for core in topology.cores:
        if core & topology.online & cell.cpuset:
            yield core & topology.online


def _split(
    cell: NumaCell, cores: list[int], wanted: int, wish: Wish, later: tuple[int, ...], kept: int
) -> tuple[int, int, int]:
    """Share out the cores of one cell: for the host, shared, dedicated."""
    movable = [core for core in cores if not core & kept]
    movable.sort(
        key=lambda core: (not core & 1, *(bool(core & cpus) for cpus in later), core & -core)
    )
    if wanted > len(movable):
        raise _too_few(cell, wanted, "for the host", cores, len(movable))
    own, movable = movable[:wanted], movable[wanted:]
    floating = wish.shared_cores
    if floating is None:
        part = fractions.Fraction(str(wish.shared_fraction)) * (len(cores) - wanted)
        floating = int(part + fractions.Fraction(1, 2))
    if floating > len(movable):
        raise _too_few(cell, floating, "shared", cores, len(movable))
    chosen, total = sum(movable[:floating]), sum(cores)
    return sum(own), chosen, total & ~(sum(own) | chosen)


def _too_few(cell: NumaCell, wanted: int, end: str, cores: list[int], left: int) -> InputError:
    return InputError(
        f"cell {cell.id}: {wanted} cores are wished {end}, and {left} of its {len(cores)} cores "
        f"(CPU {to_text(sum(cores)) or 'none'}) can be",
        f"at most {left}",
    )


def explicit(topology: Topology, sets: ExplicitSets, data_path_cpus: int = 0) -> CpuRoles:
    """Take both sets as they are given; the host has the CPUs of neither.

    Raises ``InputError`` for a list that cannot be read, or where both are missing.
    """
    shared, dedicated = (
        _listed(name, getattr(sets, name)) for name in ("cpu_shared_set", "cpu_dedicated_set")
    )
    if not shared | dedicated:
        raise InputError("no CPU is for guests", "cpu_shared_set, cpu_dedicated_set or both")
    polled = data_path_cpus & topology.online
    data_path = whole_cores(topology, polled) & topology.online & ~(shared | dedicated)
    return CpuRoles(
        shared, dedicated, topology.online & ~(shared | dedicated | data_path), data_path
    )


def _listed(name: str, text: str | None) -> int:
    if text is None:
        return 0
    try:
        cpus = parse_nova(text)
    except InputError as problem:
        raise problem.at(name) from None
    if not cpus:
        raise InputError("the list names no CPU", "a list of CPUs, or to leave it out", name)
    return cpus


def target_config(config: HostConfig, roles: CpuRoles, phase: str = "new") -> HostConfig:
    """Give the options of a host in a phase; what the phase does not decide on stays as it is.

    A host that is legacy today keeps its ``vcpu_pin_set`` in that phase, and the
    ``cpu_shared_set`` of its emulator threads.
    """
    others = dataclasses.replace(
        config,
        faults=tuple(fault for fault in config.faults if fault.option not in REPLACED),
        strays=tuple(
            stray
            for stray in config.strays
            if not any(stray.belongs.endswith(name) for name in REPLACED)
        ),
        origins={k: where for k, where in config.origins.items() if k not in REPLACED},
    )
    if phase == "legacy":
        return dataclasses.replace(
            others,
            vcpu_pin_set=config.vcpu_pin_set or to_text(roles.guests),
            cpu_shared_set=config.cpu_shared_set if config.vcpu_pin_set else None,
            cpu_dedicated_set=None,
        )
    return dataclasses.replace(
        others,
        vcpu_pin_set=None,
        reserved_host_cpus=0,
        cpu_shared_set=to_text(roles.shared) or None,
        cpu_dedicated_set=to_text(roles.dedicated) or None,
    )
