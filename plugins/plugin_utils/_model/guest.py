# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Nova derives from flavor and image: the NUMA topology that a guest asks for."""

from __future__ import annotations

import dataclasses


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

    @property
    def pinned(self) -> bool:
        """True for the policies dedicated and mixed."""
        return self.cpu_policy in ("dedicated", "mixed")


@dataclasses.dataclass(frozen=True, slots=True)
class Guest:
    """The NUMA topology that a guest asks for; a guest without one is None wherever a guest is
    passed."""

    cells: tuple[GuestCell, ...]
    emulator_threads_policy: str | None = None
