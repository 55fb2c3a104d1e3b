# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a host is on the way to ``cpu_dedicated_set``, and its next step."""

from __future__ import annotations

import dataclasses
import enum
import typing as t

from .._nova import compute, inventory
from .._nova.errors import NovaError
from .._nova.schedule import HostView, view
from .._rules import host_sets
from .._rules.audit import errors, findings
from .._rules.cases import host_case
from .cpu_sets import CpuRoles, target_config

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .._model.host import Fleet, Host
    from .._nova.cloud import Cloud
    from .._nova.resident import Resident


_WORKED_OUT = (
    "move to cpu_shared_set and cpu_dedicated_set, which upgrade_plan and render_config work out"
)


class Phase(enum.StrEnum):
    """Phases of a host."""

    LEGACY = "legacy"
    """Pins guests to CPUs that it reports as VCPU."""
    HYBRID = "hybrid"
    """Its options say one thing; Placement, the record or a server on it still says another."""
    NEW = "new"
    """Pinned guests have dedicated CPUs, and hold PCPU."""
    SHARED_ONLY = "shared only"
    """Takes floating guests alone."""
    BROKEN = "broken"
    """Its nova-compute does not start, or has never reported."""


def phase_of(seen: HostView, residents: Iterable[Resident]) -> Phase:
    """Say which phase a host is in, with the servers on it.

    Whether a floating server was started before the sets were, and still runs on all CPUs, is not
    known to Nova: that does not count here.
    """
    if seen.fault or seen.sets is None or seen.provider is None:
        return Phase.BROKEN
    here = tuple(residents)
    if not _settled(seen, here) or wrongly_held(seen, here):
        return Phase.HYBRID
    if seen.sets.legacy:
        return Phase.LEGACY
    return Phase.NEW if seen.sets.dedicated else Phase.SHARED_ONLY


def _settled(seen: HostView, residents: Sequence[Resident]) -> bool:
    """Say whether record and provider are those that the options give, and stay so."""
    if seen.provider is None or seen.cells != seen.books:
        return False
    offered = inventory.inventories(seen.host, seen.release)
    known = seen.provider.inventories
    return (
        known.keys() == offered.keys()
        and all(known[name].total == offered[name].total for name in offered)
        and compute.update(seen, residents).clean
    )


def wrongly_held(seen: HostView, residents: Iterable[Resident]) -> tuple[Resident, ...]:
    """List the servers with policy dedicated that hold VCPU on a host with dedicated CPUs.

    No restart moves them to PCPU: the reshape is over once there is PCPU inventory.
    """
    if seen.provider is None or "PCPU" not in seen.provider.inventories:
        return ()
    return tuple(
        each for each in residents if "dedicated" in each.policies and each.allocation.get("VCPU")
    )


def next_step(seen: HostView, residents: Iterable[Resident]) -> str:
    """Say in one line what is to be done next on a host; "nothing" where it is done."""
    here = tuple(residents)
    phase = phase_of(seen, here)
    if phase is Phase.BROKEN:
        return f"mend its options and start nova-compute, which fails with {seen.fault}"
    if phase is Phase.LEGACY:
        return _conversion(seen, here)
    if phase is Phase.HYBRID:
        return _completion(seen, here)
    return "nothing"


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """Hosts of one phase that have the same step before them."""

    phase: Phase
    step: str
    hosts: tuple[str, ...]


def standings(fleet: Fleet, cloud: Cloud) -> tuple[Standing, ...]:
    """Give each host its phase and its next step."""
    found: dict[tuple[Phase, str], list[str]] = {}
    idle: dict[t.Any, tuple[Phase, str]] = {}
    for place, each in enumerate(fleet.classes):
        for name in each.names:
            seen, here = cloud.hosts[name], tuple(cloud.residents[name].values())
            # Hosts without servers are often equal; those with servers hardly ever are.
            state = None if here else state_of(place, seen)
            key = idle.get(state) or (phase_of(seen, here), next_step(seen, here))
            if state:
                idle[state] = key
            found.setdefault(key, []).append(name)
    return tuple(Standing(*key, tuple(names)) for key, names in found.items())


def state_of(place: int, seen: HostView) -> t.Any:
    """Give what hosts of one class without servers that are decided on alike have in common."""
    used = seen.provider.used.items() if seen.provider else ()
    return place, seen.books, frozenset(used)


def converted(seen: HostView) -> Host:
    """Give a legacy host with both sets, out of the CPUs that it pins to now.

    Of each cell a core becomes shared and the rest dedicated, which keeps what servers hold.
    """
    among = seen.sets.pinnable if seen.sets else 0
    held = sum(cell.pinned_cpus for cell in seen.books or ())
    roles = CpuRoles(*host_sets.halves(seen.host.topology, among, held), host=0)
    return dataclasses.replace(seen.host, config=target_config(seen.host.config, roles))


def _conversion(seen: HostView, residents: Sequence[Resident]) -> str:
    if not seen.release.dedicated_set:
        return "upgrade nova-compute to Train or newer, with its options as they are"
    then = converted(seen)
    refused = errors(findings(host_case(then), f"host {then.name}"))
    if refused:
        codes = ", ".join(dict.fromkeys(each.code for each in refused))
        return f"{_WORKED_OUT} (against plain halves: {codes})"
    problem = _problem(compute.start(then, residents, seen))
    sets = " and ".join(
        f"{name} = {value}"
        for name in ("cpu_shared_set", "cpu_dedicated_set")
        if (value := getattr(then.config, name))
    )
    if problem:
        return f"{_removal(then, seen, residents, problem)}, then set [compute] {sets}"
    gone = [
        name for name in ("vcpu_pin_set", "reserved_host_cpus") if getattr(seen.host.config, name)
    ]
    unset = f", unset {' and '.join(gone)}" if gone else ""
    return f"set [compute] {sets}{unset}, restart nova-compute"


def _completion(seen: HostView, residents: Sequence[Resident]) -> str:
    wrong = wrongly_held(seen, residents)
    if wrong:
        return f"cold migrate {_named(wrong)} to hosts with free PCPU: VCPU is allocated instead"
    problem = _problem(compute.start(seen.host, residents, seen))
    if problem:
        return f"{_removal(seen.host, seen, residents, problem)}, then restart nova-compute"
    return "restart nova-compute"


def _problem(start: compute.Start) -> NovaError | None:
    return start.refusal or start.failure


def _removal(host: Host, seen: HostView, residents: Sequence[Resident], problem: NovaError) -> str:
    """Say what has to go before nova-compute runs with the options of ``host``."""
    empty = view(dataclasses.replace(host, usage=(), allocated={}))
    leaving = compute.misfits(empty, seen, residents)
    if leaving:
        return f"migrate {_named(leaving)} ({problem})"
    return f"repair what nova-compute would fail with ({problem})"


def _named(residents: Sequence[Resident]) -> str:
    names = ", ".join(each.consumer for each in residents[:3])
    more = f" and {len(residents) - 3} more" if len(residents) > 3 else ""
    return f"server{'s' if len(residents) > 1 else ''} {names}{more}"
