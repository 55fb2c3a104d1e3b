# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Known traps on the way between two releases, as data."""

from __future__ import annotations

import dataclasses
import typing as t

from .._nova.releases import affected, older, path, release

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .._model.host import Fleet


@dataclasses.dataclass(frozen=True, slots=True)
class Advisory:
    """One trap: what goes wrong between which releases, and what to do about it."""

    code: str
    """Number of the bug in Launchpad, or a word."""
    text: str
    advice: str


@dataclasses.dataclass(frozen=True, slots=True)
class _Trap:
    advisory: Advisory
    first: tuple[str, ...]
    """Releases that have it, as in ``releases.since``."""
    until: tuple[str, ...] = ()
    started_before: str | None = None
    """It concerns what was there before this release."""
    concerns: Callable[[Fleet, bool], bool] = lambda _fleet, _changes: True
    """Whether it is about this fleet; the second argument says whether options change."""


def _pinned(fleet: Fleet, _changes: bool) -> bool:
    return any(
        "dedicated" in flavor.extra_specs.get("hw:cpu_policy", "")
        for flavor in (*fleet.flavors, *(server.flavor for server in fleet.servers))
    )


def _numa(fleet: Fleet, _changes: bool) -> bool:
    keys = ("hw:numa_nodes", "hw:mem_page_size")
    return any(
        key in flavor.extra_specs and "hw:cpu_policy" not in flavor.extra_specs
        for flavor in (*fleet.flavors, *(server.flavor for server in fleet.servers))
        for key in keys
    )


def _powers(fleet: Fleet, _changes: bool) -> bool:
    return any(each.host.config.cpu_power_management for each in fleet.classes)


def _changes(_fleet: Fleet, changes: bool) -> bool:
    return changes


_TRAPS = (
    _Trap(
        Advisory(
            "1889633",
            "isolate guests land on new-style SMT hosts by the fallback query and take VCPU",
            "stop at no release without the fix (20.4.1, 21.1.1, 22.0.0); reconfigure after it",
        ),
        ("20.0.0",),
        ("20.4.1", "21.1.1", "22.0.0"),
        None,
        _pinned,
    ),
    _Trap(
        Advisory(
            "1952941",
            "pinned guests from before Victoria cannot be migrated or evacuated",
            "do not drain hosts on this release; go on to 23.2.0, 24.1.0, 25.0.0 or later first",
        ),
        ("22.0.0",),
        ("23.2.0", "24.1.0", "25.0.0"),
        "22.0.0",
        _pinned,
    ),
    _Trap(
        Advisory(
            "2080556",
            "guests with NUMA cells but no pinning from before Victoria do not start any more",
            "use 28.3.1, 29.2.1, 30.0.0 or later, or resize these guests before the upgrade",
        ),
        ("22.0.0",),
        ("28.3.1", "29.2.1", "30.0.0"),
        "22.0.0",
        _numa,
    ),
    _Trap(
        Advisory(
            "2043707",
            "nova-compute does not start with power management and no cpu_dedicated_set",
            "set cpu_dedicated_set or turn [libvirt] cpu_power_management off until 27.2.0, 28.0.1",
        ),
        ("27.0.0",),
        ("27.2.0", "28.0.1", "29.0.0"),
        None,
        _powers,
    ),
    _Trap(
        Advisory(
            "2056612",
            "the CPU that emulator policy isolate keeps may be powered down",
            "use 27.3.0, 28.1.0, 29.0.0 or later where power management is on",
        ),
        ("27.0.0",),
        ("27.3.0", "28.1.0", "29.0.0"),
        None,
        _powers,
    ),
    _Trap(
        Advisory(
            "1869804",
            "a live migration between hosts of different cpu_shared_set keeps the old CPUs",
            "cold-migrate floating guests between reconfigured and other hosts, or reboot them "
            "hard thereafter",
        ),
        ("20.0.0",),
        ("30.0.0",),
        None,
        _changes,
    ),
    _Trap(
        Advisory(
            "allocation-ratio",
            "new hosts start with 4 VCPU a CPU instead of 16, and memory ratio 1.0; those that "
            "are there keep theirs",
            "set [DEFAULT] initial_cpu_allocation_ratio where new hosts shall be as the old ones",
        ),
        ("27.0.0",),
        (),
        "27.0.0",
    ),
    _Trap(
        Advisory(
            "inventory-in-use",
            "nova-compute dies at its start where a class leaves the inventory while allocated",
            "run the allocation audit before each restart with other CPU options",
        ),
        ("26.0.0",),
        (),
        "26.0.0",
        _changes,
    ),
    _Trap(
        Advisory(
            "stein-record",
            "one record of a compute from before Train fails every pinned request",
            "delete the service records of hosts that are gone before the control services move",
        ),
        ("22.0.0",),
        (),
        "22.0.0",
        _pinned,
    ),
    _Trap(
        Advisory(
            "2152697",
            "pinned guests started before 33.0.0 lack iothread pins, and live migration fails",
            "reboot these guests hard before they are migrated live",
        ),
        ("33.0.0",),
        (),
        "33.0.0",
        _pinned,
    ),
)


def telling(fleet: Fleet, current: str, target: str, changes: bool) -> tuple[Advisory, ...]:
    """List the traps on the way from one release to another; ``changes`` says whether options of
    hosts change too.

    Raises ``InputError`` for a way back.
    """
    way = (current, *path(current, target))
    return *_too_old(fleet, current), *(
        trap.advisory
        for trap in _TRAPS
        if trap.concerns(fleet, changes)
        and any(affected(name, trap.first, trap.until) for name in way)
        and (trap.started_before is None or older(current, trap.started_before))
    )


def _too_old(fleet: Fleet, current: str) -> Iterator[Advisory]:
    """Tell of computes that the services of today would not start beside.

    Source: ``nova/utils.py``, ``raise_if_old_compute``.
    """
    control = release(current)
    found = [release(each.host.release, host=True) for each in fleet.classes]
    late = [each.name for each in found if each.service_version < control.oldest_compute]
    if late:
        option = "[workarounds] disable_compute_service_check_for_ffu"
        yield Advisory(
            "old-computes",
            f"no service of {control.name} starts beside computes of {min(late)}, that of a "
            "compute included",
            f"set {option} = true on every service until these computes are upgraded"
            if control.ffu_workaround
            else "upgrade these computes before any service is restarted",
        )
