# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the compute API refuses when extra specs are stored with microversion 2.86 or newer.

Flavors made with an older microversion are not checked, and the common clients use older ones.

Source throughout: ``nova/api/validation/extra_specs``.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

if t.TYPE_CHECKING:
    from .releases import Release

_LIST = r"(\d+(-\d+)?(,\^?\d+(-\d+)?)*)"
_COUNT = r"[1-9]\d*|0*[1-9]\d*"
_BOOLEAN = r"(?i:1|t|true|on|y|yes|0|f|false|off|n|no)"


@dataclasses.dataclass(frozen=True, slots=True)
class _Form:
    """The form of a value: a pattern for all of it, and its words."""

    pattern: str
    words: str


_BOOL = _Form(_BOOLEAN, "a boolean")
_FROM_1 = _Form(_COUNT, "a whole number from 1 up")
_MASK = _Form(rf"\^?{_LIST}", "a list of vCPUs, with an optional ^")


def _choice(*words: str) -> _Form:
    return _Form("|".join(map(re.escape, words)), "one of " + ", ".join(words))


def _forms(release: Release) -> dict[str, _Form]:
    mixed = ("mixed",) if release.mixed_policy else ()
    socket = ("socket",) if release.socket_affinity else ()
    realtime = _MASK if release.literal_mask_validator else _Form(rf"\^{_LIST}", "a mask with ^")
    most = "cpu_max" if release.max_topology_validator else "max_cpu"
    forms = {
        "cpu_policy": _choice("dedicated", "shared", *mixed),
        "cpu_thread_policy": _choice("prefer", "isolate", "require"),
        "emulator_threads_policy": _choice("isolate", "share"),
        "cpu_realtime": _BOOL,
        "cpu_realtime_mask": realtime,
        "mem_page_size": _Form(
            r"large|small|any|\d+([kKMGT]i?)?(b|bit|B)?", "large, small, any or a size"
        ),
        "numa_nodes": _FROM_1,
        "cpu_sockets": _FROM_1,
        "cpu_cores": _FROM_1,
        "cpu_threads": _FROM_1,
        f"{most}_sockets": _FROM_1,
        f"{most}_cores": _FROM_1,
        f"{most}_threads": _FROM_1,
        "pci_numa_affinity_policy": _choice("required", "preferred", "legacy", *socket),
    }
    if release.mixed_policy:
        forms["cpu_dedicated_mask"] = _MASK
    if release.locked_memory:
        forms["locked_memory"] = _BOOL
    return forms


_INDEXED = {"numa_cpus": _MASK, "numa_mem": _FROM_1}
_INDEX = re.compile(r"(numa_cpus|numa_mem)\.\d+")
FREE = (
    "boot_menu",
    "cdrom_bus",
    "cpu_shares_multiplier",
    "ephemeral_encryption",
    "ephemeral_encryption_format",
    "ephemeral_encryption_secret_uuid",
    "hide_hypervisor_id",
    "input_bus",
    "maxphysaddr_bits",
    "maxphysaddr_mode",
    "mem_encryption",
    "mem_encryption_model",
    "pmem",
    "pmu",
    "serial_port_count",
    "sound_model",
    "tpm_model",
    "tpm_secret_security",
    "tpm_version",
    "usb_model",
    "vif_multiqueue_enabled",
    "viommu_model",
    "virtio_packed_ring",
    "watchdog_action",
)
"""Keys of the ``hw:`` namespace that have nothing to do with CPUs; their values are not judged."""


def known_keys(release: Release) -> frozenset[str]:
    """List the ``hw:`` extra specs that the API knows, without their prefix."""
    return frozenset((*_forms(release), *_INDEXED, *FREE))


def check(key: str, value: str, release: Release) -> str | None:
    """Say why the API refuses to store an extra spec; None where it does not.

    Only the ``hw:`` namespace is judged, and of it only what decides about CPUs and memory.
    """
    namespace, colon, name = key.partition(":")
    if namespace != "hw" or not colon:
        return None
    indexed = _INDEX.fullmatch(name)
    form = _INDEXED[indexed[1]] if indexed else _forms(release).get(name)
    if form is None:
        return None if name in FREE else f"{key} is no extra spec of Nova"
    if re.fullmatch(form.pattern, value):
        return None
    return f"{key}: {value!r} is not {form.words}"
