# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random flavors, images and hosts, in the form of the recordings; the same seed draws the same."""

from __future__ import annotations

import random
import typing as t

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import mask, to_text

Data = dict[str, t.Any]
Cores = list[list[int]]
"""The threads of each core of a NUMA cell."""

PACKING = "compute.packing_host_numa_cells_allocation_strategy"
HYPERTHREADING = "HW_CPU_HYPERTHREADING"
VCPUS = (1, 2, 2, 3, 4, 4, 6, 8, 8, 12, 16, 24)
MEMORY = (256, 512, 1024, 1536, 2048, 3000, 4096, 8192)
ODD = ("", "x", "0", "-1", "1.5", "^", "0-99", "DEDICATED", " 1", "2_048", "huge")
POLICIES = ("dedicated",) * 6 + ("mixed",) * 3 + ("shared",)
THREADS = ("prefer", "isolate", "require")
PAGES = ("large", "small", "any", "2048", "1048576", "2MB", "1GB", "4")
TRUTHS = ("true", "yes", "1", "no", "false")
NODES = ("1", "2", "2", "4")

Table = tuple[tuple[float, str, tuple[str, ...]], ...]
"""Probability, key and possible values."""

SPECS: Table = (
    (0.8, "hw:cpu_policy", POLICIES),
    (0.45, "hw:cpu_thread_policy", THREADS),
    (0.35, "hw:emulator_threads_policy", ("share", "isolate")),
    (0.2, "hw:cpu_realtime", TRUTHS),
    (0.4, "hw:numa_nodes", NODES),
    (0.3, "hw:mem_page_size", PAGES),
    (0.05, "hw:locked_memory", TRUTHS),
    (0.03, "hw:mem_encryption", TRUTHS),
    (0.03, "hw:pmu", TRUTHS),
    (0.03, "hw:vif_multiqueue_enabled", TRUTHS),
    (0.03, "hw:pmem", ("6GB", "6GB,6GB", "a-b,C")),
    (0.05, "hw:cpu_max_sockets", ("0", "1", "2")),
    (0.05, "hw:pci_numa_affinity_policy", ("required", "legacy", "preferred", "socket")),
    (0.05, f"trait:{HYPERTHREADING}", ("required", "forbidden", "optional")),
    (0.04, "resources:PCPU", ("1", "2", "4")),
    (0.04, "resources:VCPU", ("0", "2", "4")),
    (0.04, "resources1:PCPU", ("1", "2")),
)
SANE: Table = (
    (0.2, "hw:numa_nodes", ("1",)),
    (0.2, "hw:mem_page_size", PAGES),
)
PINNED: Table = (
    (0.6, "hw:cpu_thread_policy", THREADS),
    (0.35, "hw:emulator_threads_policy", ("share", "isolate")),
)
PROPERTIES: Table = (
    (0.4, "hw_cpu_policy", ("dedicated", "dedicated", "shared", "mixed")),
    (0.3, "hw_cpu_thread_policy", THREADS),
    (0.2, "hw_cpu_realtime_mask", ("^0", "^0-1", "1", "0-1")),
    (0.15, "hw_numa_nodes", NODES),
    (0.1, "hw_mem_page_size", PAGES),
    (0.05, "hw_locked_memory", ("true", "false")),
    (0.05, "hw_pci_numa_affinity_policy", ("required", "socket")),
    (0.1, "hw_mem_encryption", TRUTHS),
    (0.2, "hw_firmware_type", ("uefi", "bios")),
    (0.2, "hw_machine_type", ("q35", "pc")),
    (0.1, "hw_pmu", TRUTHS),
    (0.1, "hw_vif_multiqueue_enabled", TRUTHS),
    (0.1, "hw_cpu_max_sockets", ("1", "2", "4")),
    (0.1, f"trait:{HYPERTHREADING}", ("required",)),
)


class Draw:
    """One sequence of draws."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def part(self, values: t.Sequence[int], low: int = 0) -> list[int]:
        """Draw some of the values, ``low`` at least."""
        return sorted(self.rng.sample(values, self.rng.randint(min(low, len(values)), len(values))))

    def table(self, rows: Table) -> dict[str, str]:
        """Draw keys, each with its probability and one of its values."""
        return {key: self.rng.choice(values) for odds, key, values in rows if self.chance(odds)}

    def flavor(self) -> Data:
        """Draw a flavor: mostly one that makes sense, some with values that Nova refuses."""
        vcpus, memory = self.rng.choice(VCPUS), self.rng.choice(MEMORY)
        specs = self.table(SPECS)
        if (specs.get("hw:cpu_policy") == "mixed" and self.chance(0.8)) or self.chance(0.03):
            specs["hw:cpu_dedicated_mask"] = self.vcpu_mask(vcpus)
        if self.chance(0.9 if "hw:cpu_realtime" in specs else 0.05):
            specs["hw:cpu_realtime_mask"] = self.vcpu_mask(vcpus)
        if self.chance(0.12):
            specs |= self.numa_lists(vcpus, memory)
        for key in specs:
            if self.chance(0.015):
                specs[key] = self.rng.choice(ODD)
        return {"name": "flavor", "vcpus": vcpus, "memory_mb": memory, "extra_specs": specs}

    def image(self) -> Data:
        """Draw image properties; most images have none, some have values that Nova refuses."""
        properties = self.table(PROPERTIES) if self.chance(0.3) else {}
        return {
            key: self.rng.choice(ODD) if self.chance(0.01) else value
            for key, value in properties.items()
        }

    def vcpu_mask(self, vcpus: int) -> str:
        """Draw a mask of vCPUs, a few of them beyond the flavor's."""
        some = to_text(mask(self.part(range(vcpus + self.chance(0.1)), 1)))
        kept = ",".join(f"^{part}" for part in some.split(","))
        return self.rng.choice(("^0", "^0-1", some, kept, f"0-{vcpus - 1},{kept}"))

    def numa_lists(self, vcpus: int, memory: int) -> dict[str, str]:
        """Draw cells of unequal size; a few lack something."""
        nodes = self.rng.randint(1, 3)
        owners = [self.rng.randrange(nodes) for _vcpu in range(vcpus)]
        sizes = [self.rng.randrange(1, memory // nodes) for _cell in range(nodes - 1)]
        specs = {"hw:numa_nodes": str(nodes)}
        for cell, size in enumerate([*sizes, memory - sum(sizes)]):
            cpus = to_text(mask(i for i in range(vcpus) if owners[i] == cell))
            specs |= {f"hw:numa_cpus.{cell}": cpus or "0", f"hw:numa_mem.{cell}": str(size)}
        if self.chance(0.1):
            del specs[self.rng.choice(list(specs))]
        return specs

    def machine(self) -> list[Cores]:
        """Draw hardware: NUMA cells, cores and threads, siblings adjacent or a stride apart."""
        nodes = self.rng.choice((1, 1, 2, 2, 2, 4))
        cores = self.rng.choice((1, 2, 4, 4, 6, 8, 12))
        threads = self.rng.choice((1, 1, 2, 2, 2, 4))
        total = nodes * cores
        numbering = self.rng.choice(
            (
                [[core * threads + thread for thread in range(threads)] for core in range(total)],
                [[core + thread * total for thread in range(threads)] for core in range(total)],
            )
        )
        return [numbering[node * cores : (node + 1) * cores] for node in range(nodes)]

    def sets(self, machine: list[Cores]) -> tuple[list[int], list[int] | None]:
        """Draw shared and dedicated CPUs of a host; None for the latter where it is legacy."""
        cores = [core for cell in machine for core in cell]
        cpus = sorted(cpu for core in cores for cpu in core)
        style = self.rng.choice((*["new"] * 5, "split", "legacy", "legacy", "dedicated", "shared"))
        if style == "legacy":
            return self.part(cpus, 1) if self.chance(0.5) else cpus, None
        if style in ("dedicated", "shared"):
            some = self.part(cpus, 1) if self.chance(0.5) else cpus
            return ([], some) if style == "dedicated" else (some, [])
        if style == "split":
            shared = self.part(cpus)
        else:
            edge = [self.rng.randint(0, len(cell) // 2 + 1) for cell in machine]
            shared = [cpu for n, cell in enumerate(machine) for c in cell[: edge[n]] for cpu in c]
        return sorted(shared), [cpu for cpu in cpus if cpu not in shared]

    def cells(self) -> Data:
        """Draw the NUMA cells of a host as its nova-compute stores them, part of them in use."""
        machine = self.machine()
        shared, dedicated = self.sets(machine)
        pinnable = shared if dedicated is None else dedicated
        return {
            "cells": [
                self._cell(number, cores, set(shared), set(pinnable))
                for number, cores in enumerate(machine)
            ]
        }

    def _cell(self, number: int, cores: Cores, shared: set[int], pinnable: set[int]) -> Data:
        cpus = {cpu for core in cores for cpu in core}
        own = sorted(cpus & pinnable)
        usable = [sorted(set(core) & (shared | pinnable)) for core in cores]
        memory = self.rng.choice((1024, 8192, 16384, 32768, 65536))
        pools = [[4, memory * self.rng.choice((128, 256))]]
        pools += [[2048, self.rng.choice((0, 256, 1024, 4096))]] if self.chance(0.5) else []
        pools += [[1048576, self.rng.choice((0, 1, 4, 16))]] if self.chance(0.3) else []
        busy = self.chance(0.3)
        return {
            "id": number,
            "cpuset": sorted(cpus & shared),
            "pcpuset": own,
            "memory": memory,
            "siblings": [core for core in usable if core],
            "mempages": [
                [size, total, self.rng.randint(0, total // 2) * busy, total // 8 * self.chance(0.1)]
                for size, total in pools
            ]
            * self.chance(0.95),
            "pinned_cpus": self.part(own) if busy else [],
            "cpu_usage": self.rng.randint(0, 2 * len(cpus & shared)) * busy,
            "memory_usage": self.rng.randint(0, memory // 2) * busy,
        }

    def case(self) -> Data:
        """Draw a case: any flavor and image, one that may fit, or guests that come and go."""
        limits = {
            "cpu_allocation_ratio": self.rng.choice((1.0, 2.0, 16.0)),
            "ram_allocation_ratio": self.rng.choice((1.0, 1.5)),
        }
        case: Data = {
            "host": self.cells(),
            "limits": limits if self.chance(0.5) else None,
            "conf": {PACKING: True} if self.chance(0.25) else {},
        }
        cells = len(case["host"]["cells"]) + self.chance(0.1)
        kind = self.rng.choice(("any", "fit", "sequence"))
        if kind == "any":
            image = self.image()
            return {**case, "flavor": self.flavor(), "image": image, "ops": ["api", "placement"]}
        if kind == "fit":
            return {**case, "flavor": self.sane_flavor(cells), "image": {}}
        steps: list[Data] = []
        placed: list[int] = []
        for number in range(self.rng.randint(3, 10)):
            if placed and self.chance(0.25):
                steps.append({"free": placed.pop(self.rng.randrange(len(placed)))})
            else:
                steps.append({"flavor": self.sane_flavor(cells), "image": {}})
                placed.append(number)
        return {**case, "seq": steps}

    def sane_flavor(self, most: int) -> Data:
        """Draw a flavor that Nova accepts, so that the fit decides; of ``most`` cells or fewer."""
        nodes = min(most, self.rng.choice((1, 1, 1, 2, 2, 4)))
        vcpus = self.rng.choice((1, 2, 2, 3, 4, 6)) * nodes
        specs = self.table(SANE) | ({"hw:numa_nodes": str(nodes)} if nodes > 1 else {})
        policy = self.rng.choice((*POLICIES, None))
        if policy:
            specs["hw:cpu_policy"] = policy
        if policy == "mixed":
            pinned = self.rng.sample(range(vcpus), self.rng.randint(1, max(1, vcpus - 1)))
            specs["hw:cpu_dedicated_mask"] = to_text(mask(pinned))
        if policy in ("dedicated", "mixed"):
            specs |= self.table(PINNED)
        memory = self.rng.choice((64, 128, 256, 512)) * nodes
        return {"name": "flavor", "vcpus": vcpus, "memory_mb": memory, "extra_specs": specs}
