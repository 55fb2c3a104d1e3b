# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What several rules ask of a host."""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import CpuListError, parse_nova
from . import flavors, host_sets

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._model.host import Host
    from .rule import FlavorCase, FleetCase, HostCase

CPU_OPTIONS = ("vcpu_pin_set", "cpu_shared_set", "cpu_dedicated_set")
"""The options that list host CPUs."""


def read_options(case: HostCase) -> tuple[tuple[str, str], ...]:
    """List the CPU options that are set and that the host's release reads, with their values."""
    known = CPU_OPTIONS if case.release.dedicated_set else CPU_OPTIONS[:1]
    return tuple((name, value) for name in known if (value := getattr(case.host.config, name)))


def unconfigured(case: HostCase) -> bool:
    """Say whether no option bounds the CPUs of guests."""
    return not read_options(case)


def listed(case: HostCase, option: str) -> int:
    """List the CPUs of an option (bitmask); none where Nova cannot read it."""
    value = dict(read_options(case)).get(option)
    try:
        return parse_nova(value) if value else 0
    except CpuListError:
        return 0


def pinnable(case: HostCase) -> int:
    """List the CPUs for pinned vCPUs (bitmask), as far as options tell where Nova fails."""
    if case.sets is not None:
        return case.sets.pinnable
    return listed(case, "cpu_dedicated_set") or listed(case, "vcpu_pin_set")


def isolated(case: HostCase) -> int:
    """List the CPUs that the kernel keeps its scheduler off (bitmask)."""
    return isolated_on(case.host)


def isolated_on(host: Host) -> int:
    """List the same of a host alone."""
    told = host.isolation
    return (
        (host.topology.isolated or 0)
        | ((told.domain if told else None) or 0)
        | ((told.tuned_unbalanced if told else None) or 0)
        | ((host.cgroups.isolated if host.cgroups else None) or 0)
    )


def realtime(case: HostCase) -> bool:
    """Say whether a host is for realtime guests: by its intent, else by its kernel and tuned.

    Pinning and isolation alone make no realtime host.
    """
    host = case.host
    if host.intent:
        return host.intent == "realtime"
    profiles = (host.tuned_profile or "").split()
    preempts = host.kernel is not None and host.kernel.preempt_rt
    return bool(preempts) or any(name.startswith("realtime") for name in profiles)


def realtime_cpus(case: HostCase) -> int:
    """List the CPUs that a realtime host pins vCPUs to (bitmask); none where no option says so."""
    return pinnable(case) if realtime(case) and not unconfigured(case) else 0


def for_realtime(case: FleetCase) -> Iterator[tuple[HostCase, tuple[FlavorCase, ...]]]:
    """List the realtime hosts and those where realtime flavors land, each with these flavors."""
    for host, landing in host_sets.served(case):
        found = tuple(filter(flavors.realtime, landing))
        if found or realtime(host):
            yield host, found


def isolation_told(host: Host) -> bool:
    """Say whether it is known which CPUs the kernel isolates, none included."""
    told = host.isolation
    return host.topology.isolated is not None or (told is not None and told.arguments_known)


def cgroups(case: HostCase) -> int:
    """Give 2 for control groups of v2 alone, 1 where v1 is in use, 0 where that is unknown."""
    return (case.host.cgroups.version if case.host.cgroups else None) or 0


def without_tick(host: Host) -> int | None:
    """List the CPUs of ``nohz_full`` (bitmask), as sysfs or else the command line tells; None
    where both are unknown."""
    if host.kernel is not None and host.kernel.nohz_full is not None:
        return host.kernel.nohz_full
    told = host.isolation
    return told.nohz_full or 0 if told is not None and told.arguments_known else None


def pinned_here(case: FleetCase) -> dict[str, tuple[FlavorCase, ...]]:
    """Map the name of each host to the flavors that are pinned by themselves and land on it."""
    found: dict[str, tuple[FlavorCase, ...]] = {}
    for flavor in filter(flavors.pinned, case.flavors):
        if flavor.image.name:
            continue
        for host, outcome in zip(flavor.hosts, flavor.outcomes, strict=True):
            if host_sets.lands(outcome):
                name = host.host.name
                found[name] = (*found.get(name, ()), flavor)
    return found


def named(cases: tuple[FlavorCase, ...]) -> str:
    """Name a few flavors, with an image where none is among them without; see :func:`few`."""
    names: dict[str, str] = {}
    for case in sorted(cases, key=lambda each: bool(each.image.name)):
        with_image = f" with image {case.image.name}" if case.image.name else ""
        names.setdefault(case.flavor.name, f"{case.flavor.name}{with_image}")
    order = dict.fromkeys(case.flavor.name for case in cases)
    return f"flavor{'s' if len(names) > 1 else ''} {few([names[name] for name in order])}"


def few(names: Sequence[str]) -> str:
    """Name the first three, and say how many more."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"
