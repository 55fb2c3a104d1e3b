# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flavors and hosts to measure with: the same from run to run, each host with another usage."""

from __future__ import annotations

import itertools
import random
import typing as t

Data = dict[str, t.Any]

RELEASE = "34.0.0"
CORES = 24
CELLS = 2
FREE_VCPUS = (2, 4, 8, 12, 16)


def flavors() -> list[Data]:
    """List flavors that are pinned in every way that the fit tells apart."""
    dedicated = {"hw:cpu_policy": "dedicated"}
    mixed = {"hw:cpu_policy": "mixed"}
    ways: list[dict[str, str]] = [
        dedicated,
        {**dedicated, "hw:cpu_thread_policy": "require"},
        {**dedicated, "hw:cpu_thread_policy": "isolate"},
        {**dedicated, "hw:cpu_thread_policy": "prefer", "hw:mem_page_size": "large"},
        {**dedicated, "hw:emulator_threads_policy": "isolate", "hw:mem_page_size": "2048"},
        {**dedicated, "hw:numa_nodes": "2", "hw:mem_page_size": "2048"},
        {**mixed, "hw:cpu_dedicated_mask": "^0"},
    ]
    return [
        {
            "name": f"f{vcpus}-{index}",
            "vcpus": vcpus,
            "memory_mb": vcpus * 2048,
            "extra_specs": way,
        }
        for vcpus, (index, way) in itertools.product(FREE_VCPUS, enumerate(ways))
    ]


def hosts(count: int) -> list[Data]:
    """Make new-style hosts of two cells, 24 cores each of two threads, no two of equal usage."""
    rng = random.Random(34)
    return [{"cells": [_cell(rng, number) for number in range(CELLS)]} for _rest in range(count)]


def _cell(rng: random.Random, number: int) -> Data:
    """Keep two cores of a cell for floating guests; the rest is pinned to by chance."""
    cores = [[core, core + CELLS * CORES] for core in range(number * CORES, (number + 1) * CORES)]
    shared, dedicated = cores[:2], cores[2:]
    cpus = [cpu for core in dedicated for cpu in core]
    return {
        "id": number,
        "cpuset": sorted(cpu for core in shared for cpu in core),
        "pcpuset": sorted(cpus),
        "memory": 196608,
        "siblings": cores,
        "mempages": [
            [4, 33554432, rng.randrange(33554432), 0],
            [2048, 32768, rng.randrange(10000, 32768), 0],
        ],
        "pinned_cpus": sorted(rng.sample(cpus, rng.randrange(24, len(cpus) + 1))),
        "cpu_usage": rng.randrange(32),
        "memory_usage": rng.randrange(131072),
    }
