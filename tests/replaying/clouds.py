# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole clouds, recorded step by step: each row is decided anew and held against the recording.

Which of the hosts that take a server gets it, and which CPUs of equal cores, is taken from the
recording; the next step goes on from there.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import typing as t
import xml.etree.ElementTree as ET

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import (
    ids,
    mask,
    to_text,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import HostConfig
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor, Image
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host, Scheduler
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import CellPlace
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import (
    compute,
    guest_xml,
    xml_form,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.cloud import Cloud
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.image_properties import (
    HYPERTHREADING,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.resident import placed
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.schedule import ask
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.selection import (
    Found,
    find,
    select,
)

from .domains import plain
from .kinds import Compared, Data, topology_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host_cell import HostCell
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.topology import Topology
    from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.outcome import Outcome
    from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.resident import Resident
    from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.schedule import (
        Asked,
    )
    from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.selection import Selection

KNOWN_TRAITS = frozenset(("COMPUTE_NODE",))
"""Any trait will do: the traits of a recorded host are all known."""
BEFORE_TRAIN = "19.0.0"
MEMORY_KB = 16780000
PAGES_KB = (4, 2048, 1048576)
CPU_CLASSES = ("VCPU", "PCPU")
TOLD_REFUSALS = ("Invalid", "InvalidConfiguration", "PlacementPciException")
"""Where a start failed otherwise, it is the recorder that failed: only that it did counts."""
QUOTA = 20
"""vCPUs that a project may ask for."""
RECORDED_XML = ("vcpu", "cputune", "numatune")
"""The elements of a domain that rows show."""
ATTEMPTS = 3
"""Hosts that a build is tried on (``[scheduler] max_attempts``)."""


def rows(document: Data) -> Iterator[tuple[str, str, Compared]]:
    """Decide every row of a recorded document; gives release, name of the row, both sides."""
    for recorded in document["recorded"]:
        version = "34.0.0" if recorded["release"] == "master" else recorded["release"]
        for scenario, result in zip(document["scenario"], recorded["result"], strict=True):
            yield from _scenario(scenario, result, version)


def _scenario(scenario: Data, result: Data, version: str) -> Iterator[tuple[str, str, Compared]]:
    steps = result["steps"]
    cloud = _Recorded(scenario, version, filters=_filters(scenario, steps))
    starts, rest = steps[: len(scenario["hosts"])], steps[len(scenario["hosts"]) :]
    for host, row in zip(scenario["hosts"], starts, strict=True):
        yield version, f"{result['name']}: {row['do']}", cloud.start(host, row)
    for step, row in zip(scenario.get("steps", []), rest, strict=True):
        if _failed(row):
            continue
        yield version, f"{result['name']}: {json.dumps(step)}", cloud.step(step, row)


def _failed(row: Data) -> bool:
    """Say whether the recorder itself failed on a step; what Nova answered with 500 is not that."""
    told = row["result"].get("probe_exception", "")
    return bool(told) and "500" not in told


def _filters(scenario: Data, steps: list[Data]) -> bool:
    """Say whether NUMATopologyFilter was on: what a recording shows counts more than its title."""
    control = scenario.get("scheduler", {})
    if control.get("numa_filter") is False:
        return False
    return control.get("filters") != [] or any(row.get("filter") for row in steps)


def _topology(host: Data) -> Topology:
    raw: Data = {"cells": []}
    if "cells" in host:
        for index, cell in enumerate(host["cells"]):
            memory = cell.get("memory_kb", 8388608)
            cpus = [
                [cpu, ",".join(map(str, sib)), cell.get("socket", 0)] for cpu, sib in cell["cpus"]
            ]
            pages = cell.get("mempages", [(4, memory // 4)])
            raw["cells"].append({"id": index, "cpus": cpus, "memory_kb": memory, "mempages": pages})
    else:
        raw["cells"] = list(_regular_cells(host.get("cpu", {})))
    if "online" in host:
        raw["online"] = ",".join(map(str, host["online"]))
    return topology_of(raw)


def _regular_cells(shape: Data) -> Iterator[Data]:
    """List the cells of a host whose cells, sockets and cores are all alike."""
    nodes, threads = shape.get("nodes", 1), shape.get("threads", 1)
    sockets, each = shape.get("sockets", 1), shape.get("cores", 4) * threads
    memory = shape.get("kB_mem", MEMORY_KB) // (nodes * sockets)
    for node in range(nodes * sockets):
        cpus = []
        for cpu in range(node * each, (node + 1) * each):
            core = cpu - cpu % threads
            siblings = to_text(mask(range(core, core + threads)))
            cpus.append([cpu, siblings, node // nodes])
        pages = [(size, memory // size if size == PAGES_KB[0] else 0) for size in PAGES_KB]
        yield {"id": node, "cpus": cpus, "memory_kb": memory, "mempages": pages}


class _Recorded:
    """A recorded cloud that is decided anew, row by row."""

    def __init__(self, scenario: Data, version: str, *, filters: bool) -> None:
        control = scenario.get("scheduler", {})
        disabled = bool(control.get("disable_fallback_pcpu_query"))
        self.cloud = Cloud(Scheduler(version, disabled, filters))
        self.release = release(version)
        self.limit: int = control.get("max_placement_results", 1000)
        self.shapes: dict[str, Data] = {}
        self.homes: dict[str, str] = {}
        """Servers to the host that they are on."""
        self.stopped: set[str] = set()
        self.xml: dict[str, Data] = {}
        """Servers to the domain XML that was last generated for each."""
        self.cores: dict[str, int] = {}
        """vCPUs of every server that was asked for and not deleted, whatever became of it."""

    def start(self, shape: Data, row: Data) -> Compared:
        """Start a host, the first time or anew."""
        name = shape["name"]
        self.shapes[name] = shape
        given = {
            key: value for key, value in (shape.get("conf") or {}).items() if value is not None
        }
        host = Host(
            name,
            BEFORE_TRAIN if self._emulated(name) else self.release.name,
            _topology(shape),
            HostConfig(**given),
            traits=KNOWN_TRAITS,
        )
        result = self.cloud.start(host)
        runs = result.refusal is None and result.seen.provider is not None
        if row["started"] and runs:
            return self._equal(self._dumped(name, row["host"]), self._host(name))
        told = row.get("error", "").split(":")[0]
        ours = result.refusal.name if result.refusal else None
        if told in TOLD_REFUSALS:
            return self._equal([row["started"], told], [runs, ours])
        return self._equal(row["started"], runs)

    def step(self, step: Data, row: Data) -> Compared:
        """Decide one step of the scenario."""
        decide: t.Callable[[Data, Data], Compared] = getattr(self, f"_{step['do']}")
        return decide(step, row)

    def _restart(self, step: Data, row: Data) -> Compared:
        changes: Data = {key: step[key] for key in ("conf", "online", "emulate") if key in step}
        return self.start({**self.shapes[step["host"]], **changes}, row["result"])

    def _periodic(self, step: Data, row: Data) -> Compared:
        result = self.cloud.update(step["host"])
        if "error" in row["result"]:
            told = row["result"]["error"].split(":")[0]
            return self._equal(told, result.failure and result.failure.name)
        return self._equal(self._dumped(step["host"], row["result"]), self._host(step["host"]))

    def _show(self, _step: Data, row: Data) -> Compared:
        names = [name for name in row["result"] if self.cloud.hosts[name].provider]
        return self._equal(
            {name: self._dumped(name, row["result"][name]) for name in row["result"]},
            {name: self._host(name) for name in names},
        )

    def _set(self, step: Data, row: Data) -> Compared:
        disabled = step["disable_fallback_pcpu_query"]
        self.cloud.scheduler = dataclasses.replace(
            self.cloud.scheduler, disable_fallback_pcpu_query=disabled
        )
        return self._equal(row["result"], {})

    def _alloc(self, step: Data, row: Data) -> Compared:
        seen = self.cloud.hosts[step["host"]]
        provider = seen.provider
        fits = provider is not None and all(
            name in provider.inventories
            and provider.inventories[name].takes(amount, provider.used.get(name, 0))
            for name, amount in step["resources"].items()
        )
        if fits:
            self.cloud.hosts[step["host"]] = compute.allocated(seen, step["resources"])
        return self._equal(row["result"], {"status": 204 if fits else 409})

    def _delete(self, step: Data, row: Data) -> Compared:
        server = step["server"]
        self.cores.pop(server, None)
        told = row["result"].get("probe_exception", "")
        refusal = None
        if server in self.cloud.leaving:
            refusal = self.cloud.confirm(server).refusal
        if server in self.homes and not refusal:
            refusal = self.cloud.remove(server, self.homes[server]).refusal
        if refusal:
            return self._equal(refusal.name in told, True)
        self.homes.pop(server, None)
        return self._equal(row["result"], {"deleted": True})

    def _stop(self, step: Data, row: Data) -> Compared:
        return self._turned(step["server"], row, "SHUTOFF")

    def _start(self, step: Data, row: Data) -> Compared:
        return self._turned(step["server"], row, "ACTIVE")

    def _turned(self, server: str, row: Data, state: str) -> Compared:
        """Turn a server on or off; one that is so already, landed nowhere or is being moved,
        cannot be."""
        placed = server in self.homes and server not in self.cloud.leaving
        if not placed or self._state(server) == state:
            return self._equal(self._code(row), 409)
        (self.stopped.add if state == "SHUTOFF" else self.stopped.discard)(server)
        return self._equal(row["result"].get("status"), state)

    def _state(self, server: str) -> str:
        return "SHUTOFF" if server in self.stopped else "ACTIVE"

    def _boot(self, step: Data, row: Data) -> Compared:
        flavor = Flavor(
            "f", step["vcpus"], step.get("ram", 512), step.get("extra_specs") or {}, disk_gb=1
        )
        image = Image("i", step.get("image_props") or {})
        if sum(self.cores.values()) + flavor.vcpus > QUOTA:
            return self._equal(self._code(row), 403)
        asked = ask(flavor, image, self.cloud.scheduler)
        if not asked.refusal:
            self.cores[step["name"]] = flavor.vcpus
        among = [step["host"]] if "host" in step else list(self.cloud.hosts)
        return self._sent(step["name"], asked, among, row, "ACTIVE")

    def _migrate(self, step: Data, row: Data) -> Compared:
        return self._moved(step, row, None)

    def _resize(self, step: Data, row: Data) -> Compared:
        flavor = Flavor(
            "f", step["vcpus"], step.get("ram", 512), step.get("extra_specs") or {}, disk_gb=1
        )
        return self._moved(step, row, flavor)

    def _moved(self, step: Data, row: Data, flavor: Flavor | None) -> Compared:
        server, home = step["server"], self.homes.get(step["server"])
        if home is None or server in self.cloud.leaving:
            return self._equal(self._code(row), 409)
        if step.get("host") == home:
            return self._equal(self._code(row), 400)
        here = self.cloud.residents[home][server]
        if self.cloud.depart(server, home):
            return self._equal(self._code(row), self._no_valid_host)
        asked = ask(flavor or here.flavor, here.image, self.cloud.scheduler)
        among = [step["host"]] if "host" in step else list(self.cloud.hosts)
        compared = self._sent(server, asked, among, row, "VERIFY_RESIZE", ignored=home)
        if server not in self.cloud.residents.get(self.homes[server], {}):
            self.cloud.stay(server)
        return compared

    @property
    def _no_valid_host(self) -> int:
        # From Ussuri on a move is cast, and the recorder's synchronous calls show its end.
        return 400 if self.release.name.startswith("20.") else 500

    def _confirm(self, step: Data, row: Data) -> Compared:
        server = step["server"]
        if server not in self.cloud.leaving:
            return self._equal(self._code(row), 409)
        if self.cloud.confirm(server).refusal:
            return self._equal(self._code(row), 500)
        return self._landed(server, row, self._state(server))

    def _revert(self, step: Data, row: Data) -> Compared:
        server = step["server"]
        if server not in self.cloud.leaving:
            return self._equal(self._code(row), 409)
        self.homes[server] = self.cloud.revert(server, self.homes[server])
        self._generate(server)
        return self._landed(server, row, self._state(server))

    def _sent(
        self,
        server: str,
        asked: Asked,
        among: list[str],
        row: Data,
        status: str,
        ignored: str = "",
    ) -> Compared:
        """Send a request to the hosts named and follow it to its end.

        The host that is ``ignored`` drops out once Placement has answered.
        """
        found = find(asked, (self.cloud.hosts[name] for name in among))
        ours: Data = {"queries": self._queries(asked, found) if not asked.refusal else []}
        recorded: Data = {"queries": [_sorted(q["candidates"]) for q in row["queries"]]}
        if found.hides(self.limit):
            found, ours["queries"] = self._within_limit(found, ours["queries"], recorded["queries"])
        found = _without(found, ignored)
        selection = select(asked, found, self.cloud.hosts, self.cloud.scheduler)
        recorded["filter"], ours["filter"] = self._filter(selection, row["filter"])
        result = row["result"]
        if "api_error" in result:
            recorded["end"] = self._code(row)
            ours["end"] = self._refused(selection, status)
            return self._equal(recorded, ours)
        recorded["claims"] = [[claim["node"], claim["ok"]] for claim in row["claims"]]
        tried = [claim["node"] for claim in row["claims"]]
        ours["claims"] = [
            [name, selection.outcomes[name].stage != "claim"]
            for name in tried
            if name in selection.outcomes and selection.outcomes[name].stage != "filter"
        ]
        recorded["end"], ours["end"] = result["status"], "ERROR"
        for name in tried:
            outcome = selection.outcomes.get(name)
            if outcome and outcome.boots and not self._placed(server, asked, name, outcome, row):
                ours["end"] = status
        refused = ("filter", "startup")
        passed = [n for n, o in selection.outcomes.items() if o.stage not in refused]
        recorded["attempts"] = len(tried)
        ours["attempts"] = len(tried) if ours["end"] == status else min(len(passed), ATTEMPTS)
        if recorded["end"] == ours["end"] == status:
            landed = self._landed(server, row, status)
            return self._equal([recorded, landed.sides[0]], [ours, landed.sides[1]])
        return self._equal(recorded, ours)

    def _placed(self, server: str, asked: Asked, name: str, outcome: Outcome, row: Data) -> bool:
        """Let a server in; True where the build fails."""
        result = self.cloud.place(server, asked, name, outcome)
        if result.refusal:
            return True
        self.homes[server] = name
        self._adopt(server, row["result"])
        self._generate(server)
        return False

    def _generate(self, server: str) -> None:
        """Predict the XML of a server where it is, with the pins that it has."""
        name = self.homes[server]
        here, host = self.cloud.residents[name][server], self.cloud.hosts[name].host
        places: tuple[CellPlace, ...] = ()
        if here.guest and here.holder:
            places = tuple(
                CellPlace(
                    seat.cell,
                    pinning.pins if pinning else {},
                    mask(() if pinning is None or pinning.reserved is None else [pinning.reserved]),
                    seat.page_size_kb,
                )
                for seat, pinning in zip(here.holder.seats, here.holder.pinnings(), strict=True)
            )
        known = self.release if self._emulated(name) else release(host.release)
        host = dataclasses.replace(host, release=known.name)
        xml = guest_xml.predict(here.flavor, here.image, here.guest, places, host, known)
        self.xml[server] = {
            name: plain(element)
            for name, element in xml_form.elements(xml).items()
            if name in RECORDED_XML
        }

    def _adopt(self, server: str, result: Data) -> None:
        """Take the pins of the recording where they are as good as ours."""
        name = self.homes[server]
        here = self.cloud.residents[name][server]
        cells = result.get("cells")
        if here.guest is None or not cells or result["host"] != name:
            return
        if self._seats(name, here) != self._recorded_seats(name, cells):
            return
        holder = placed(
            here.guest,
            tuple(
                CellPlace(
                    cell["host_cell"],
                    {int(vcpu): cpu for vcpu, cpu in cell["pins"].items()},
                    mask(cell["reserved"] or ()),
                    seat.page_size_kb,
                )
                for cell, seat in zip(cells, here.holder.seats if here.holder else (), strict=True)
            ),
        )
        self.cloud.hosts[name] = compute.leave(self.cloud.hosts[name], here).seen
        new = dataclasses.replace(here, holder=holder)
        seen = compute.allocated(self.cloud.hosts[name], new.allocation)
        self.cloud.hosts[name] = compute.enter(seen, new).seen
        self.cloud.residents[name] = {**self.cloud.residents[name], server: new}

    def _landed(self, server: str, row: Data, status: str) -> Compared:
        """Compare where a server is, and how it sits there."""
        result, name = row["result"], self.homes[server]
        here = self.cloud.residents[name][server]
        recorded = {
            "status": result["status"],
            "host": result["host"],
            "allocations": result["allocations"],
            "cells": self._recorded_seats(name, result.get("cells", [])),
        }
        held = {key: here.allocation[key] for key in CPU_CLASSES if here.allocation.get(key)}
        ours: Data = {
            "status": status,
            "host": name,
            "allocations": {name: held},
            "cells": self._seats(name, here),
        }
        if result.get("xml"):
            texts = {key: text for key, text in result["xml"].items() if text}
            recorded["xml"] = {key: plain(ET.fromstring(text)) for key, text in texts.items()}
            ours["xml"] = self.xml.get(server, {})
        return self._equal(recorded, ours)

    def _seats(self, name: str, here: Resident) -> list[t.Any]:
        if here.guest is None or here.holder is None:
            return []
        rows = []
        for cell, seat, pinning in zip(
            here.guest.cells, here.holder.seats, here.holder.pinnings(), strict=True
        ):
            pins = list(pinning.pins.values()) if pinning else []
            reserved = [pinning.reserved] if pinning and pinning.reserved is not None else []
            floating, pinned = cell.cpuset, cell.pcpuset
            sets = (
                [list(ids(floating)), list(ids(pinned))]
                if self.release.mixed_policy
                else [list(ids(floating | pinned)), None]
            )
            policies = [cell.cpu_policy, cell.cpu_thread_policy]
            rows.append([seat.cell, *sets, *policies, *self._cores(name, pins, reserved)])
        return rows

    def _recorded_seats(self, name: str, cells: list[Data]) -> list[t.Any]:
        return [
            [
                *(
                    cell[key]
                    for key in ("host_cell", "cpuset", "pcpuset", "policy", "thread_policy")
                ),
                *self._cores(name, list(cell["pins"].values()), cell["reserved"] or []),
            ]
            for cell in cells
        ]

    def _cores(self, name: str, pins: list[int], reserved: list[int]) -> list[t.Any]:
        """Count the threads of each core that are pinned to, and those that are kept."""
        books = self.cloud.hosts[name].books or ()
        cores = {cpu: min(core) for cell in books for core in cell.siblings for cpu in core}
        return [
            sorted(collections.Counter(cores.get(cpu, cpu) for cpu in cpus).items())
            for cpus in (pins, reserved)
        ]

    def _queries(self, asked: Asked, found: Found) -> list[t.Any]:
        amounts = {
            name: {key: query.resources[key] for key in CPU_CLASSES if key in query.resources}
            for name, query in asked.queries
        }
        return [
            _sorted([host, amounts[query]] for host in hosts)
            for query, hosts in found.by_query.items()
        ]

    def _within_limit(
        self, found: Found, ours: list[t.Any], recorded: list[t.Any]
    ) -> tuple[Found, list[t.Any]]:
        """Take the recorded candidates where they are as many of ours as the limit gives."""
        by_query = {}
        for index, (query, names) in enumerate(found.by_query.items()):
            rows = recorded[index] if index < len(recorded) else []
            if len(rows) == min(self.limit, len(names)) and all(r in ours[index] for r in rows):
                ours[index] = rows
                names = tuple(row[0] for row in rows)
            by_query[query] = names
        return dataclasses.replace(found, by_query=by_query), ours

    def _filter(self, selection: Selection, rows: list[t.Any]) -> tuple[t.Any, t.Any]:
        """Compare the verdict of each host; after a crash the other hosts may be missing."""
        recorded = dict(rows)
        if any(isinstance(verdict, str) for verdict in recorded.values()):
            told = {v.split(":")[0].split()[-1] for v in recorded.values() if isinstance(v, str)}
            ours = selection.refusal
            return sorted(told), [ours.error] if ours and ours.stage == "filter" else []
        if not self.cloud.scheduler.numa_topology_filter:
            return recorded, {}
        return recorded, {name: o.stage != "filter" for name, o in selection.outcomes.items()}

    def _refused(self, selection: Selection, status: str) -> int | None:
        """Give the HTTP status of an answer that refuses."""
        refusal = selection.refusal
        if refusal and refusal.stage == "api":
            return 409 if refusal.error == "MixedInstanceNotSupportByComputeService" else 400
        if status == "VERIFY_RESIZE" and not selection.hosts:
            return self._no_valid_host
        return None

    @staticmethod
    def _code(row: Data) -> int | None:
        """Take the HTTP status out of the body of a recorded answer."""
        error = row["result"].get("api_error")
        return int(next(iter(json.loads(error).values()))["code"]) if error else None

    def _host(self, name: str) -> Data:
        """Write a host as the recorder does."""
        seen = self.cloud.hosts[name]
        provider = seen.provider
        if provider is None:
            return {}
        return {
            "inventory": {
                key: {
                    "total": found.total,
                    "reserved": found.reserved,
                    "allocation_ratio": found.ratio,
                    "max_unit": found.max_unit,
                }
                for key, found in provider.inventories.items()
                if key in CPU_CLASSES
            },
            "usage": {
                key: provider.used.get(key, 0) for key in CPU_CLASSES if key in provider.inventories
            },
            "HT_trait": HYPERTHREADING in provider.traits,
            "numa": [_shown(cell, self._emulated(name)) for cell in seen.cells or ()],
        }

    def _dumped(self, name: str, dump: Data) -> Data:
        """Take from a recorded host what its release has; the rest is as ours."""
        ours = self._host(name).get("numa", [])
        cells = []
        for index, cell in enumerate(dump.get("numa", [])):
            own = ours[index] if index < len(ours) else cell
            shown = {key: own[key] if value == "UNSET" else value for key, value in cell.items()}
            shown["siblings"] = [sorted(core) for core in shown["siblings"]]
            for key in ("cpuset", "pcpuset", "pinned_cpus"):
                shown[key] = sorted(shown[key])
            if self._emulated(name):
                shown["siblings"].sort()
            cells.append(shown)
        return {key: cells if key == "numa" else value for key, value in dump.items()}

    def _emulated(self, name: str) -> bool:
        """Say whether a host only looks like one from before Train: its Python is newer."""
        return self.shapes[name].get("emulate") == "stein"

    @staticmethod
    def _equal(recorded: t.Any, ours: t.Any) -> Compared:
        return Compared((recorded, ours), recorded == ours)


def _without(found: Found, name: str) -> Found:
    by_query = {q: tuple(n for n in names if n != name) for q, names in found.by_query.items()}
    return dataclasses.replace(found, by_query=by_query)


def _shown(cell: HostCell, emulated: bool) -> Data:
    siblings = [sorted(core) for core in cell.siblings]
    return {
        "id": cell.id,
        "cpuset": list(ids(cell.cpuset)),
        "pcpuset": list(ids(cell.pcpuset)),
        "siblings": sorted(siblings) if emulated else siblings,
        "pinned_cpus": list(ids(cell.pinned_cpus)),
        "cpu_usage": cell.cpu_usage,
        "socket": cell.socket,
    }


def _sorted(rows: t.Iterable[t.Any]) -> list[t.Any]:
    return sorted(rows, key=str)
