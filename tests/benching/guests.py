# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running guests in files, and what auditing them takes."""

from __future__ import annotations

import json
import time
import typing as t
import uuid

from ansible_collections.pinguard.nova.plugins.plugin_utils._model import gathering
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.guest_audit import audit_guests
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import guest_report

from .fleet import peak_mb
from .sample import RELEASE

if t.TYPE_CHECKING:
    import pathlib

Data = dict[str, t.Any]

GUESTS = 40
"""On each host: realtime guests, pinned guests with policy isolate, and pinned ones, in turns."""
VCPUS, WORKERS = 4, 24
CELLS = (tuple(range(128)), tuple(range(128, 256)))
SHARED = 2
"""CPUs of each cell that no guest is pinned to."""


def write(folder: pathlib.Path, hosts: int) -> None:
    """Write a folder of facts and one of guest facts, a file a host in each."""
    for name, make in (("facts", _facts), ("guests", _guests)):
        (folder / name).mkdir()
        for number in range(hosts):
            path = folder / name / f"compute{number:05}.json"
            path.write_text(json.dumps(make(number)), encoding="utf-8")


def run(folder: pathlib.Path) -> Data:
    """Audit what :func:`write` wrote: seconds, peak memory of this process (MB), and counts."""
    start = time.perf_counter()
    sources = gathering.Sources(
        release=RELEASE, facts=str(folder / "facts"), guests=str(folder / "guests")
    )
    fleet = gathering.fleet(sources, flavors_needed=False)
    told = gathering.domains(sources)
    read = time.perf_counter() - start
    found = audit_guests(fleet, told)
    guest_report.document(found)
    guest_report.report(found, 100)
    return {
        "hosts": len(told),
        "guests": len(found.looks),
        "read": read,
        "seconds": time.perf_counter() - start,
        "findings": len(found.findings),
        "peak_mb": peak_mb(),
    }


def _facts(_number: int) -> Data:
    dedicated = [cpu for cell in CELLS for cpu in cell[SHARED:]]
    shared = [cpu for cell in CELLS for cpu in cell[:SHARED]]
    return {
        "format": 1,
        "release": RELEASE,
        "topology": {
            "online": "0-255",
            "cells": [
                {
                    "id": index,
                    "cpus": _text(cell),
                    "memory_mb": 524288,
                    "pages": {"4": 33554432, "1048576": 384},
                }
                for index, cell in enumerate(CELLS)
            ],
        },
        "nova": {
            "options": {
                "compute.cpu_dedicated_set": _text(dedicated),
                "compute.cpu_shared_set": _text(shared),
            }
        },
    }


def _guests(number: int) -> Data:
    free = [list(cell[SHARED:]) for cell in CELLS]
    return {
        "format": 1,
        "domains": [_domain(GUESTS * number + place, free) for place in range(GUESTS)],
    }


def _domain(number: int, free: list[list[int]]) -> Data:
    """Make a guest on one cell; of what is free there it takes what it is pinned to."""
    cell, realtime, isolated = number % 2, number % 3 == 0, number % 3 == 1
    pins = [free[cell].pop(0) for _vcpu in range(VCPUS)]
    emulator = [free[cell].pop(0)] if isolated else pins[:1] if realtime else pins
    fifo = range(1, VCPUS) if realtime else ()
    specs = {"hw:cpu_policy": "dedicated", "hw:mem_page_size": "1GB"}
    specs |= {"hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "^0"} if realtime else {}
    specs |= {"hw:emulator_threads_policy": "isolate"} if isolated else {}
    xml = {
        "vcpus": VCPUS,
        "iothreads": 1,
        "cputune": {
            "emulatorpin": _text(emulator),
            "iothreadpin": {"1": _text(emulator)},
            "vcpupin": {str(vcpu): str(cpu) for vcpu, cpu in enumerate(pins)},
            "vcpusched": {str(vcpu): {"policy": "fifo", "priority": 1} for vcpu in fifo},
        },
        "numatune": {"mode": "strict", "nodeset": str(cell), "memnode": {"0": str(cell)}},
        "backing": {"pages": {"0": 1048576}, "nosharepages": realtime, "locked": realtime},
        "cpu": {"mode": "host-model", "topology": [VCPUS, 1, 1]},
        "cells": [{"id": 0, "vcpus": f"0-{VCPUS - 1}", "memory_kb": 4194304, "shared": True}],
    }
    return {
        "id": str(uuid.UUID(int=number + 1)),
        "name": f"instance-{number:08x}",
        "running": True,
        "nova": {
            "package": RELEASE,
            "name": f"server{number}",
            "flavor": {"name": "".join(specs), "vcpus": VCPUS, "ram": 4096},
            "extra_specs": specs,
            "image_properties": {"hw_machine_type": "q35"},
        },
        "live": xml,
        "persistent": xml,
        "threads": [
            *(
                {
                    "id": 100 * number + vcpu + 1,
                    "name": f"CPU {vcpu}/KVM",
                    "kind": "vcpu",
                    "index": vcpu,
                    "cpus": str(cpu),
                    "policy": "fifo" if vcpu in fifo else "other",
                    "priority": 1 if vcpu in fifo else 0,
                }
                for vcpu, cpu in enumerate(pins)
            ),
            *(
                {
                    "id": 100 * number + worker + VCPUS + 1,
                    "name": "worker" if worker else "qemu-system-x86",
                    "kind": "emulator",
                    "main": not worker,
                    "cpus": _text(emulator),
                    "policy": "other",
                }
                for worker in range(WORKERS)
            ),
        ],
        "memory": {"locked_kb": 4194304 if realtime else 0},
    }


def _text(cpus: t.Iterable[int]) -> str:
    return ",".join(map(str, cpus))
