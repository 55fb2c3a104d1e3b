# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the scheduler asks Placement for: the primary query and the fallback.

Source throughout: ``nova/scheduler/utils.py``, ``ResourceRequest``; the union of both queries
``nova/scheduler/manager.py``, ``select_destinations``.
"""

from __future__ import annotations

import dataclasses
import math
import re
import typing as t

from . import constraints, image_properties, memory_encryption
from .errors import NovaError, crash
from .image_properties import HYPERTHREADING
from .releases import release as release_of

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .._model.flavor import Flavor, Image
    from .._model.host import Scheduler
    from .image_properties import ImageProperties
    from .releases import Release

STANDARD_CLASSES = frozenset(
    (
        "VCPU",
        "PCPU",
        "MEMORY_MB",
        "DISK_GB",
        "PCI_DEVICE",
        "SRIOV_NET_VF",
        "NUMA_SOCKET",
        "NUMA_CORE",
        "NUMA_THREAD",
        "NUMA_MEMORY_MB",
        "IPV4_ADDRESS",
        "VGPU",
        "VGPU_DISPLAY_HEAD",
        "NET_BW_EGR_KILOBIT_PER_SEC",
        "NET_BW_IGR_KILOBIT_PER_SEC",
        "NET_PACKET_RATE_KILOPACKET_PER_SEC",
        "NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC",
        "NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC",
        "MEM_ENCRYPTION_CONTEXT",
        "FPGA",
        "PGPU",
    )
)
"""Resource classes that Placement knows by itself (os-resource-classes)."""

_KEY = re.compile(r"(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)")
_NUMBERED_KEY = re.compile(r"(resources|trait)([1-9][0-9]*)?:(.*)")


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """What one provider has to give: amounts, and traits that it must or must not have."""

    suffix: str = ""
    """"" for the group whose amounts may come from several providers of a tree."""
    resources: Mapping[str, int] = dataclasses.field(default_factory=dict)
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """One query of allocation candidates."""

    groups: tuple[Group, ...]
    group_policy: str | None = None
    cpu_pinning_requested: bool = False
    """The policy is dedicated, so that the fallback query follows."""

    @property
    def resources(self) -> dict[str, int]:
        """Amounts by resource class, over all groups."""
        merged: dict[str, int] = {}
        for group in self.groups:
            for name, amount in group.resources.items():
                merged[name] = merged.get(name, 0) + amount
        return merged

    @property
    def unsuffixed(self) -> Group:
        """The group without a suffix; an empty one where there is none."""
        return next((group for group in self.groups if not group.suffix), Group())


class _Draft:
    """A group that is still being put together; it keeps amounts of 0."""

    def __init__(self) -> None:
        self.resources: dict[str, int] = {}
        self.required: set[str] = set()
        self.forbidden: set[str] = set()

    def group(self, suffix: str) -> Group:
        return Group(
            suffix,
            {name: amount for name, amount in self.resources.items() if amount},
            frozenset(self.required),
            frozenset(self.forbidden),
        )


def build(flavor: Flavor, image: Image, release: Release, *, translate: bool = True) -> Request:
    """Build one query from flavor and image.

    ``translate`` turns a pinning policy into PCPU and traits, as the primary query does; the
    fallback query is built without.

    Raises :class:`NovaError` as the constraints do, ``ImagePCINUMAPolicyForbidden`` or
    ``InvalidPCINUMAAffinity``; crashes with ``TypeError`` for mixed without a mask in 22.
    """
    properties = image_properties.read(image, release)
    drafts = {"": _Draft()}
    policy = _extra_specs(flavor, release, drafts)
    own = drafts[""]
    own.required |= properties.traits_required
    pinning = translate and _translate(flavor, properties, release, own)
    _defaults(flavor, drafts)
    encryption = memory_encryption.trait(flavor, properties)
    if encryption:
        own.resources["MEM_ENCRYPTION_CONTEXT"] = 1
        if release.encryption_trait:
            own.required.add(encryption)
    for label in constraints.pmem_labels(flavor):
        name = "CUSTOM_PMEM_NAMESPACE_" + re.sub(r"[^0-9A-Za-z]+", "_", label).upper()
        own.resources[name] = own.resources.get(name, 0) + 1
    if release.socket_affinity and pci_affinity(flavor, properties) == "socket":
        own.required.add("COMPUTE_SOCKET_PCI_NUMA_AFFINITY")
    groups = (draft.group(suffix) for suffix, draft in drafts.items())
    return Request(
        tuple(group for group in groups if group.resources or group.required or group.forbidden),
        policy,
        pinning,
    )


def _extra_specs(flavor: Flavor, release: Release, drafts: dict[str, _Draft]) -> str | None:
    """Read ``resources:``, ``trait:`` and ``group_policy`` into ``drafts``."""
    key_form = _KEY if release.any_suffix else _NUMBERED_KEY
    for key, value in flavor.extra_specs.items():
        found = key_form.fullmatch(key)
        if not found:
            continue
        kind, suffix, name = found[1], found[2] or "", found[3]
        if kind == "resources":
            amount = _amount(name, value)
            if amount is not None:
                drafts.setdefault(suffix, _Draft()).resources[name] = amount
        elif value in ("required", "forbidden"):
            draft = drafts.setdefault(suffix, _Draft())
            (draft.required if value == "required" else draft.forbidden).add(name)
    policy = flavor.extra_specs.get("group_policy")
    return policy if policy in ("none", "isolate") else None


def _amount(name: str, value: str) -> int | None:
    if not name.startswith("CUSTOM_") and name not in STANDARD_CLASSES:
        return None
    try:
        amount = int(value)
    except ValueError:
        return None
    return amount if amount >= 0 else None


def _translate(flavor: Flavor, image: ImageProperties, release: Release, own: _Draft) -> bool:
    """Turn the CPU policies into amounts and traits; True where the policy is dedicated."""
    policy = constraints.cpu_policy(flavor, image, release)
    threads = constraints.thread_policy(flavor, image)
    emulator = constraints.emulator_threads_policy(flavor)
    if policy in ("dedicated", "mixed"):
        pinned = flavor.vcpus
        if policy == "mixed":
            pinned = _mixed(flavor, image, release)
            own.resources["VCPU"] = flavor.vcpus - pinned
        own.resources["PCPU"] = pinned + (emulator == "isolate")
    if threads == "isolate":
        own.forbidden.add(HYPERTHREADING)
    elif threads == "require":
        own.required.add(HYPERTHREADING)
    return policy == "dedicated"


def _mixed(flavor: Flavor, image: ImageProperties, release: Release) -> int:
    dedicated = constraints.dedicated_cpus(flavor)
    realtime = constraints.realtime_cpus(flavor, image, release)
    pinned = dedicated or realtime
    if pinned is None and not release.counts_missing_mask:
        raise crash("TypeError", "policy mixed without a mask")
    return (pinned or 0).bit_count()


def _defaults(flavor: Flavor, drafts: dict[str, _Draft]) -> None:
    """Ask for the flavor's own sizes of each class that no extra spec names, be it with 0."""
    named = {name for draft in drafts.values() for name in draft.resources}
    own = drafts[""].resources
    if not named & {"VCPU", "PCPU"}:
        own["VCPU"] = flavor.vcpus
    if "MEMORY_MB" not in named:
        own["MEMORY_MB"] = flavor.memory_mb
    if "DISK_GB" not in named:
        disk = flavor.disk_gb + flavor.ephemeral_gb + math.ceil(flavor.swap_mb / 1024)
        if disk:
            own["DISK_GB"] = disk


def pci_affinity(flavor: Flavor, image: ImageProperties) -> str | None:
    """Settle the PCI NUMA affinity policy.

    Raises ``ImagePCINUMAPolicyForbidden`` or ``InvalidPCINUMAAffinity``.

    Source: ``nova/virt/hardware.py``, ``get_pci_numa_policy_constraint``.
    """
    asked = flavor.extra_specs.get("hw:pci_numa_affinity_policy")
    wished = image.pci_numa_affinity_policy
    if asked and wished and asked != wished:
        raise NovaError(
            "ImagePCINUMAPolicyForbidden", f"the image asks for {wished}, the flavor for {asked}"
        )
    policy = asked or wished
    if policy and policy not in ("required", "legacy", "preferred", "socket"):
        raise NovaError("InvalidPCINUMAAffinity", f"{policy!r} is no PCI NUMA affinity policy")
    return policy


def queries(flavor: Flavor, image: Image, scheduler: Scheduler) -> tuple[Request, Request | None]:
    """Build the primary query, and the fallback query where the scheduler sends one.

    The fallback does not wait for the primary to come back empty: the candidates of both are
    joined. Raises as :func:`build` does.
    """
    release = release_of(scheduler.release)
    primary = build(flavor, image, release)
    if not primary.cpu_pinning_requested or scheduler.disable_fallback_pcpu_query:
        return primary, None
    return primary, build(flavor, image, release, translate=False)
