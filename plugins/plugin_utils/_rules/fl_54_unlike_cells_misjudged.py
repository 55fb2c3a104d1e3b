# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guest with unlike cells that Nova misjudges.

From 26.0.0 on the fit remembers which cells fit by an id that it rewrites meanwhile: guests with
unlike cells are refused although they fit, or taken unchecked. In every release a page size once
chosen sticks to a cell although the attempt failed.

Source: ``nova/virt/hardware.py``, ``numa_fit_instance_to_host``, commit 099a6f63af.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._nova.fit import fit
from . import flavors
from .examples import a_flavor, a_host, topology
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.guest import Guest, GuestCell


def _check(case: FlavorCase) -> Iterator[Detail]:
    if case.guest is None or len(set(map(_shape, case.guest.cells))) < 2:
        return
    for host, outcome in zip(case.hosts, case.outcomes, strict=True):
        if host.cells is None or outcome.stage in ("api", "startup", "placement"):
            continue
        sound = dataclasses.replace(host.release, fit_caches=False)
        wishes = [0, *sorted({pool.size_kb for cell in host.cells for pool in cell.pages})]
        marked = any((cell.page_size_kb or 0) < 0 for cell in case.guest.cells)
        fits = any(
            fit(host.cells, _sized(case.guest, wish) if wish else case.guest, sound)
            for wish in (wishes if marked else wishes[:1])
        )
        if fits != outcome.boots:
            yield Detail(
                "the guest's cells are unlike, and Nova "
                + ("refuses the host although they fit" if fits else "takes it unchecked"),
                "NoValidHost although there is room" if fits else "pins of another cell, or none",
                flavors.unset_command(
                    case,
                    *(key for key in case.flavor.extra_specs if key.startswith(_LISTS)),
                )
                + "  # cells alike",
                hosts=host.names[:1],
            )


_LISTS = ("hw:numa_cpus.", "hw:numa_mem.", "hw:cpu_dedicated_mask")


def _shape(cell: GuestCell) -> tuple[object, ...]:
    return cell.pinned_count, cell.floating_count, cell.memory_mb


def _sized(guest: Guest, size_kb: int) -> Guest:
    cells = tuple(dataclasses.replace(cell, page_size_kb=size_kb) for cell in guest.cells)
    return dataclasses.replace(guest, cells=cells)


RULE = Rule(
    code="FL-54",
    severity=Severity.ERROR,
    title="Guest with unlike cells that Nova misjudges",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(
        a_host(
            topology(cells=3, cores=4, threads=1),
            cpu_shared_set="2-3,8-11",
            cpu_dedicated_set="0-1,4-7",
        ),
        vcpus=4,
        cpu_policy="dedicated",
        numa_nodes="2",
        specs={
            "hw:numa_cpus.0": "0",
            "hw:numa_cpus.1": "1-3",
            "hw:numa_mem.0": "1024",
            "hw:numa_mem.1": "3072",
        },
    ),
    good=lambda: a_flavor(
        a_host(topology(cells=2, cores=4, threads=1), cpu_dedicated_set="0-7"),
        vcpus=4,
        cpu_policy="dedicated",
        numa_nodes="2",
        specs={
            "hw:numa_cpus.0": "0",
            "hw:numa_cpus.1": "1-3",
            "hw:numa_mem.0": "1024",
            "hw:numa_mem.1": "3072",
        },
    ),
)
