# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Nova derives from flavor and image: the NUMA topology that a guest asks for."""

from __future__ import annotations

import dataclasses

from ...module_utils._read.cpu_list import size


@dataclasses.dataclass(frozen=True, slots=True)
class GuestCell:
    """One NUMA cell of a guest. Sets of vCPUs are bitmasks.

    Source: ``nova/objects/instance_numa.py``, ``InstanceNUMACell``.
    """

    id: int
    cpuset: int
    """vCPUs that float over the host cell's shared CPUs."""
    pcpuset: int
    """vCPUs that are pinned."""
    memory_mb: int
    page_size_kb: int | None = None
    """KiB, or -1 small, -2 large, -3 any; None or 0 for no wish."""
    cpu_policy: str | None = None
    cpu_thread_policy: str | None = None

    pinned: bool = dataclasses.field(init=False)
    """True for the policies dedicated and mixed."""
    pinned_count: int = dataclasses.field(init=False)
    floating_count: int = dataclasses.field(init=False)
    """Sizes of ``pcpuset`` and ``cpuset``."""
    memory_kb: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        for name, value in {
            "pinned": self.cpu_policy in ("dedicated", "mixed"),
            "pinned_count": size(self.pcpuset),
            "floating_count": size(self.cpuset),
            "memory_kb": self.memory_mb * 1024,
        }.items():
            object.__setattr__(self, name, value)


@dataclasses.dataclass(frozen=True, slots=True)
class Guest:
    """The NUMA topology that a guest asks for; a guest without one is None wherever a guest is
    passed."""

    cells: tuple[GuestCell, ...]
    emulator_threads_policy: str | None = None
