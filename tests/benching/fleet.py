# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet in files, and what auditing it takes."""

from __future__ import annotations

import json
import pathlib
import resource
import time
import typing as t

from ansible_collections.pinguard.nova.plugins.plugin_utils._model import documents, loading
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor_files import read_flavors
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Fleet, Scheduler
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.guest_xml import (
    places_of,
    predict,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import Audit, audit

from .sample import RELEASE

Data = dict[str, t.Any]

CLASSES = 30
PAGES_2M = 40960


def write(folder: pathlib.Path, hosts: int, flavors: int) -> None:
    """Write a folder of facts, a file a host, and a file of flavors."""
    facts = folder / "facts"
    facts.mkdir()
    texts = [json.dumps(_facts(number)) for number in range(CLASSES)]
    for number in range(hosts):
        text = texts[number % CLASSES]
        (facts / f"compute{number:05}.json").write_text(text, encoding="utf-8")
    document = {"format": 1, "flavors": [_flavor(number) for number in range(flavors)]}
    (folder / "flavors.json").write_text(json.dumps(document), encoding="utf-8")


def run(folder: pathlib.Path) -> Data:
    """Audit what :func:`write` wrote: seconds, peak memory of this process (MB), and counts."""
    start = time.perf_counter()
    named = loading.facts_folder(str(folder / "facts"))
    classes = documents.classes(named, RELEASE)
    flavors = read_flavors(str(folder / "flavors.json"))
    read = time.perf_counter() - start
    found = audit(Fleet(Scheduler(RELEASE), classes, flavors))
    seconds, most_mb = time.perf_counter() - start, peak_mb()
    return {
        "hosts": sum(len(each.names) for each in classes),
        "classes": len(classes),
        "flavors": len(flavors),
        "read": read,
        "seconds": seconds,
        "findings": len(found.findings),
        "rows": len(found.rows),
        "peak_mb": most_mb,
        **_xmls(found),
    }


def _xmls(found: Audit) -> Data:
    """Write the XML of each flavor on each class of hosts that it boots on."""
    placed = [
        (case, host, outcome.fitted)
        for case in found.rows
        for host, outcome in zip(case.hosts, case.outcomes, strict=True)
        if outcome.boots
    ]
    start = time.perf_counter()
    for case, host, fitted in placed:
        places, release = places_of(fitted), host.release
        where = (case.guest, places, host.host, release, fitted, host.cells)
        predict(case.flavor, case.image, *where)
    return {"xmls": len(placed), "xml_seconds": time.perf_counter() - start}


def peak_mb() -> float:
    """Read the most memory that this process had resident.

    Not from getrusage where /proc is: its figure starts at the size of the process that spawned
    this one, which has Nova loaded.
    """
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def _facts(number: int) -> Data:
    """Make the facts of a class: releases, sizes, and new-style, legacy or shared-only hosts."""
    cores = 8 + 4 * (number % 5)
    total = 2 * cores
    threads = 2 if number % 3 else 1
    cpus = [
        [core + thread * total for core in range(cell * cores, (cell + 1) * cores)]
        for cell in range(2)
        for thread in range(threads)
    ]
    cells = [
        sorted(cpu for part in cpus[cell * threads : (cell + 1) * threads] for cpu in part)
        for cell in range(2)
    ]
    own = sorted(cpu for cell in cells for cpu in cell if cpu % cores > 1)
    shared = sorted(cpu for cell in cells for cpu in cell if cpu % cores <= 1)
    options = {
        0: {"compute.cpu_dedicated_set": _text(own), "compute.cpu_shared_set": _text(shared)},
        1: {"vcpu_pin_set": _text(own)},
        2: {"compute.cpu_shared_set": _text(own + shared)},
    }[(number // 3) % 3]
    return {
        "format": 1,
        "release": ("27.1.0", "29.2.0", RELEASE)[number % 3],
        "topology": {
            "online": f"0-{total * threads - 1}",
            "cells": [
                {
                    "id": index,
                    "cpus": _text(members),
                    "memory_mb": 131072 + 1024 * number,
                    "pages": {"4": 12582912 + 262144 * number, "2048": PAGES_2M},
                }
                for index, members in enumerate(cells)
            ],
            "siblings": [f"{core},{core + total}" for core in range(total) if threads == 2],
        },
        "nova": {"options": options},
    }


def _text(cpus: list[int]) -> str:
    return ",".join(map(str, sorted(cpus)))


def _flavor(number: int) -> Data:
    """Make a flavor that no other is equal to."""
    specs: dict[str, str] = {}
    if number % 4:
        specs["hw:cpu_policy"] = "dedicated"
    if number % 4 == 2:
        specs["hw:cpu_thread_policy"] = ("require", "isolate", "prefer")[number // 4 % 3]
    if number % 4 == 3:
        specs["hw:emulator_threads_policy"] = "isolate"
    if number % 5 == 0:
        specs["hw:numa_nodes"] = "2"
    if number % 2:
        specs["hw:mem_page_size"] = "large"
    return {
        "name": f"flavor{number:04}",
        "vcpus": 2 * (1 + number % 12),
        "ram": 1024 + 2 * number,
        "disk": 20,
        "extra_specs": specs,
    }
