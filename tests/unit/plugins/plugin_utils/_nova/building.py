# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small hosts, flavors and images for the tests of the engine."""

from __future__ import annotations

import typing as t

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import ids, parse_nova
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import set_order
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import HostConfig
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor, Image
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host_cell import (
    HostCell,
    Pages,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import CellPlace, Server
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.topology import (
    Cpu,
    NumaCell,
    PagePool,
    Topology,
)

PAIRS = "0,4 1,5 2,6 3,7"
SINGLES = "0 1 2 3 4 5 6 7"
ALL_FREE_4K = ((4, 2097152),)
THREE_SIZES = ((4, 1048576), (2048, 2048), (1048576, 2))


def flavor(specs: str = "", *, vcpus: int = 4, memory_mb: int = 2048, **more: t.Any) -> Flavor:
    """Make a flavor; ``specs`` are ``key=value`` words, keys in ``hw:`` without their prefix."""
    pairs = (word.split("=", 1) for word in specs.split())
    named = {key if ":" in key else f"hw:{key}": value for key, value in pairs}
    named = {"group_policy" if key == "hw:group_policy" else key: v for key, v in named.items()}
    return Flavor("f", vcpus, memory_mb, named, **more)


def image(properties: str = "") -> Image:
    """Make an image; ``properties`` are ``key=value`` words, keys without ``hw_``."""
    pairs = (word.split("=", 1) for word in properties.split())
    return Image("i", {key if ":" in key else f"hw_{key}": value for key, value in pairs})


def host_cell(
    dedicated: str,
    shared: str = "",
    cores: str = PAIRS,
    pages: tuple[tuple[int, ...], ...] = ALL_FREE_4K,
    pinned: str = "",
    **more: t.Any,
) -> HostCell:
    """Make a host cell; ``cores`` are words of thread siblings, ``pages`` rows of numbers."""
    pcpuset = parse_nova(dedicated)
    given = {"id": 0, "memory_mb": 8192, **more}
    return HostCell(
        cpuset=parse_nova(shared),
        pcpuset=pcpuset,
        siblings=tuple(set_order.rebuilt(map(int, core.split(","))) for core in cores.split()),
        pages=tuple(Pages(*pool) for pool in pages),
        pcpus=tuple(ids(pcpuset)),
        pinned_cpus=parse_nova(pinned),
        **given,
    )


def topology(
    cores: str = PAIRS,
    *,
    cells: int = 1,
    offline: int = 0,
    memory_mb: int = 8192,
    pages: tuple[tuple[int, int], ...] = ALL_FREE_4K,
) -> Topology:
    """Make a host whose cores are spread evenly over its cells, in order."""
    siblings = [tuple(map(int, core.split(","))) for core in cores.split()]
    share = len(siblings) // cells
    numa = tuple(
        NumaCell(
            number,
            tuple(
                Cpu(cpu, core, number)
                for core in siblings[number * share : (number + 1) * share]
                for cpu in core
                if not offline >> cpu & 1
            ),
            memory_mb,
            tuple(PagePool(*pool) for pool in pages),
        )
        for number in range(cells)
    )
    online = sum(cell.cpuset for cell in numa)
    return Topology(numa, online, online | offline)


def host(
    cores: str = PAIRS, release: str = "34.0.0", more: dict[str, t.Any] | None = None, **opts: t.Any
) -> Host:
    """Make a host; ``opts`` are its options, ``more`` its other fields."""
    given = {"topology": topology(cores), **(more or {})}
    return Host("h", release, config=HostConfig(**opts), **given)


def server(
    specs: str = "",
    *pins: int,
    name: str = "s",
    reserved: str = "",
    allocation: dict[str, int] | None = None,
    **more: t.Any,
) -> Server:
    """Make a server, pinned to ``pins`` vCPU by vCPU; ``specs`` and ``more`` are its flavor's."""
    made = flavor(specs, **{"vcpus": len(pins) or 2, "memory_mb": 512, **more})
    places = (CellPlace(0, dict(enumerate(pins)), parse_nova(reserved)),) if pins else ()
    return Server(name, name, "h", made, places=places, allocation=allocation)
