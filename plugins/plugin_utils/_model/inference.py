# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Extra specs inferred from what Nova made of them: the XML of a domain.

Before release 32 the XML has no extra specs. Of specs that make the same XML the plainest are
taken; traits and whatever else leaves no trace in CPUs and memory stay unknown.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import operator
import typing as t

from ...module_utils._read.cpu_list import ids, mask, size, to_text

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from .domain import Domain
    from .flavor import Flavor
    from .guest_xml import GuestXml


def flavor(domain: Domain, shared: int | None = None, cells: Iterable[int] = ()) -> Flavor | None:
    """Give the flavor of a domain, its extra specs inferred where the XML does not tell them.

    None where the XML tells no flavor, or nobody read it. The rest is as in :func:`extra_specs`.
    """
    bare = domain.nova.bare if domain.nova else None
    if domain.flavor is not None or bare is None or domain.xml is None:
        return domain.flavor
    return dataclasses.replace(bare, extra_specs=extra_specs(domain.xml, shared, cells))


def pins(xml: GuestXml, cells: Iterable[int] = ()) -> dict[int, int]:
    """Map the pinned vCPUs to their host CPUs; the others float over a set.

    A pinned vCPU has a CPU for itself, which is not all that vCPUs float over in its host cell; no
    vCPU under realtime floats. The rest is as in :func:`extra_specs`.
    """
    holders = collections.Counter(xml.vcpu_pins.values())
    alone, realtime = set(cells), xml.realtime
    return {
        vcpu: cpu
        for vcpu, cpu in xml.pins.items()
        if holders[1 << cpu] == 1 and (realtime >> vcpu & 1 or 1 << cpu not in alone)
    }


def extra_specs(
    xml: GuestXml, shared: int | None = None, cells: Iterable[int] = ()
) -> dict[str, str]:
    """Infer the extra specs from what they made of a domain.

    ``shared`` is the set of shared CPUs of its host, None where that is unknown, and ``cells`` are
    the CPUs that vCPUs float over in each of the host's cells.
    """
    pinned = mask(pins(xml, cells))
    return {
        **_cpu_policy(xml, pinned),
        **_emulator_policy(xml, pinned, shared),
        **_numa(xml),
        **_memory(xml),
        **_quotas(xml),
    }


def _cpu_policy(xml: GuestXml, pinned: int) -> dict[str, str]:
    if not pinned:
        return {}
    everyone = (1 << xml.vcpus) - 1
    if pinned == everyone:
        return {"hw:cpu_policy": "dedicated", **_realtime(xml)}
    specs = {"hw:cpu_policy": "mixed"}
    # The realtime vCPUs of a mixed guest are its pinned ones, and no second mask may name these.
    if xml.realtime == pinned:
        return {**specs, **_realtime(xml)}
    return {**specs, "hw:cpu_dedicated_mask": to_text(pinned)}


def _realtime(xml: GuestXml) -> dict[str, str]:
    """Write the realtime vCPUs as all but some, which every release reads alike.

    Where they are all, the one left out is none of the guest's. Source: ``nova/virt/hardware.py``,
    ``get_realtime_cpu_constraint``, and ``vcpus_realtime_topology`` before release 22.
    """
    everyone = (1 << xml.vcpus) - 1
    realtime = xml.realtime & everyone
    if not realtime:
        return {}
    others = to_text(everyone & ~realtime or 1 << xml.vcpus)
    return {
        "hw:cpu_realtime": "yes",
        "hw:cpu_realtime_mask": ",".join(f"^{run}" for run in others.split(",")),
    }


def _emulator_policy(xml: GuestXml, pinned: int, shared: int | None) -> dict[str, str]:
    """Tell the policy from the CPUs of the emulator: without one, those of the ordinary vCPUs.

    Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``.
    """
    emulator = xml.emulator or 0
    ordinary = _union(cpus for vcpu, cpus in xml.vcpu_pins.items() if not xml.realtime >> vcpu & 1)
    if not emulator or emulator == ordinary:
        return {}
    if emulator == shared:
        return {"hw:emulator_threads_policy": "share"}
    if not pinned or emulator & _union(xml.vcpu_pins[vcpu] for vcpu in ids(pinned)):
        return {}
    alone = size(emulator) == 1 and not emulator & (shared or 0)
    return {"hw:emulator_threads_policy": "isolate" if alone else "share"}


def _union(sets: Iterable[int]) -> int:
    return functools.reduce(operator.or_, sets, 0)


def _numa(xml: GuestXml) -> dict[str, str]:
    if not xml.cells:
        return {}
    specs = {"hw:numa_nodes": str(len(xml.cells))}
    if len({(size(cell.vcpus), cell.memory_kb >> 10) for cell in xml.cells}) > 1:
        for index, cell in enumerate(xml.cells):
            specs[f"hw:numa_cpus.{index}"] = to_text(cell.vcpus)
            specs[f"hw:numa_mem.{index}"] = str(cell.memory_kb >> 10)
    return specs


def _memory(xml: GuestXml) -> dict[str, str]:
    """Tell page size and locking; memory that is locked without realtime needs some page size."""
    sizes = set(xml.backing.pages.values())
    specs = {"hw:mem_page_size": str(sizes.pop())} if len(sizes) == 1 else {}
    if xml.backing.locked and not xml.realtime:
        return {"hw:mem_page_size": "small", **specs, "hw:locked_memory": "true"}
    return specs


def _quotas(xml: GuestXml) -> dict[str, str]:
    # Older releases write shares for every domain: 1024 for each vCPU.
    shares = None if xml.shares == 1024 * xml.vcpus else xml.shares
    told = {"shares": shares, "quota": xml.quota, "period": xml.period}
    return {f"quota:cpu_{key}": str(value) for key, value in told.items() if value is not None}
