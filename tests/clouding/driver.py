# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nova's fake hypervisor with NUMA cells and dedicated CPUs; runs within Nova's environment."""

from __future__ import annotations

import typing as t

from nova import objects
from nova.virt import fake

SHARED, DEDICATED, CELLS = range(4), range(4, 8), 2
"""CPUs of each cell, from its first; a cell has as many as both together."""
MEMORY_MB = 8192
"""Memory of each cell."""


class PinningDriver(fake.FakeDriver):  # type: ignore[misc]
    """A host of two cells with four shared and four dedicated CPUs each."""

    capabilities: t.ClassVar[dict[str, bool]] = {
        **fake.FakeDriver.capabilities,
        "supports_pcpus": True,
    }
    vcpus = CELLS * len(SHARED)
    memory_mb = CELLS * MEMORY_MB
    local_gb = 1000

    def get_available_resource(self, nodename: str) -> dict[str, t.Any]:
        found: dict[str, t.Any] = super().get_available_resource(nodename)
        width = len(SHARED) + len(DEDICATED)
        cells = [
            objects.NUMACell(
                id=cell,
                cpuset={cell * width + cpu for cpu in SHARED},
                pcpuset={cell * width + cpu for cpu in DEDICATED},
                memory=MEMORY_MB,
                cpu_usage=0,
                memory_usage=0,
                pinned_cpus=set(),
                mempages=[objects.NUMAPagesTopology(size_kb=4, total=MEMORY_MB * 256, used=0)],
                siblings=[{cell * width + cpu} for cpu in range(width)],
                network_metadata=objects.NetworkMetadata(physnets=set(), tunneled=False),
                socket=cell,
            )
            for cell in range(CELLS)
        ]
        return {**found, "numa_topology": objects.NUMATopology(cells=cells)._to_json()}

    def update_provider_tree(
        self, provider_tree: t.Any, nodename: str, allocations: t.Any = None
    ) -> None:
        super().update_provider_tree(provider_tree, nodename, allocations)
        pinnable = CELLS * len(DEDICATED)
        one = {"min_unit": 1, "step_size": 1, "allocation_ratio": 1.0, "reserved": 0}
        inventory = provider_tree.data(nodename).inventory
        inventory["PCPU"] = {**one, "total": pinnable, "max_unit": pinnable}
        provider_tree.update_inventory(nodename, inventory)
