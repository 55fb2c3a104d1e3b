# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CPU and memory part of the domain that Nova's libvirt driver defines for a guest.

Source throughout: ``nova/virt/libvirt/driver.py``, ``_get_guest_config`` and what it calls.
"""

from __future__ import annotations

import operator
import typing as t

from ...module_utils._read.cpu_list import ids, mask
from .._model.guest_xml import Backing, CpuModel, GuestXml, Scheduling, XmlCell
from .._model.server import CellPlace
from . import constraints, cpu_topology, image_properties, inventory, memory_encryption, startup
from .errors import NovaError

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .._model.flavor import Flavor, Image
    from .._model.guest import Guest
    from .._model.host import Host
    from .._model.host_cell import HostCell
    from .fit import Fitted
    from .image_properties import ImageProperties
    from .releases import Release

_QUOTAS = ("shares", "quota", "period")
_LIMITS = {"shares": (2, 262144), "quota": (1000, 17592186044415), "period": (1000, 1000000)}
"""The least and the most that libvirt takes of each, beside 0 and what is below."""
_EMULATED = {"aarch64": "cortex-a57", "ppc64le": "POWER8"}
"""CPU models of guests whose architecture is not their host's."""
_LOCKING = "HW_CPU_X86_AMD_SEV"
"""The trait of the one memory encryption that needs locked memory."""


def places_of(fitted: Fitted | None) -> tuple[CellPlace, ...]:
    """Write down where a fit puts a guest; nothing for a guest without NUMA topology."""
    if fitted is None:
        return ()
    return tuple(
        CellPlace(
            seat.cell,
            pinning.pins if pinning else {},
            mask(() if pinning is None or pinning.reserved is None else (pinning.reserved,)),
            seat.page_size_kb,
        )
        for seat, pinning in zip(fitted.seats, fitted.pinnings(), strict=True)
    )


def predict(
    flavor: Flavor,
    image: Image,
    guest: Guest | None,
    places: tuple[CellPlace, ...],
    host: Host,
    release: Release,
    fitted: Fitted | None = None,
    cells: tuple[HostCell, ...] | None = None,
) -> GuestXml:
    """Say what the driver writes for a guest at its place on a host.

    ``guest`` is the guest's NUMA topology, ``places`` has one entry for each of its cells; ``None``
    and ``()`` for a guest without. ``fitted`` tells more where the guest was just fitted: in
    releases with ``threads_from_pinning`` the sockets, cores and threads are exact with it only.
    ``cells`` are the host's, where they are worked out already.

    Raises :class:`NovaError` as :func:`check` does, as :func:`inventory.host_cells` does where the
    host's sets cannot be read, and as :func:`cpu_topology.best` does; ``NUMATopologyUnsupported``
    on an architecture where Nova knows no NUMA.
    """
    properties = image_properties.read(image, release)
    if guest is not None and host.architecture not in inventory.NUMA_ARCHITECTURES:
        raise NovaError("NUMATopologyUnsupported", f"no NUMA on {host.architecture}")
    configured = host.config.vcpu_pin_set or (release.shared_set and host.config.cpu_shared_set)
    shared = inventory.shared_cpus(host.config, host.topology, release) if configured else None
    cells = (cells or inventory.host_cells(host, release)) if guest else None
    check(flavor, properties, guest, host, release)
    found: dict[str, t.Any] = {
        "vcpus": flavor.vcpus,
        "iothreads": int(release.iothread),
        "backing": _backing(flavor, properties, places, cells, host, release),
        "cpu": _cpu(flavor, properties, host, release, fitted),
        **_quotas(flavor, host, release),
    }
    if guest is None:
        return GuestXml(cpuset=shared, **found)
    large = any(place.page_size_kb in _large_sizes(cells or ()) for place in places)
    if cells is None:
        return GuestXml(
            cpuset=shared, cells=_cells(guest, [cell.id for cell in guest.cells], large), **found
        )
    realtime = constraints.realtime_cpus(flavor, properties, release)
    fifo = Scheduling("fifo", host.config.realtime_scheduler_priority)
    tuned = _tune(guest, places, cells, realtime, host)
    return GuestXml(
        **found,
        **tuned,
        iothread_pins={1: tuned["emulator"]} if release.iothread else {},
        vcpu_scheduling=dict.fromkeys(ids(realtime or 0), fifo),
        cells=_cells(guest, _numbers(places, len(tuned["memnodes"])), large),
    )


def check(
    flavor: Flavor, image: ImageProperties, guest: Guest | None, host: Host, release: Release
) -> None:
    """Refuse what the driver refuses of a guest that has claimed its place.

    Raises ``Invalid`` where no CPU for shared emulator threads is online or, in releases that
    check the realtime mask no earlier, where it cannot be read; ``RealtimeMaskNotFoundOrInvalid``,
    ``MemoryPagesUnsupported``, ``UnsupportedHostCPUControlPolicy``; crashes with ``ValueError`` on
    a quota that is no number.
    """
    if guest is not None and guest.emulator_threads_policy == "share":
        shared = _shared_set(host, release)
        if shared is not None and not shared & host.topology.online:
            raise NovaError("Invalid", "no CPU of [compute] cpu_shared_set is online")
    if guest is not None:
        constraints.realtime_cpus(flavor, image, release)
    if (
        release.literal_realtime_mask
        and constraints.realtime_on(flavor)
        and constraints.emulator_threads_policy(flavor) == "share"
        and not host.config.cpu_shared_set
    ):
        raise NovaError(
            "RealtimeMaskNotFoundOrInvalid",
            "realtime with emulator policy share needs [compute] cpu_shared_set",
        )
    if host.config.file_backed_memory > 0 and guest and any(c.page_size_kb for c in guest.cells):
        raise NovaError(
            "MemoryPagesUnsupported",
            "[libvirt] file_backed_memory excludes guests with a page size",
        )
    quotas = [name for name in _QUOTAS if f"quota:cpu_{name}" in flavor.extra_specs]
    if not quotas:
        return
    if not _controls_cpus(host, release):
        raise NovaError(
            "UnsupportedHostCPUControlPolicy",
            f"quota:cpu_{quotas[0]} needs the cgroup controller cpu, which Nova does not find",
        )
    _quotas(flavor, host, release)


def refused_by_libvirt(
    flavor: Flavor, image: ImageProperties, guest: Guest | None, host: Host, release: Release
) -> str:
    """Say why libvirt refuses what the driver writes; "" where it does not.

    Source: libvirt ``src/conf/domain_conf.c``, ``virDomainDefPostParse`` and what it calls.
    """
    for name, value in _quotas(flavor, host, release).items():
        least, most = _LIMITS[name]
        checked = name != "shares" or release.libvirt_limits_shares
        if checked and value > 0 and not least <= value <= most:
            return f"quota:cpu_{name} is {value}, and libvirt takes {least} to {most}"
    if guest is None or not constraints.realtime_on(flavor):
        return ""
    priority = host.config.realtime_scheduler_priority
    if not 1 <= priority <= 99:
        return f"[libvirt] realtime_scheduler_priority is {priority}, and libvirt takes 1 to 99"
    if release.literal_realtime_mask:
        return ""
    everyone = (1 << flavor.vcpus) - 1
    realtime = constraints.realtime_cpus(flavor, image, release) or 0
    if realtime & ~everyone:
        return f"the realtime mask names vCPUs from {flavor.vcpus} on, which the guest has not"
    policy = guest.emulator_threads_policy
    offloaded = policy == "isolate" or (policy == "share" and host.config.cpu_shared_set)
    if realtime == everyone and not offloaded:
        return "every vCPU is realtime: none is left for the emulator threads"
    return ""


def floating_nowhere(
    guest: Guest | None, seats: Sequence[int], cells: tuple[HostCell, ...] | None
) -> str:
    """Say which host cell lacks shared CPUs for floating vCPUs: libvirt takes no empty list; ""
    where none does.

    ``seats`` are the ids of the host cells that the guest's cells are on, as far as known.
    """
    empty = {cell.id for cell in cells or () if not cell.cpuset}
    for cell, seat in zip(guest.cells if guest else (), seats, strict=False):
        if cell.cpuset and seat in empty:
            return f"cell {seat} has no shared CPU for vCPUs that float"
    return ""


def _shared_set(host: Host, release: Release) -> int | None:
    """Read the set of shared emulator threads; None where it is not set or not known yet."""
    if not release.dedicated_set:
        return None
    return startup.cpu_option(host.config.cpu_shared_set, "[compute] cpu_shared_set")


def _controls_cpus(host: Host, release: Release) -> bool:
    """Say whether Nova finds the cgroup controller ``cpu``; it does where nobody told.

    Source: ``nova/virt/libvirt/host.py``, ``Host.is_cpu_control_policy_capable``.
    """
    told = host.cgroups
    if told is None:
        return True
    hierarchy = told.version
    if hierarchy == _UNIFIED and not release.cgroup_v2_shares:
        return False
    return told.cpu_controller is not False


_UNIFIED = 2
"""Version of control groups."""


def _quotas(flavor: Flavor, host: Host, release: Release) -> dict[str, int]:
    """Give shares, quota and period. Source: ``_update_guest_cputune``."""
    if not _controls_cpus(host, release):
        return {}
    found = {"shares": 1024 * flavor.vcpus} if release.default_shares else {}
    for name in _QUOTAS:
        text = flavor.extra_specs.get(f"quota:cpu_{name}")
        if text is not None:
            found[name] = image_properties.number(f"quota:cpu_{name}", text)
    return found


def _tune(
    guest: Guest,
    places: tuple[CellPlace, ...],
    cells: tuple[HostCell, ...],
    realtime: int | None,
    host: Host,
) -> dict[str, t.Any]:
    """Tie vCPUs, emulator threads and memory. Source: ``_get_guest_numa_config``."""
    by_id = {cell.id: cell for cell in cells}
    pairs = [
        (cell, by_id[place.cell])
        for cell, place in zip(guest.cells, places, strict=False)
        if place.cell in by_id
    ]
    shared = startup.cpu_option(host.config.cpu_shared_set, "[compute] cpu_shared_set")
    pins: dict[int, int] = {}
    memnodes: dict[int, int] = {}
    emulator = 0
    for index, (cell, host_cell) in enumerate(pairs):
        # Pins are looked up by position, also where an earlier cell has no host cell.
        place = places[index]
        memnodes[index] = 1 << host_cell.id
        for vcpu in ids(cell.cpuset | cell.pcpuset):
            pins[vcpu] = 1 << place.pins[vcpu] if vcpu in place.pins else host_cell.cpuset
            if guest.emulator_threads_policy == "isolate":
                emulator |= place.reserved
            elif guest.emulator_threads_policy == "share" and shared:
                emulator |= shared & host.topology.online
            elif not (realtime or 0) >> vcpu & 1:
                emulator |= pins[vcpu]
    return {
        "emulator": emulator,
        "vcpu_pins": dict(sorted(pins.items(), key=operator.itemgetter(0))),
        "memory_mode": "strict",
        "host_cells": mask(host_cell.id for _cell, host_cell in pairs),
        "memnodes": memnodes,
    }


def _numbers(places: tuple[CellPlace, ...], tied: int) -> list[int]:
    """Number the cells: those that are tied to host cells anew, further ones as they are."""
    return [*range(tied), *(place.cell for place in places[tied:])]


def _cells(guest: Guest, numbers: Iterable[int], large: bool) -> tuple[XmlCell, ...]:
    return tuple(
        XmlCell(number, cell.cpuset | cell.pcpuset, cell.memory_kb, large)
        for number, cell in zip(numbers, guest.cells, strict=True)
    )


def _large_sizes(cells: tuple[HostCell, ...]) -> list[int]:
    """List the page sizes of the first cell without the smallest, which do not count as large."""
    return sorted(pool.size_kb for pool in cells[0].pages)[1:] if cells else []


def _backing(
    flavor: Flavor,
    image: ImageProperties,
    places: tuple[CellPlace, ...],
    cells: tuple[HostCell, ...] | None,
    host: Host,
    release: Release,
) -> Backing:
    """Source: ``_get_guest_memory_backing_config``."""
    smallest = min((pool.size_kb for pool in cells[0].pages), default=0) if cells else 0
    known = {cell.id for cell in cells or ()}
    pages = {
        index: place.page_size_kb
        for index, place in enumerate(places)
        if place.page_size_kb and place.page_size_kb > smallest and place.cell in known
    }
    realtime = constraints.realtime_on(flavor)
    file = host.config.file_backed_memory > 0
    return Backing(
        pages,
        nosharepages=realtime,
        locked=realtime
        or constraints.locked_memory(flavor, image, release)
        or memory_encryption.trait(flavor, image) == _LOCKING,
        file=file,
        discard=file,
    )


def _mode(host: Host) -> str | None:
    """Source: ``_get_guest_cpu_model_config``."""
    if host.config.cpu_mode:
        return None if host.config.cpu_mode == "none" else host.config.cpu_mode
    return "host-passthrough" if host.architecture == "aarch64" else "host-model"


def _cpu(
    flavor: Flavor,
    image: ImageProperties,
    host: Host,
    release: Release,
    fitted: Fitted | None,
) -> CpuModel:
    """Source: ``_get_guest_cpu_config``."""
    mode, model = _mode(host), next(iter(host.config.cpu_models), None)
    if release.emulates and image.architecture not in (None, host.architecture):
        mode, model = None, _EMULATED.get(image.architecture)
    narrowing = fitted if release.threads_from_pinning else None
    topology = cpu_topology.best(flavor, image, fitted=narrowing)
    address_mode = flavor.extra_specs.get("hw:maxphysaddr_mode") or image.address_mode
    if not release.address_bits or not address_mode:
        return CpuModel(mode, model, topology)
    asked = flavor.extra_specs.get("hw:maxphysaddr_bits")
    bits = image_properties.number("hw:maxphysaddr_bits", asked) if asked else image.address_bits
    return CpuModel(mode, model, topology, address_mode, bits)
