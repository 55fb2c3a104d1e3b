# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How recordings of the driver's domain XML are decided by the engine, and when both agree."""

from __future__ import annotations

import typing as t
import xml.etree.ElementTree as ET

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import (
    ids,
    mask,
    parse_nova,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import HostConfig
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor, Image
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest import Guest, GuestCell
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import CellUsage, Host
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.kernel import Cgroups
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import CellPlace
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.topology import (
    Cpu,
    NumaCell,
    PagePool,
    Topology,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import (
    constraints,
    guest_xml,
    inventory,
    xml_form,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.fit import fit

from . import kinds

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host_cell import HostCell
    from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import Release

    Cells = tuple[HostCell, ...] | None

Data = dict[str, t.Any]

STAGES = {"flavor": "api", "api": "api", "scheduler": "filter", "ok": "ok"}
COMPUTE = {"_get_host_numa_topology": "startup", "_get_guest_config": "driver"}
OPTIONS = {
    "vcpu_pin_set",
    "cpu_shared_set",
    "cpu_dedicated_set",
    "reserved_host_cpus",
    "packing_host_numa_cells_allocation_strategy",
    "cpu_power_management",
    "realtime_scheduler_priority",
    "file_backed_memory",
    "cpu_mode",
    "cpu_models",
}


class _Refused(Exception):
    """A stage that does not let the guest through."""

    def __init__(self, stage: str, error: str) -> None:
        super().__init__(stage, error)
        self.stage, self.error = stage, error


def compare(case: Data, recorded: Data, release: Release) -> kinds.Compared:
    """Hold a recorded verdict against ours; the XML is predicted for the recorded pins."""
    theirs = _recorded(recorded)
    ours = decide(case, release, recorded.get("numa_topology"))
    cores = {
        cpu: min(core)
        for cell in ours.get("host_topology") or ()
        for core in cell["siblings"]
        for cpu in core
    }
    sides = (_reduced(theirs, cores), _reduced({k: ours.get(k) for k in theirs}, cores))
    pins = (_pins(theirs), _pins(ours))
    return kinds.Compared(sides, sides[0] == sides[1], bool(pins[0]), pins[0] == pins[1] != [])


def decide(case: Data, release: Release, seated: Data | None) -> Data:
    """Decide what comes of a case; ``seated`` is the topology whose pins the XML is made for."""
    ours: Data = {"stage": "ok", "error": None, "xml": None, "numa_topology": None}
    try:
        _decide(case, release, seated, ours)
    except _Refused as refused:
        ours |= {"stage": refused.stage, "error": refused.error}
    return ours


def _decide(case: Data, release: Release, seated: Data | None, ours: Data) -> None:
    flavor = _flavor(case)
    image = Image("img", (case.get("image") or {}).get("properties") or {})
    host = _host(case, release)
    if case.get("numa_topology"):
        guest, places = _explicit(case)
        fitted = None
        ours["numa_topology"] = seated
    else:
        guest = _at("api", lambda: constraints.guest(flavor, image, release))
        ours["requested_topology"] = _shown_guest(guest, release)
        cells = _at("startup", lambda: inventory.host_cells(host, release))
        ours["host_topology"] = _shown_host(cells, release)
        fitted = _at("filter", lambda: fit(cells or (), guest, release)) if guest else None
        if guest and not fitted:
            raise _Refused("filter", "RuntimeError")
        places = guest_xml.places_of(fitted)
        ours["numa_topology"] = kinds.shown_guest(fitted.guest if fitted else None, release, fitted)
    if seated and guest:
        places = tuple(map(_place, seated["cells"]))
    # The guest is of the recorder's own architecture where nobody names one.
    own = Image("img", {"hw_architecture": "x86_64", **image.properties})
    xml = _at(
        "driver",
        lambda: guest_xml.predict(flavor, own, guest, places, host, release, fitted),
    )
    ours["xml"] = {name: plain(element) for name, element in xml_form.elements(xml).items()}


def _at(stage: str, call: t.Callable[[], t.Any]) -> t.Any:
    try:
        return call()
    except NovaError as error:
        raise _Refused(stage, "crash" if error.crash else error.name) from None


def _flavor(case: Data) -> Flavor:
    given = case["flavor"]
    return Flavor(
        given.get("name", "f"),
        given.get("vcpus", 1),
        given.get("memory_mb", 2048),
        given.get("extra_specs", {}),
        disk_gb=1,
    )


def _host(case: Data, release: Release) -> Host:
    given = case.get("host") or {}
    described = given.get("cells") or _simple(given.get("simple", {}))
    bare = _cpus(given.get("offline_bare", ""))
    cells = tuple(
        NumaCell(
            cell["id"],
            tuple(
                Cpu(cpu["id"], (), None)
                if bare >> cpu["id"] & 1
                else Cpu(
                    cpu["id"],
                    tuple(kinds.written(str(cpu.get("siblings", cpu["id"])))),
                    cpu.get("socket", 0),
                )
                for cpu in cell["cpus"]
            ),
            cell["memory_kib"] // 1024,
            tuple(PagePool(size, total) for size, total in _pages(cell)),
        )
        for cell in described
    )
    present = mask(cpu.id for cell in cells for cpu in cell.cpus)
    online = _cpus(given["online"]) if given.get("online") else present
    used = {**(given.get("pinned") or {}), **(given.get("cpu_usage") or {})}
    usage = tuple(
        CellUsage(
            int(cell),
            _cpus((given.get("pinned") or {}).get(cell, "")),
            (given.get("cpu_usage") or {}).get(cell, 0),
        )
        for cell in used
    )
    return Host(
        "h",
        release.name,
        Topology(cells, online, present),
        _config(case.get("options") or {}),
        usage,
        architecture=given.get("arch", "x86_64"),
        cgroups=Cgroups(cpu_controller=given.get("cpu_controller", True)),
    )


def _config(options: Data) -> HostConfig:
    """Take the options that the engine knows; whether others matter, the comparison shows."""
    values = {key: value for section in options.values() for key, value in section.items()}
    return HostConfig(**{key: value for key, value in values.items() if key in OPTIONS})


def _cpus(given: str | list[int]) -> int:
    return parse_nova(given) if isinstance(given, str) else mask(given)


def _pages(cell: Data) -> list[tuple[int, int]]:
    return sorted((int(size), total) for size, total in (cell.get("pages") or {}).items())


def _simple(given: Data) -> list[Data]:
    """Make the regular machine that the recorder makes."""
    nodes, sockets = given.get("nodes", 1), given.get("sockets", 1)
    cores, threads = given.get("cores", 8), given.get("threads", 1)
    memory = int(given.get("mem_gib", 16)) << 20
    large = {"1048576": given.get("huge_1g", 0), "2048": given.get("huge_2m", 0)}
    small = (memory - sum(int(size) * count for size, count in large.items())) // 4
    step = nodes * sockets * cores
    linear = given.get("numbering", "split") != "split"
    cells = []
    for node in range(nodes):
        cpus = []
        for core in range(node * sockets * cores, (node + 1) * sockets * cores):
            members = [
                core * threads + thread if linear else core + thread * step
                for thread in range(threads)
            ]
            socket = node * sockets + (core - node * sockets * cores) // cores
            cpus += [
                {"id": cpu, "socket": socket, "siblings": ",".join(map(str, members))}
                for cpu in members
            ]
        pages = {"4": small, **{size: count for size, count in large.items() if count}}
        cells.append(
            {
                "id": node,
                "memory_kib": memory,
                "pages": pages,
                "cpus": sorted(cpus, key=lambda cpu: cpu["id"]),
            }
        )
    return cells


def _explicit(case: Data) -> tuple[Guest, tuple[CellPlace, ...]]:
    """Read a guest topology that is given with its place."""
    cells = tuple(
        GuestCell(
            index,
            _cpus(cell.get("cpuset") or ""),
            _cpus(cell.get("pcpuset") or ""),
            cell.get("memory", 1024),
            cell.get("pagesize"),
            cell.get("cpu_policy"),
            cell.get("cpu_thread_policy"),
        )
        for index, cell in enumerate(case["numa_topology"])
    )
    guest = Guest(cells, case.get("emulator_threads_policy"))
    return guest, tuple(map(_place, case["numa_topology"]))


def _place(cell: Data) -> CellPlace:
    pins = {int(vcpu): cpu for vcpu, cpu in (cell.get("cpu_pinning") or {}).items()}
    reserved = _cpus(cell.get("cpuset_reserved") or "")
    return CellPlace(cell.get("id", 0), pins, reserved, cell.get("pagesize"))


def _shown_guest(guest: Guest | None, release: Release) -> t.Any:
    return kinds.shown_guest(guest, release)


def _shown_host(cells: Cells, release: Release) -> list[Data]:
    return [
        {
            "id": cell.id,
            "cpuset": list(ids(cell.cpuset)),
            "pcpuset": list(ids(cell.pcpuset)),
            "siblings": sorted(sorted(core) for core in cell.siblings),
        }
        for cell in cells or ()
    ]


def _recorded(verdict: Data) -> Data:
    """Bring a recorded verdict into our form."""
    stage, _colon, where = verdict["stage"].partition(": ")
    error = verdict["error"]
    crashes = error in ("TypeError", "ValueError", "AttributeError", "KeyError", "IndexError")
    found: Data = {
        "stage": COMPUTE[where] if stage == "compute" else STAGES[stage],
        "error": "crash" if crashes else error,
        "xml": None,
    }
    if verdict.get("xml"):
        found["xml"] = {
            name: plain(ET.fromstring(text))
            for name, text in verdict["xml"].items()
            if text and name in xml_form.ORDER
        }
    for key in ("requested_topology", "numa_topology"):
        if key in verdict:
            found[key] = _without_nothing(verdict[key])
    if "host_topology" in verdict:
        found["host_topology"] = [
            {
                "id": cell["id"],
                "cpuset": cell["cpuset"],
                "pcpuset": cell["pcpuset"] or [],
                "siblings": sorted(cell["siblings"]),
            }
            for cell in verdict["host_topology"]
        ]
    return found


def _without_nothing(topology: Data | None) -> Data | None:
    if topology is None:
        return None
    cells = [
        {key: value for key, value in cell.items() if value is not None}
        for cell in topology["cells"]
    ]
    return {**topology, "cells": cells}


def plain(element: ET.Element) -> t.Any:
    """Write an element as plain data, its attributes in no order."""
    text = (element.text or "").strip()
    return [element.tag, dict(sorted(element.items())), text, [plain(e) for e in element]]


def _reduced(verdict: Data, cores: dict[int, int]) -> Data:
    """Reduce pins to the threads that each core gives; leave out what is empty on one side."""
    reduced = dict(verdict)
    for key in ("requested_topology", "numa_topology"):
        topology = _without_nothing(reduced.get(key))
        if topology is not None:
            cells = [
                {name: value for name, value in cell.items() if value not in ({}, [])}
                for cell in topology["cells"]
            ]
            reduced[key] = kinds.reduced({**topology, "cells": cells}, cores)
    return reduced


def _pins(verdict: Data) -> list[t.Any]:
    cells = (verdict.get("numa_topology") or {}).get("cells", [])
    return [cell["cpu_pinning"] for cell in cells if cell.get("cpu_pinning")]
