# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image's properties as Nova types them, before it looks at anything else."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.cpu_list import CpuListError, parse_nova
from .errors import NovaError, crash

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .._model.flavor import Image
    from .releases import Release

HYPERTHREADING = "HW_CPU_HYPERTHREADING"
MOST_CELLS = 128
_TRUE = ("1", "t", "true", "on", "y", "yes")


def truth(value: object) -> bool:
    """Read a boolean as Nova does: anything but a word for yes is no.

    Source: ``oslo_utils.strutils.bool_from_string``.
    """
    return str(value).strip().lower() in _TRUE


def cpu_set(text: str) -> int:
    """Read a CPU list within a request; raises Nova's ``Invalid``."""
    try:
        return parse_nova(text)
    except CpuListError as error:
        raise NovaError("Invalid", str(error)) from None


def number(key: str, value: object) -> int:
    """Read an integer where Nova lets Python's own error out."""
    try:
        return int(t.cast("str", value))
    except (TypeError, ValueError):
        raise crash("ValueError", f"{key}: {value!r} is no whole number") from None


def indexed(prefix: str, values: Mapping[str, t.Any]) -> list[t.Any] | None:
    """List ``prefix.0``, ``prefix.1`` and so on up to the first that is missing; None without 0."""
    found = []
    for index in range(MOST_CELLS):
        if f"{prefix}.{index}" not in values:
            break
        found.append(values[f"{prefix}.{index}"])
    return found or None


@dataclasses.dataclass(frozen=True, slots=True)
class ImageProperties:
    """The properties that decide about CPUs and memory; None where the image says nothing."""

    cpu_policy: str | None = None
    cpu_thread_policy: str | None = None
    cpu_realtime_mask: str | None = None
    mem_page_size: str | None = None
    numa_nodes: int | None = None
    numa_cpus: tuple[int, ...] | None = None
    numa_mem: tuple[int, ...] | None = None
    cpu_sockets: int | None = None
    cpu_cores: int | None = None
    cpu_threads: int | None = None
    cpu_max_sockets: int | None = None
    cpu_max_cores: int | None = None
    cpu_max_threads: int | None = None
    pci_numa_affinity_policy: str | None = None
    locked_memory: bool | None = None
    mem_encryption: bool | None = None
    mem_encryption_model: str | None = None
    firmware_type: str | None = None
    firmware_stateless: bool = False
    machine_type: str | None = None
    video_model: str | None = None
    pmu: bool | None = None
    architecture: str | None = None
    """Of the guest, emulated or not."""
    address_mode: str | None = None
    address_bits: int | None = None
    serial_port_count: int | None = None
    vif_multiqueue_enabled: bool | None = None
    traits_required: frozenset[str] = frozenset()


def read(image: Image, release: Release) -> ImageProperties:
    """Type the properties of an image; those that the release does not know are passed over.

    Raises :class:`NovaError`: a crash with ``ValueError`` (the API turns it into
    ``InvalidRequest``), or ``Invalid`` for a CPU list.

    Source: ``nova/objects/image_meta.py``, ``ImageMetaProps.from_dict``.
    """
    given = image.properties
    if not given:
        return _NONE
    own = {key[3:]: value for key, value in given.items() if key.startswith("hw_")}
    policies = ("dedicated", "shared", "mixed") if release.mixed_policy else ("dedicated", "shared")
    affinities = ("required", "legacy", "preferred") + (
        ("socket",) if release.socket_affinity else ()
    )

    def word(key: str, accepted: tuple[str, ...]) -> str | None:
        value = own.get(key)
        if value is not None and str(value) not in accepted:
            raise crash("ValueError", f"hw_{key}: {value!r} is none of {', '.join(accepted)}")
        return None if value is None else str(value)

    def text(key: str) -> str | None:
        value = own.get(key)
        return None if value is None else str(value)

    def integer(key: str) -> int | None:
        value = own.get(key)
        return None if value is None else number(f"hw_{key}", value)

    def boolean(key: str) -> bool | None:
        value = own.get(key)
        return None if value is None else truth(value)

    cpu_policy = word("cpu_policy", policies)
    thread_policy = word("cpu_thread_policy", ("prefer", "isolate", "require"))
    numbers = {
        key: integer(key)
        for key in (
            "cpu_cores",
            "cpu_max_cores",
            "cpu_max_sockets",
            "cpu_max_threads",
            "cpu_sockets",
            "cpu_threads",
        )
    }
    firmware_type = word("firmware_type", ("bios", "uefi"))
    cpus = indexed("hw_numa_cpus", given)
    cells = None if cpus is None else tuple(cpu_set(str(spec)) for spec in cpus)
    memory = indexed("hw_numa_mem", given)
    memories = None if memory is None else tuple(number("hw_numa_mem", mb) for mb in memory)
    return ImageProperties(
        cpu_policy=cpu_policy,
        cpu_thread_policy=thread_policy,
        cpu_realtime_mask=text("cpu_realtime_mask"),
        mem_page_size=text("mem_page_size"),
        numa_nodes=integer("numa_nodes"),
        numa_cpus=cells,
        numa_mem=memories,
        pci_numa_affinity_policy=(
            word("pci_numa_affinity_policy", affinities) if release.pci_affinity else None
        ),
        locked_memory=boolean("locked_memory") if release.locked_memory else None,
        mem_encryption=boolean("mem_encryption"),
        mem_encryption_model=text("mem_encryption_model"),
        firmware_type=firmware_type,
        firmware_stateless=bool(boolean("firmware_stateless")),
        machine_type=text("machine_type"),
        video_model=text("video_model"),
        pmu=boolean("pmu"),
        architecture=text("emulation_architecture")
        or text("architecture")
        or given.get("architecture"),
        address_mode=(
            word("maxphysaddr_mode", ("passthrough", "emulate")) if release.address_bits else None
        ),
        address_bits=integer("maxphysaddr_bits") if release.address_bits else None,
        serial_port_count=integer("serial_port_count"),
        vif_multiqueue_enabled=boolean("vif_multiqueue_enabled"),
        traits_required=frozenset(
            key.removeprefix("trait:")
            for key, value in given.items()
            if key.startswith("trait:") and value == "required"
        ),
        **numbers,
    )


_NONE = ImageProperties()
