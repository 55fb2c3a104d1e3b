# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nova's releases, and every behaviour that changed between them, as data.

The engine asks a :class:`Release` for a behaviour by name; versions are compared nowhere else.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import typing as t

from ...module_utils._read.errors import InputError, quoted

SERIES = {
    13: ("mitaka",),
    14: ("newton",),
    15: ("ocata",),
    16: ("pike",),
    17: ("queens",),
    18: ("rocky",),
    19: ("stein",),
    20: ("train",),
    21: ("ussuri",),
    22: ("victoria",),
    23: ("wallaby",),
    24: ("xena",),
    25: ("yoga",),
    26: ("zed",),
    27: ("2023.1", "antelope"),
    28: ("2023.2", "bobcat"),
    29: ("2024.1", "caracal"),
    30: ("2024.2", "dalmatian"),
    31: ("2025.1", "epoxy"),
    32: ("2025.2", "flamingo"),
    33: ("2026.1", "gazpacho"),
    34: ("2026.2", "hibiscus", "master"),
}
"""Major version to the names of its series. Those before :data:`OLDEST` only as the release of a
host that was not upgraded yet."""

OLDEST, NEWEST = 20, 34

SERVICE_VERSIONS = dict(
    enumerate(
        (9, 15, 16, 22, 30, 35, 37, 40, 51, 53, 56, 60, 61, 64, 66, 66, 67, 67, 68, 70, 72, 74), 13
    )
)
"""Major version to the version that its services report.

Source: ``nova/objects/service.py``, ``SERVICE_VERSION``."""

OLDEST_COMPUTES = dict(enumerate((52, 54, 57, 61, 61, 66, 66, 66, 66, 68, 68, 72), 23))
"""Major version to the oldest service version of a compute beside which its services start.

Source: ``nova/objects/service.py``, ``OLDEST_SUPPORTED_SERVICE_VERSION``."""

MICROVERSIONS = dict(
    enumerate((79, 87, 87, 88, 90, 90, 93, 95, 95, 96, 96, 100, 100, 103, 104), OLDEST)
)
"""Major version to the newest microversion of its compute API, ``2.N``.

Source: ``nova/api/openstack/compute/rest_api_version_history.rst``."""

SLURP = frozenset((27, 29, 31, 33))
"""Major versions from which an upgrade may skip the next release."""

LATEST = {
    20: "20.6.1",
    21: "21.2.4",
    22: "22.4.0",
    23: "23.2.2",
    24: "24.2.1",
    25: "25.3.0",
    26: "26.3.0",
    27: "27.5.1",
    28: "28.3.1",
    29: "29.4.0",
    30: "30.3.0",
    31: "31.3.1",
    32: "32.2.1",
    33: "33.0.2",
    34: "34.0.0",
}
"""Major version to its newest point release."""


def since(*first: str, until: tuple[str, ...] = ()) -> t.Any:
    """Declare a behaviour by the first point release of each series that has it.

    The last one stands for all later series too; ``until`` names, in the same way, the first
    releases that have it no more.
    """
    return dataclasses.field(metadata={"since": first, "until": until})  # pylint: disable=invalid-field-call


@dataclasses.dataclass(frozen=True)
class Release:
    """One point release of Nova and how it behaves."""

    name: str
    """The point release, ``27.1.0``."""

    service_version: int
    """The version that its services report, which min-version gates look at."""
    oldest_compute: int
    """The oldest service version of a compute beside which its services start; 0 for any."""

    shared_set: bool = since("18.0.0")
    """Has ``[compute] cpu_shared_set``."""
    dedicated_set: bool = since("20.0.0")
    """Has ``[compute] cpu_dedicated_set`` and PCPU inventory; the shared set bounds floating
    guests; the trait ``HW_CPU_HYPERTHREADING`` is reported (8da70ef95e, 1ecb141da1)."""
    packing_option: bool = since("25.0.0")
    """Sorts host cells before the fit; has the option that says how (d13412648d)."""
    packs_by_default: bool = since("25.0.0", until=("26.0.0",))
    """Packs host cells where the option is unset (e76ec7af4d)."""
    lean_initial_ratios: bool = since("27.0.0")
    """Starts with CPU ratio 4.0 and memory ratio 1.0, before with 16.0 and 1.5 (1260cdd492)."""
    power_management: bool = since("27.0.0")
    """Dedicated CPUs may be offline under ``[libvirt] cpu_power_management`` (96f9518096)."""
    power_management_without_dedicated: bool = since("27.2.0", "28.0.1", "29.0.0")
    """Starts with power management and no dedicated set (b1a0aee1ab)."""
    powers_emulator_cpu: bool = since("27.3.0", "28.1.0", "29.0.0")
    """Powers up the CPU kept for emulator threads too (bug 2056612)."""
    spares_cpu0: bool = since("27.2.0", "28.0.1", "29.0.0")
    """Never powers down CPU 0 (0b9d8cee58)."""
    judges_online_governors: bool = since("27.5.0", "28.3.0", "29.2.0", "30.0.0")
    """Power management by CPU state compares the governors of online dedicated CPUs alone."""
    keeps_sockets: bool = since("27.5.1", "28.3.1", "29.2.1", "30.0.0")
    """Knows the socket of CPUs that it powered down."""
    default_shares: bool = since("13.0.0", until=("25.3.0", "26.0.0"))
    """Writes CPU shares of 1024 for each vCPU into every domain, where the host has the cgroup
    controller for it."""
    cgroup_v2_shares: bool = since("25.2.1", "26.2.1", "27.1.0")
    """Sees the CPU controller of cgroups v2 too; before, only that of v1."""
    runs_on_old_python: bool = since("13.0.0", until=("21.0.0",))
    """Its computes run on CPython 3.7 or older, which orders thread siblings otherwise."""

    dies_of_inventory_in_use: bool = since("26.0.0")
    """A class that leaves the inventory while it is allocated fails the whole update, and the
    start with it; before, the old inventory just stays."""
    live_moves_shared: bool = since("30.0.0")
    """A live migration gives floating vCPUs the shared CPUs of the new host (2c3f4f2da5)."""
    libvirt_limits_shares: bool = since("31.0.0")
    """Needs a libvirt that refuses shares out of range; an older one lets the kernel clamp them."""
    needs_siblings: bool = since("22.0.0")
    """Crashes on a CPU without siblings."""
    live_keeps_scheduling: bool = since("20.4.0", "21.1.0", "22.0.0")
    """A live migration writes the realtime scheduling of all vCPUs anew, before of the first."""
    live_needs_iothread_pin: bool = since("33.0.0", until=("34.0.0",))
    """A live migration fails for a guest with NUMA topology and no pinned I/O thread (bug
    2152697)."""
    iothread: bool = since("33.0.0")
    """Gives each guest an I/O thread, pinned as its emulator threads are."""
    emulates: bool = since("25.0.0")
    """Gives a guest of another architecture than its host's no CPU mode."""
    address_bits: bool = since("28.0.0")
    """Has ``hw:maxphysaddr_mode`` and ``hw:maxphysaddr_bits``."""
    owner_trait: bool = since("34.0.0")
    """Reports the trait ``OWNER_NOVA``, and asks for it once every compute does."""
    ffu_workaround: bool = since("25.0.0")
    """``[workarounds] disable_compute_service_check_for_ffu`` lets it start beside old computes."""

    image_shared_policy: bool = since("20.2.0", "21.0.0")
    """``hw_cpu_policy=shared`` of an image counts as a policy (569ad1402e)."""
    digits_page_size: bool = since("20.4.0", "21.1.0", "22.0.0")
    """Page sizes are plain digits or unit text; before, whatever ``int`` reads (f76d09b19d)."""
    policy_first: bool = since("22.0.0")
    """Policies are checked before NUMA; pinned guests heed NUMA lists without a node count; cells
    of shared guests carry their policy (eedac34b21)."""
    mixed_policy: bool = since("22.0.0")
    """Has policy mixed, ``hw:cpu_dedicated_mask`` and pinned vCPUs apart (ba3388d666)."""
    literal_realtime_mask: bool = since("22.0.0")
    """A realtime mask without ``^`` is taken literally and checked (9fc63c7644, b065974187);
    it may be left out where an emulator policy is set (f5aa144593)."""
    locked_memory: bool = since("26.0.0")
    """Has ``hw:locked_memory`` (572c2b18e2)."""
    encryption_in_constraints: bool = since("34.0.0")
    """Checks memory encryption within the constraints too (d4a4dbd6bf)."""
    pci_affinity: bool = since("21.0.0")
    """Has ``hw:pci_numa_affinity_policy``."""
    socket_affinity: bool = since("23.0.0")
    """Has PCI affinity policy ``socket`` and knows the socket of a cell (95b9481aa4)."""
    flavor_image_conflict: bool = since("25.0.0")
    """A PMU conflict is ``FlavorImageConflict``; the VIF multiqueue wish is checked."""

    encryption_trait: bool = since("32.0.0")
    """Asks for the trait of the memory encryption model."""
    needs_pcpuset: bool = since("22.0.0")
    """The filter crashes on the record of a compute from before Train."""
    counts_missing_mask: bool = since("23.0.0")
    """Asks for no PCPU where policy mixed lacks its mask; before, it crashes."""
    any_suffix: bool = since("21.0.0")
    """Request groups may bear any suffix, before only numbers."""
    extra_spec_validation: bool = since("21.0.0")
    """Microversion 2.86 checks the extra specs of new flavors."""
    max_topology_validator: bool = since("30.3.0", "31.2.0", "32.0.0")
    """The check of new flavors knows ``hw:cpu_max_*`` by its right name (4119634bf1)."""
    literal_mask_validator: bool = since("22.0.0")
    """The check of new flavors accepts a realtime mask without ``^``."""

    isolate_guard: bool = since("20.4.1", "21.1.1", "22.0.0")
    """Isolate refuses new-style hosts with SMT (bug 1889633, 9c27033204)."""
    mixed_counts_shared: bool = since("23.0.0")
    """Mixed guests are held against shared CPUs and limits (82528c83ac)."""
    fit_caches: bool = since("26.0.0")
    """Remembers which cells fit, by ids that it rewrites meanwhile (099a6f63af, a defect)."""
    empty_pinning: bool = since("27.1.0", "28.0.0")
    """A mixed cell without pinned vCPU fits (cffe3971ce)."""
    pinned_memory_by_pages: bool = since("30.0.0")
    """Pinned guests without page size need free small pages; before, free memory (f14c16af82)."""
    threads_from_pinning: bool = since("20.0.0", until=("23.1.0", "24.0.0"))
    """The pins narrow the guest's CPU topology (removed by 387823b36d)."""


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _reached(version: tuple[int, ...], first: tuple[str, ...]) -> bool:
    return any(
        version >= entry and (version[0] == entry[0] or entry == _version(first[-1]))
        for entry in map(_version, first)
    )


_ACCEPTED = f"a point release, {OLDEST}.0.0 to {NEWEST}.0.0, or a series such as 2025.1 or epoxy"
_POINT_RELEASE = re.compile(r"\d{2}(\.\d{1,2}){0,2}")


@functools.cache
def release(text: str, *, host: bool = False) -> Release:
    """Look up a release by point release (``27.1.0``) or series (``2023.1``, ``antelope``).

    A series, or a major version alone, stands for its first release: what only later point
    releases fix is not taken for granted. ``host`` also lets in the series before Train, which a
    host may still run while the control plane does not.

    Raises ``InputError`` for anything else.
    """
    wanted = text.strip().lower().removeprefix("stable/")
    series = [major for major, names in SERIES.items() if wanted in names]
    if not series and not _POINT_RELEASE.fullmatch(wanted):
        raise InputError(f"{quoted(text)} is no release of Nova", _ACCEPTED)
    version = (series[0],) if series else _version(wanted)
    version += (0,) * (3 - len(version))
    if not (min(SERIES) if host else OLDEST) <= version[0] <= NEWEST:
        raise InputError(f"Nova {quoted(text)} is not known", _ACCEPTED)
    behaviour = {
        field.name: _reached(version, field.metadata["since"])
        and not _reached(version, field.metadata["until"])
        for field in dataclasses.fields(Release)
        if field.metadata
    }
    major = version[0]
    return Release(
        ".".join(map(str, version)),
        SERVICE_VERSIONS[major],
        OLDEST_COMPUTES.get(major, 0),
        **behaviour,
    )


def by_microversion(newest: tuple[int, int]) -> tuple[str, ...]:
    """List the first releases of the series whose compute API has this as its newest microversion.

    None for one that belongs to no release: that of a development version, or a later one.
    """
    return tuple(f"{major}.0.0" for major, minor in MICROVERSIONS.items() if newest == (2, minor))


def affected(text: str, first: tuple[str, ...], until: tuple[str, ...] = ()) -> bool:
    """Say whether a release has what came and went with the given point releases, as in
    :func:`since`."""
    version = _version(release(text, host=True).name)
    return _reached(version, first) and not _reached(version, until)


def older(text: str, other: str) -> bool:
    """Say whether one release came before another."""
    first, second = (_version(release(name, host=True).name) for name in (text, other))
    return first < second


def same_series(text: str, other: str) -> bool:
    """Say whether two releases are point releases of one series."""
    first, second = (_version(release(name, host=True).name) for name in (text, other))
    return first[0] == second[0]


def path(current: str, target: str) -> tuple[str, ...]:
    """List the releases that an upgrade goes through: each next one, or SLURP to SLURP.

    The last one is ``target``, those between are the newest of their series.

    Raises ``InputError`` for a target that is older than ``current``.
    """
    here, there = release(current), release(target)
    first, last = _version(here.name), _version(there.name)
    if last < first:
        raise InputError(f"Nova {there.name} is older than {here.name}", "no downgrade")
    found: list[str] = []
    major = first[0]
    while major < last[0]:
        major += 2 if major in SLURP and major + 2 <= last[0] else 1
        found.append(LATEST[major] if major < last[0] else there.name)
    if not found and last > first:
        found.append(there.name)
    return tuple(found)
