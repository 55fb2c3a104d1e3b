# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host's ``nova.conf`` says about CPUs and memory: the allow-listed options, typed."""

from __future__ import annotations

import dataclasses
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class HugePages:
    """One ``reserved_huge_pages`` entry as written: texts, since Nova reads them only when it
    builds its NUMA cells; None for a key that is missing."""

    node: str | None
    size: str | None
    count: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class OptionFault:
    """A value that oslo.config refuses: the service stops when it reads the option."""

    option: str
    value: str
    accepted: str


@dataclasses.dataclass(frozen=True, slots=True)
class StrayOption:
    """A key of ``nova.conf`` that Nova does not read where it stands."""

    key: str
    section: str
    where: str
    belongs: str
    """The ``[section] key`` that was probably meant."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostConfig:
    """The options by their own names, with Nova's defaults where unset.

    CPU sets stay texts here: reading them is Nova's work (and its error, if it has one).
    """

    vcpu_pin_set: str | None = None
    cpu_shared_set: str | None = None
    cpu_dedicated_set: str | None = None
    reserved_host_cpus: int = 0
    reserved_host_memory_mb: int = 512
    reserved_huge_pages: tuple[HugePages, ...] = ()
    cpu_allocation_ratio: float | None = None
    ram_allocation_ratio: float | None = None
    initial_cpu_allocation_ratio: float | None = None
    initial_ram_allocation_ratio: float | None = None
    packing_host_numa_cells_allocation_strategy: bool | None = None
    cpu_power_management: bool = False
    cpu_power_management_strategy: str = "cpu_state"
    file_backed_memory: int = 0
    realtime_scheduler_priority: int = 1
    cpu_mode: str | None = None
    cpu_models: tuple[str, ...] = ()
    disable_fallback_pcpu_query: bool = False
    enabled_filters: tuple[str, ...] | None = None
    faults: tuple[OptionFault, ...] = ()
    strays: tuple[StrayOption, ...] = ()
    origins: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Option name to the ``file:line`` of its value, for the options that are set."""

    def where(self, option: str) -> str:
        """Say where an option is set: ``file:line``, or ``nova.conf`` where that is unknown."""
        return self.origins.get(option, "nova.conf")
