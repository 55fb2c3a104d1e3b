# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How each kind of recording is decided by the engine, and when both agree."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import (
    CpuListError,
    ids,
    mask,
    parse_nova,
    to_text,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import set_order
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import (
    HostConfig,
    HugePages,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor, Image
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host_cell import (
    HostCell,
    Pages,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.topology import (
    Cpu,
    NumaCell,
    PagePool,
    Topology,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import (
    candidates,
    constraints,
    cpu_topology,
    image_properties,
    inventory,
    request,
    startup,
    usage,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.fit import Fitted, Limits, fit

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest import Guest
    from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import Release

Data = dict[str, t.Any]
Cells = tuple[HostCell, ...]


@dataclasses.dataclass(frozen=True)
class Compared:
    """A recorded verdict beside ours, both in the recorded form."""

    sides: tuple[t.Any, t.Any]
    agrees: bool
    pinned: bool = False
    exact: bool = False


def error(reason: NovaError) -> Data:
    """Write an error as the recorder does."""
    return {"error": reason.name, "nova": not reason.crash}


def attempt(call: t.Callable[[], t.Any]) -> t.Any:
    """Give the result of ``call``, or its error in the recorded form."""
    try:
        return call()
    except NovaError as reason:
        return error(reason)


def is_error(verdict: t.Any) -> bool:
    return isinstance(verdict, dict) and "error" in verdict


def flavor_of(spec: Data) -> Flavor:
    given = spec["flavor"]
    return Flavor(
        given.get("name", "f"),
        given["vcpus"],
        given["memory_mb"],
        given.get("extra_specs", {}),
        disk_gb=given.get("root_gb", 1),
    )


def image_of(spec: Data) -> Image:
    return Image("img", spec.get("image") or {})


def numbers(cpus: str | list[int]) -> list[int]:
    """List CPUs given as text or as a list, in the order of a set made of them."""
    return list(set(ids(parse_nova(cpus)) if isinstance(cpus, str) else cpus))


def coerced(cpus: t.Iterable[int], times: int) -> tuple[int, ...]:
    """Rebuild a set as often as the recorder's objects did."""
    order = tuple(cpus)
    for _round in range(times):
        order = set_order.rebuilt(order)
    return order


def host_cells(host: Data, *, round_trip: bool) -> Cells:
    """Build the cells of a recorded host, sets rebuilt as the recorder's were."""
    times = 3 if round_trip else 1
    return tuple(
        HostCell(
            id=cell["id"],
            cpuset=mask(numbers(cell.get("cpuset", []))),
            pcpuset=mask(numbers(cell.get("pcpuset", []))),
            memory_mb=cell["memory"],
            siblings=tuple(coerced(numbers(core), times) for core in cell.get("siblings", [])),
            pages=tuple(Pages(*pool) for pool in cell.get("mempages", [])),
            pcpus=coerced(numbers(cell.get("pcpuset", [])), times - 1),
            pinned_cpus=mask(numbers(cell.get("pinned_cpus", []))),
            cpu_usage=cell.get("cpu_usage", 0),
            memory_usage_mb=cell.get("memory_usage", 0),
        )
        for cell in host["cells"]
    )


def round_tripped(cells: Cells) -> Cells:
    """Rebuild the sets as storing and loading the cells does."""
    return tuple(
        dataclasses.replace(
            cell,
            siblings=tuple(coerced(core, 2) for core in cell.siblings),
            pcpus=coerced(cell.pcpus, 2),
        )
        for cell in cells
    )


KNOWN_OPTIONS = {
    "vcpu_pin_set": "vcpu_pin_set",
    "reserved_host_cpus": "reserved_host_cpus",
    "reserved_huge_pages": "reserved_huge_pages",
    "compute.cpu_shared_set": "cpu_shared_set",
    "compute.cpu_dedicated_set": "cpu_dedicated_set",
    "compute.packing_host_numa_cells_allocation_strategy": (
        "packing_host_numa_cells_allocation_strategy"
    ),
    "libvirt.cpu_power_management": "cpu_power_management",
}


def config_of(conf: Data) -> HostConfig:
    values = {KNOWN_OPTIONS[key]: value for key, value in conf.items()}
    values["reserved_huge_pages"] = tuple(
        HugePages(entry.get("node"), entry.get("size"), entry.get("count"))
        for entry in values.get("reserved_huge_pages") or ()
    )
    return HostConfig(**values)


def topology_of(raw: Data) -> Topology:
    cells = tuple(
        NumaCell(
            cell["id"],
            tuple(
                Cpu(cpu[0], tuple(written(cpu[1])), cpu[2] if len(cpu) > 2 else cell["id"])
                for cpu in cell["cpus"]
            ),
            cell["memory_kb"] // 1024,
            tuple(PagePool(*pool) for pool in cell.get("mempages", [])),
        )
        for cell in raw["cells"]
    )
    present = mask(cpu.id for cell in cells for cpu in cell.cpus)
    online = parse_nova(raw["online"]) if "online" in raw else present
    return Topology(cells, online, present)


def written(siblings: str) -> list[int]:
    """List the siblings in the order in which they are written."""
    found: list[int] = []
    for item in siblings.split(","):
        found += ids(parse_nova(item))
    return found


def shown_pages(cell: HostCell) -> list[list[int]]:
    return [[pool.size_kb, pool.total, pool.used, pool.reserved] for pool in cell.pages]


def shown_host(cells: Cells | None) -> list[Data] | None:
    if cells is None:
        return None
    return [
        {
            "id": cell.id,
            "cpuset": list(ids(cell.cpuset)),
            "pcpuset": list(ids(cell.pcpuset)),
            "memory": cell.memory_mb,
            "cpu_usage": cell.cpu_usage,
            "memory_usage": cell.memory_usage_mb,
            "pinned_cpus": list(ids(cell.pinned_cpus)),
            "siblings": [list(core) for core in cell.siblings],
            "mempages": shown_pages(cell),
        }
        for cell in cells
    ]


def shown_usage(cells: Cells) -> list[Data]:
    return [
        {
            "id": cell.id,
            "cpu_usage": cell.cpu_usage,
            "memory_usage": cell.memory_usage_mb,
            "pinned_cpus": list(ids(cell.pinned_cpus)),
            "mempages": shown_pages(cell),
        }
        for cell in cells
    ]


def shown_guest(guest: Guest | None, release: Release, fitted: Fitted | None = None) -> t.Any:
    """Write a guest topology as the recorder does; with its place where ``fitted`` is given."""
    if guest is None:
        return None
    pinnings = fitted.pinnings() if fitted else (None,) * len(guest.cells)
    seats = fitted.seats if fitted else (None,) * len(guest.cells)
    cells = []
    for cell, seat, pinning in zip(guest.cells, seats, pinnings, strict=True):
        shown: Data = {
            "id": seat.cell if seat else cell.id,
            "cpuset": list(ids(cell.cpuset)),
            "memory": cell.memory_mb,
            "pagesize": seat.page_size_kb if seat else cell.page_size_kb,
            "cpu_policy": cell.cpu_policy,
            "cpu_thread_policy": cell.cpu_thread_policy,
        }
        if release.mixed_policy:
            shown["pcpuset"] = list(ids(cell.pcpuset))
        else:
            shown["cpuset"] = list(ids(cell.cpuset | cell.pcpuset))
        if pinning:
            if pinning.pins:  # the recorder leaves empty ones out
                shown["cpu_pinning"] = {str(vcpu): cpu for vcpu, cpu in pinning.pins.items()}
            if pinning.reserved is not None:
                shown["cpuset_reserved"] = [pinning.reserved]
        cells.append(shown)
    return {"emulator_threads_policy": guest.emulator_threads_policy, "cells": cells}


def shown_request(flavor: Flavor, image: Image, release: Release) -> Data:
    asked = request.build(flavor, image, release)
    own = asked.unsuffixed
    return {
        "resources": asked.resources,
        "required": sorted(own.required),
        "forbidden": sorted(own.forbidden),
        "cpu_pinning_requested": asked.cpu_pinning_requested,
    }


@dataclasses.dataclass
class Books:
    """A host on which guests are placed in turn."""

    cells: Cells | None
    release: Release
    limits: Limits | None
    packs: bool | None
    round_trip: bool
    placed: list[Fitted | None] = dataclasses.field(default_factory=list)

    def place(self, spec: Data, ops: list[str]) -> Data:
        """Place one guest; give the recorder's answer."""
        flavor, image = flavor_of(spec), image_of(spec)
        verdict: Data = {}
        self.placed.append(None)
        if "api" in ops:
            verdict["api"] = attempt(lambda: constraints.check_api(flavor, image, self.release))
        read = attempt(lambda: image_properties.read(image, self.release))
        if is_error(read):
            return {**verdict, "image": read}
        if "placement" in ops:
            verdict["placement"] = attempt(lambda: shown_request(flavor, image, self.release))
        guest = attempt(lambda: constraints.guest(flavor, image, self.release))
        if is_error(guest):
            return {**verdict, "constraints": guest}
        verdict["constraints"] = shown_guest(guest, self.release)
        if self.cells is not None:
            self._fit(guest, verdict)
        return verdict

    def _fit(self, guest: Guest | None, verdict: Data) -> None:
        cells = self.cells or ()
        fitted = attempt(
            lambda: fit(cells, guest, self.release, self.limits, self.packs) if guest else None
        )
        if is_error(fitted):
            verdict["fit"] = fitted
            return
        verdict["fit"] = shown_guest(fitted.guest if fitted else None, self.release, fitted)
        if fitted is None:
            return
        self.placed[-1] = fitted
        after = attempt(lambda: usage.take(cells, fitted, self.release))
        if is_error(after):
            verdict["usage"] = after
            return
        self.cells = round_tripped(after) if self.round_trip else after
        verdict["usage"] = shown_usage(after)

    def free(self, index: int) -> Data:
        """Free the guest of one step."""
        fitted = self.placed[index]
        self.placed.append(None)
        cells = self.cells or ()
        if fitted is not None:
            after = attempt(lambda: usage.give_back(cells, fitted, self.release))
            if is_error(after):
                return {"usage": after}
            self.cells = cells = after
        return {"usage": shown_usage(cells)}


def decide_numa(case: Data, release: Release) -> Data:
    """Decide a case of the kinds flavor, fit, seq, asym and most of named."""
    conf = case.get("conf") or {}
    verdict: Data = {}
    round_trip = case.get("roundtrip", True)
    cells: Cells | None = None
    if "host_raw" in case:
        host = Host("h", release.name, topology_of(case["host_raw"]), config_of(conf))
        built = attempt(lambda: started_cells(host, release))
        verdict["host"] = built if is_error(built) else shown_host(built)
        if not is_error(built):
            cells = round_tripped(built) if round_trip else built
        elif not case.get("flavor"):
            return verdict
    elif "host" in case:
        cells = host_cells(case["host"], round_trip=round_trip)
    given = case.get("limits")
    limits = (
        Limits(given.get("cpu_allocation_ratio", 1.0), given.get("ram_allocation_ratio", 1.0))
        if given is not None
        else None
    )
    packs = conf.get("compute.packing_host_numa_cells_allocation_strategy")
    books = Books(cells, release, limits, packs, round_trip)
    ops = case.get("ops") or []
    if "seq" in case:
        steps = [
            books.free(step["free"]) if "free" in step else books.place(step, ops)
            for step in case["seq"]
        ]
        return {**verdict, "seq": steps}
    return {**verdict, **books.place(case, ops)}


def started_cells(host: Host, release: Release) -> Cells | None:
    """Build the cells of a host whose driver has started."""
    inventory.reserved_pages(host.config)
    startup.check(host.config, release)
    return inventory.host_cells(host, release)


def decide_config(case: Data, release: Release) -> Data:
    """Decide what options come to, whether the driver starts, which cells it builds."""
    config = config_of(case.get("conf") or {})

    def option(value: str | None, name: str) -> t.Any:
        cpus = attempt(lambda: startup.cpu_option(value, name))
        return list(ids(cpus)) if isinstance(cpus, int) else cpus

    verdict = {
        "get_vcpu_pin_set": option(config.vcpu_pin_set, "vcpu_pin_set"),
        "get_cpu_shared_set": option(config.cpu_shared_set, "cpu_shared_set"),
        "get_cpu_dedicated_set": option(config.cpu_dedicated_set, "cpu_dedicated_set"),
    }
    start = attempt(lambda: startup.check(config, release))
    verdict["startup"] = start or "ok"
    if "host_raw" in case:
        host = Host("h", release.name, topology_of(case["host_raw"]), config)
        built = attempt(lambda: started_cells(host, release))
        verdict["host"] = built if is_error(built) else shown_host(built)
    return verdict


def decide_topology(case: Data, release: Release) -> Data:
    """Decide the guest's sockets, cores and threads."""
    flavor, image = flavor_of(case), image_of(case)

    def best() -> Data:
        properties = image_properties.read(image, release)
        fitted = None
        if case.get("host") and release.threads_from_pinning:
            guest = constraints.guest(flavor, image, release)
            cells = host_cells(case["host"], round_trip=False)
            fitted = fit(cells, guest, release) if guest else None
        threads = case.get("allow_threads", True)
        chosen = cpu_topology.best(flavor, properties, allow_threads=threads, fitted=fitted)
        return {"best": list(chosen)}

    return t.cast("Data", attempt(best))


def decide_cpu_spec(case: Data, _release: Release) -> Data:
    try:
        return {"cpus": list(ids(parse_nova(case["spec"])))}
    except CpuListError:
        return {"error": "Invalid", "nova": True}


def decide_format(case: Data, _release: Release) -> Data:
    cpus = mask(case["cpus"])
    text = to_text(cpus) if case.get("allow_ranges", True) else ",".join(map(str, ids(cpus)))
    return {"spec": text}


DECIDERS: dict[str, t.Callable[[Data, Release], Data]] = {
    "numa": decide_numa,
    "config": decide_config,
    "topology": decide_topology,
    "cpuspec": decide_cpu_spec,
    "format": decide_format,
}


def compare(case: Data, recorded: Data, release: Release) -> Compared:
    """Hold a recorded verdict of Nova against ours."""
    packing = "compute.packing_host_numa_cells_allocation_strategy"
    if "conf" in recorded and "error" in recorded["conf"]:
        unknown = packing in (case.get("conf") or {}) and not release.packing_option
        ours: Data = {"conf": {"error": "NoSuchOptError", "nova": False}} if unknown else {}
        return Compared((recorded, ours), unknown)
    ours = DECIDERS[case.get("kind", "numa")](case, release)
    cores = cores_of(case, ours)
    sides = (reduced(recorded, cores), reduced(ours, cores))
    recorded_pins, our_pins = list(_pins(recorded)), list(_pins(ours))
    return Compared(
        (sides[0], sides[1]),
        sides[0] == sides[1],
        bool(recorded_pins),
        bool(recorded_pins) and recorded_pins == our_pins,
    )


def cores_of(case: Data, ours: Data) -> dict[int, int]:
    """Map each host CPU to its core."""
    cells = case.get("host", {}).get("cells") or ours.get("host") or []
    cores: dict[int, int] = {}
    for cell in cells if isinstance(cells, list) else []:
        for core in cell.get("siblings", []):
            members = numbers(core)
            cores.update(dict.fromkeys(members, min(members, default=0)))
    return cores


def reduced(verdict: t.Any, cores: dict[int, int]) -> t.Any:
    """Reduce a verdict to what must be equal.

    Of a crash only that it is one; of pins the threads that each core of the host gives.
    """
    if is_error(verdict):
        return verdict["error"] if verdict["nova"] else "crash"
    if isinstance(verdict, list):
        return [reduced(value, cores) for value in verdict]
    if not isinstance(verdict, dict):
        return verdict
    kept: Data = {}
    for key, value in verdict.items():
        if key in ("cpu_pinning", "cpuset_reserved", "pinned_cpus"):
            cpus = value.values() if isinstance(value, dict) else value
            counted = collections.Counter(cores.get(cpu, cpu) for cpu in cpus)
            kept[key] = sorted(counted.items())
        elif key == "siblings":
            kept[key] = [sorted(core) for core in value]
        elif key == "cpu_topology":
            continue
        else:
            kept[key] = reduced(value, cores)
    return kept


def _pins(verdict: t.Any) -> t.Iterator[t.Any]:
    if isinstance(verdict, dict):
        for key, value in sorted(verdict.items()):
            if key == "cpu_pinning" and value:
                yield value
            yield from _pins(value)
    elif isinstance(verdict, list):
        for value in verdict:
            yield from _pins(value)


def placement(case: Data, query: Data) -> Compared:
    """Hold one recorded query of allocation candidates against ours."""
    used: dict[str, dict[str, int]] = {}
    for row in case["allocations"]:
        held = used.setdefault(row["provider"], {})
        for name, amount in row["resources"].items():
            held[name] = held.get(name, 0) + amount
    providers = [
        candidates.Provider(
            provider["name"],
            {
                name: inventory.Inventory(
                    total=given["total"],
                    reserved=given.get("reserved", 0),
                    ratio=given.get("ratio", 1.0),
                    min_unit=given.get("min_unit", 1),
                    max_unit=given.get("max_unit") or 2**31 - 1,
                    step_size=given.get("step", 1),
                )
                for name, given in provider["inventories"].items()
            },
            used.get(provider["name"], {}),
            frozenset(provider["traits"]),
            frozenset(provider.get("aggregates", ())),
        )
        for provider in case["providers"]
    ]
    group = request.Group(
        "", query["resources"], frozenset(query["required"]), frozenset(query["forbidden"])
    )
    scope = candidates.Scope(
        root_required=frozenset(query.get("root_required") or ()),
        root_forbidden=frozenset(query.get("root_forbidden") or ()),
        member_of=candidates.member_of(query.get("member_of")),
    )
    try:
        found = candidates.candidates(providers, request.Request((group,)), scope)
    except candidates.BadQuery:
        return Compared((query["status"], 400), query["status"] == 400)
    ours = [{name: amounts} for name, amounts in found]
    recorded = query["candidates"]
    key = str
    if query["status"] != 200 or recorded is None:
        return Compared((query["status"], 200), False)
    limit = query.get("limit") or len(ours)
    if len(ours) > limit:
        agrees = len(recorded) == limit and all(row in ours for row in recorded)
        return Compared((recorded, ours), agrees)
    sides = sorted(recorded, key=key), sorted(ours, key=key)
    return Compared(sides, sides[0] == sides[1])
