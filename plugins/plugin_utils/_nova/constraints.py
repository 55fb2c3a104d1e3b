# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From flavor and image to the guest's NUMA topology, or to the error that the API answers with.

Source throughout: ``nova/virt/hardware.py``, ``numa_get_constraints`` and what it calls.
"""

from __future__ import annotations

import math
import re
import typing as t

from ...module_utils._read.cpu_list import ids, size
from .._model.guest import Guest, GuestCell
from . import cpu_topology, image_properties, memory_encryption
from .errors import NovaError, crash
from .image_properties import HYPERTHREADING, ImageProperties, cpu_set, indexed, number, truth

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .._model.flavor import Flavor, Image
    from .releases import Release

SMALL, LARGE, ANY = -1, -2, -3
_PAGE_WORDS = {"small": SMALL, "large": LARGE, "any": ANY}
_UNIT_TEXT = re.compile(r"([-+]?\d*\.?\d+)(?:([KMGT])i?)?(b|bit|B)")
_LONGEST = 300
"""Characters of a page size from which on Python cannot make the number; Nova falls over."""
_UNITS = {"K": 1, "M": 2, "G": 3, "T": 4}
_THREAD_POLICIES = ("prefer", "isolate", "require")
_RESOURCES = re.compile(r"resources(?:[1-9][0-9]*)?:(VCPU|PCPU)")
_TRAIT = re.compile(r"trait(?:[1-9][0-9]*)?:" + HYPERTHREADING)


def cpu_policy(flavor: Flavor, image: ImageProperties, release: Release) -> str | None:
    """Settle the CPU policy of flavor and image: shared, dedicated, mixed or none.

    Source: ``get_cpu_policy_constraint``.
    """
    asked = flavor.extra_specs.get("hw:cpu_policy") or None
    wished = image.cpu_policy
    known = ("shared", "dedicated", "mixed") if release.mixed_policy else ("shared", "dedicated")
    if asked is not None and asked not in known:
        raise NovaError(
            "InvalidCPUAllocationPolicy",
            f"hw:cpu_policy is {asked!r}, not one of {', '.join(known)}",
        )
    if asked is None:
        return None if wished == "shared" and not release.image_shared_policy else wished
    forbidden = {"shared": ("dedicated", "mixed"), "mixed": ("dedicated",), "dedicated": ()}
    if wished in forbidden[asked]:
        raise NovaError(
            "ImageCPUPinningForbidden", f"the image asks for {wished}, the flavor for {asked}"
        )
    return asked


def thread_policy(flavor: Flavor, image: ImageProperties) -> str | None:
    """Settle the CPU thread policy; prefer of a flavor beats whatever the image says.

    Source: ``get_cpu_thread_policy_constraint``.
    """
    asked = flavor.extra_specs.get("hw:cpu_thread_policy")
    wished = image.cpu_thread_policy
    if asked and asked not in _THREAD_POLICIES:
        raise NovaError(
            "InvalidCPUThreadAllocationPolicy",
            f"hw:cpu_thread_policy is {asked!r}, not one of {', '.join(_THREAD_POLICIES)}",
        )
    if asked is None or asked == "prefer":
        return asked or wished
    if wished is not None and wished != asked:
        raise NovaError(
            "ImageCPUThreadPolicyForbidden", f"the image asks for {wished}, the flavor for {asked}"
        )
    return asked


def emulator_threads_policy(flavor: Flavor) -> str | None:
    """Read the emulator threads policy; only a flavor has one.

    Source: ``get_emulator_thread_policy_constraint``.
    """
    asked = flavor.extra_specs.get("hw:emulator_threads_policy") or None
    if asked not in (None, "share", "isolate"):
        raise NovaError(
            "InvalidEmulatorThreadsPolicy",
            f"hw:emulator_threads_policy is {asked!r}, not share or isolate",
        )
    return asked


def _all_vcpus(flavor: Flavor) -> int:
    return (1 << flavor.vcpus) - 1


def _masked(flavor: Flavor, mask: str) -> int:
    """Read a mask of vCPUs: one that starts with ``^`` takes from all of them."""
    text = mask.strip()
    return cpu_set(f"0-{flavor.vcpus - 1},{text}" if text.startswith("^") else text)


def _realtime_mask(flavor: Flavor, image: ImageProperties) -> str | None:
    return image.cpu_realtime_mask or flavor.extra_specs.get("hw:cpu_realtime_mask") or None


def _no_mask(text: str) -> NovaError:
    return NovaError("RealtimeMaskNotFoundOrInvalid", text)


def realtime_on(flavor: Flavor) -> bool:
    """Say whether a flavor switches realtime on; an image cannot."""
    return truth(flavor.extra_specs.get("hw:cpu_realtime"))


def realtime_cpus(flavor: Flavor, image: ImageProperties, release: Release) -> int | None:
    """List the realtime vCPUs (bitmask); None where realtime is off.

    Raises ``RealtimeMaskNotFoundOrInvalid`` or ``Invalid`` as the API does.

    Source: ``get_realtime_cpu_constraint``; in 20 and 21 ``vcpus_realtime_topology``.
    """
    if not realtime_on(flavor):
        return None
    mask = _realtime_mask(flavor, image)
    everyone = _all_vcpus(flavor)
    if not release.literal_realtime_mask:
        if mask is None:
            raise _no_mask("realtime needs hw:cpu_realtime_mask")
        realtime = cpu_set(f"0-{flavor.vcpus - 1},{mask}")
    else:
        realtime = everyone if mask is None else _masked(flavor, mask)
    if not realtime:
        raise _no_mask("the mask leaves no realtime vCPU")
    if release.literal_realtime_mask:
        if not emulator_threads_policy(flavor) and realtime == everyone:
            raise _no_mask("the mask leaves no ordinary vCPU and there is no emulator policy")
        if realtime & ~everyone:
            raise _no_mask("the mask names vCPUs that the flavor does not have")
    return realtime


def dedicated_cpus(flavor: Flavor) -> int | None:
    """List the vCPUs that ``hw:cpu_dedicated_mask`` pins (bitmask); None without a mask.

    Source: ``get_dedicated_cpu_constraint``.
    """
    mask = flavor.extra_specs.get("hw:cpu_dedicated_mask")
    if not mask:
        return None
    everyone = _all_vcpus(flavor)
    pinned = _masked(flavor, mask)
    if not pinned or not everyone & ~pinned or pinned & ~everyone:
        raise NovaError(
            "InvalidMixedInstanceDedicatedMask",
            f"hw:cpu_dedicated_mask {mask!r} must take some of vCPU 0-{flavor.vcpus - 1}, not all",
        )
    return pinned


def _explicit(flavor: Flavor, resource_class: str) -> int:
    """Sum what the extra specs ask for by ``resources:CLASS``, as far as Nova looks."""
    total = 0
    for key, value in flavor.extra_specs.items():
        found = _RESOURCES.match(key)
        if found and found[1] == resource_class:
            try:
                total += int(value)
            except ValueError:
                continue
    return total


def _hyperthreading(flavor: Flavor, image: ImageProperties) -> str | None:
    for key, value in flavor.extra_specs.items():
        if _TRAIT.match(key):
            return value
    return "required" if HYPERTHREADING in image.traits_required else None


def _explicit_policies(
    flavor: Flavor,
    image: ImageProperties,
    policy: str | None,
    threads: str | None,
    emulator: str | None,
) -> tuple[str | None, str | None]:
    """Join the policies with ``resources:`` and ``trait:`` extra specs."""
    vcpu, pcpu = _explicit(flavor, "VCPU"), _explicit(flavor, "PCPU")
    if policy and (vcpu or pcpu):
        raise NovaError("InvalidRequest", "a CPU policy and resources:VCPU or PCPU exclude another")
    if vcpu and pcpu:
        raise NovaError("InvalidRequest", "resources:VCPU and resources:PCPU exclude one another")
    if pcpu:
        needed = flavor.vcpus + (emulator == "isolate")
        if pcpu != needed:
            raise NovaError("InvalidRequest", f"resources:PCPU is {pcpu}, the guest needs {needed}")
        policy = "dedicated"
    if vcpu:
        policy = "shared"
    trait = _hyperthreading(flavor, image)
    if threads and trait:
        raise NovaError("InvalidRequest", f"a thread policy and {HYPERTHREADING} exclude another")
    if trait in ("forbidden", "required"):
        threads = "isolate" if trait == "forbidden" else "require"
    return policy, threads


def node_count(flavor: Flavor, image: ImageProperties) -> int | None:
    """Settle how many NUMA cells the guest shall have; None where nobody says.

    Source: ``_get_numa_node_count_constraint``.
    """
    asked = flavor.extra_specs.get("hw:numa_nodes")
    if asked and image.numa_nodes:
        raise NovaError("ImageNUMATopologyForbidden", "flavor and image both give a node count")
    value = asked or image.numa_nodes
    if value is None or (value == "" and image.numa_nodes is None):
        return None
    try:
        nodes = int(value)
    except ValueError:
        nodes = 0
    if nodes < 1 or str(nodes) != str(value):
        raise NovaError("InvalidNUMANodesNumber", f"{value!r} is no number of NUMA cells from 1 up")
    return nodes


def page_size(text: str, release: Release) -> float:
    """Read one page size: KiB, or -1 small, -2 large, -3 any.

    Raises ``MemoryPageSizeInvalid``.

    Source: ``_get_numa_pagesize_constraint``; ``oslo_utils.strutils.string_to_bytes``.
    """
    if text in _PAGE_WORDS:
        return _PAGE_WORDS[text]
    invalid = NovaError("MemoryPageSizeInvalid", f"{text!r} is no page size (KiB, 2MB, 1GB, large)")
    if len(text) > _LONGEST:
        raise crash("ValueError", f"a page size of {len(text)} characters")
    value: float | None = None
    if release.digits_page_size:
        value = int(text) if text.isdecimal() else None
    else:
        try:
            value = int(text)
        except ValueError:
            value = None
    if value is None:
        found = _UNIT_TEXT.fullmatch(text)
        if not found:
            raise invalid
        magnitude = float(found[1]) * 1024 ** _UNITS.get(found[2], 0)
        value = math.ceil(magnitude if found[3] == "B" else magnitude / 8) / 1024
    if not release.digits_page_size and value <= 0:
        raise invalid
    return value


def _page_size(flavor: Flavor, image: ImageProperties, release: Release) -> float | None:
    asked = flavor.extra_specs.get("hw:mem_page_size") or None
    wished = image.mem_page_size or None
    forbidden = NovaError(
        "MemoryPageSizeForbidden", f"the image asks for page size {wished}, the flavor for {asked}"
    )
    if asked is None:
        if wished is not None:
            raise forbidden
        return None
    value = page_size(asked, release)
    if wished is None:
        return value
    if value not in (ANY, LARGE):
        raise forbidden
    return page_size(wished, release)


def pmem_labels(flavor: Flavor) -> tuple[str, ...]:
    """List the labels of the persistent memory that a flavor asks for.

    Source: ``get_vpmems``.
    """
    labels = map(str.strip, flavor.extra_specs.get("hw:pmem", "").split(","))
    return tuple(filter(None, labels))


def locked_memory(flavor: Flavor, image: ImageProperties, release: Release) -> bool:
    """Say whether flavor or image wishes a guest's memory locked.

    Raises ``FlavorImageLockedMemoryConflict`` or ``LockMemoryForbidden``, and what the check of
    memory encryption raises.

    Source: ``get_locked_memory_constraint``.
    """
    if not release.locked_memory:
        return False
    value = flavor.extra_specs.get("hw:locked_memory")
    asked = truth(value) if value else None
    wished = image.locked_memory
    if asked is not None and wished is not None and asked != wished:
        raise NovaError(
            "FlavorImageLockedMemoryConflict", f"locked memory: flavor {asked}, image {wished}"
        )
    if asked or wished:
        if not (flavor.extra_specs.get("hw:mem_page_size") or image.mem_page_size):
            raise NovaError("LockMemoryForbidden", "hw:locked_memory needs hw:mem_page_size")
        return True
    if release.encryption_in_constraints:
        memory_encryption.check(flavor, image)
    return False


def _lists(
    flavor: Flavor, image: ImageProperties
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Read the vCPUs and the MiB of each cell where they are listed by hand."""
    specs = indexed("hw:numa_cpus", flavor.extra_specs)
    cpus = None if specs is None else tuple(cpu_set(spec) for spec in specs)
    if cpus and image.numa_cpus:
        raise NovaError("ImageNUMATopologyForbidden", "flavor and image both list hw_numa_cpus")
    sizes = indexed("hw:numa_mem", flavor.extra_specs)
    memory = None if sizes is None else tuple(number("hw:numa_mem", mb) for mb in sizes)
    if memory and image.numa_mem:
        raise NovaError("ImageNUMATopologyForbidden", "flavor and image both list hw_numa_mem")
    return cpus or image.numa_cpus, memory or image.numa_mem


def _cells(flavor: Flavor, image: ImageProperties, nodes: int) -> list[tuple[int, int]]:
    """Share vCPUs (bitmask) and memory (MiB) among the guest's cells."""
    cpus, memory = _lists(flavor, image)
    if cpus is None and memory is None:
        if flavor.vcpus % nodes or flavor.memory_mb % nodes:
            what = f"{flavor.vcpus} vCPUs" if flavor.vcpus % nodes else f"{flavor.memory_mb} MiB"
            raise NovaError("ImageNUMATopologyAsymmetric", f"{what} do not divide by {nodes} cells")
        share = flavor.vcpus // nodes
        return [
            (((1 << share) - 1) << share * node, flavor.memory_mb // nodes) for node in range(nodes)
        ]
    if cpus is None or memory is None or not len(cpus) == len(memory) == nodes:
        raise NovaError(
            "ImageNUMATopologyIncomplete", f"vCPUs and memory must be listed for all {nodes} cells"
        )
    _check_listed(flavor, cpus)
    if sum(memory) != flavor.memory_mb:
        raise NovaError(
            "ImageNUMATopologyMemoryOutOfRange",
            f"the cells have {sum(memory)} MiB, the flavor {flavor.memory_mb}",
        )
    return list(zip(cpus, memory, strict=True))


def _check_listed(flavor: Flavor, cells: tuple[int, ...]) -> None:
    left = _all_vcpus(flavor)
    for cell in cells:
        for vcpu in set(ids(cell)):  # a set, since its order decides which error comes first
            if vcpu >= flavor.vcpus:
                raise NovaError("ImageNUMATopologyCPUOutOfRange", f"the flavor has no vCPU {vcpu}")
            if not left >> vcpu & 1:
                raise NovaError("ImageNUMATopologyCPUDuplicates", f"vCPU {vcpu} is in two cells")
            left ^= 1 << vcpu
    if left:
        raise NovaError("ImageNUMATopologyCPUsUnassigned", f"{size(left)} vCPUs are in no cell")


def guest(flavor: Flavor, image: Image, release: Release) -> Guest | None:
    """Derive the NUMA topology that a guest asks for; None where it has none.

    Raises :class:`NovaError` with the class that Nova raises, in the order in which Nova checks.

    Source: ``numa_get_constraints``.
    """
    properties = image_properties.read(image, release)
    derive = _policy_first if release.policy_first else _numa_first
    return derive(flavor, properties, release)


def _numa_first(flavor: Flavor, image: ImageProperties, release: Release) -> Guest | None:
    """Derive the topology in the order of Train and Ussuri."""
    nodes = node_count(flavor, image)
    pages = _page_size(flavor, image, release)
    cells: list[tuple[int, int]] = []
    if nodes or pages or pmem_labels(flavor):
        cells = _cells(flavor, image, nodes or 1)
    policy = cpu_policy(flavor, image, release)
    threads = thread_policy(flavor, image)
    mask = _realtime_mask(flavor, image)
    emulator = emulator_threads_policy(flavor)
    policy, threads = _explicit_policies(flavor, image, policy, threads, emulator)
    if policy in (None, "shared"):
        _check_floating(threads, emulator, None, realtime_on(flavor))
        if not cells:
            return None
        return Guest(
            tuple(
                GuestCell(index, cpus, 0, memory, None if pages is None else int(pages))
                for index, (cpus, memory) in enumerate(cells)
            )
        )
    if realtime_on(flavor) and mask is None:
        raise _no_mask("realtime needs hw:cpu_realtime_mask")
    if cells:
        wish = None if pages is None else int(pages)
    else:
        cells, wish = [(_all_vcpus(flavor), flavor.memory_mb)], None
    return Guest(
        tuple(
            GuestCell(index, 0, cpus, memory, wish, policy, _stored(threads))
            for index, (cpus, memory) in enumerate(cells)
        ),
        emulator,
    )


def _stored(threads: str | None) -> str | None:
    if threads == "":
        raise NovaError("ValueError", "an empty hw:cpu_thread_policy cannot be stored", crash=True)
    return threads


def _check_floating(
    threads: str | None, emulator: str | None, dedicated: int | None, realtime: object
) -> None:
    if threads:
        raise NovaError(
            "CPUThreadPolicyConfigurationInvalid", f"thread policy {threads} without pinned vCPUs"
        )
    if emulator == "isolate":
        raise NovaError(
            "BadRequirementEmulatorThreadsPolicy", "emulator policy isolate without pinned vCPUs"
        )
    if dedicated is not None:
        raise _mask_without_mixed()
    if realtime:
        raise NovaError("RealtimeConfigurationInvalid", "realtime without pinned vCPUs")


def _mask_without_mixed() -> NovaError:
    return NovaError(
        "RequiredMixedInstancePolicy", "hw:cpu_dedicated_mask needs hw:cpu_policy=mixed"
    )


def _policy_first(flavor: Flavor, image: ImageProperties, release: Release) -> Guest | None:
    """Derive the topology in the order of Victoria and later."""
    policy = cpu_policy(flavor, image, release)
    threads = thread_policy(flavor, image)
    realtime = realtime_cpus(flavor, image, release)
    dedicated = dedicated_cpus(flavor)
    emulator = emulator_threads_policy(flavor)
    policy, threads = _explicit_policies(flavor, image, policy, threads, emulator)
    pinned = 0
    if policy in (None, "shared"):
        _check_floating(threads, emulator, dedicated, realtime)
    elif policy == "dedicated":
        if dedicated is not None:
            raise _mask_without_mixed()
        pinned = _all_vcpus(flavor)
    elif (dedicated is None) == (realtime is None):
        raise NovaError(
            "RequiredMixedOrRealtimeCPUMask",
            "policy mixed needs either hw:cpu_dedicated_mask or a realtime mask",
        )
    else:
        pinned = (dedicated or 0) | (realtime or 0)
    nodes = node_count(flavor, image)
    pages = _page_size(flavor, image, release)
    pmem = pmem_labels(flavor)
    locked_memory(flavor, image, release)
    if not (nodes or pages or pmem or policy in ("dedicated", "mixed")):
        return None
    wish = None if pages is None else int(pages)
    return Guest(
        tuple(
            GuestCell(index, cpus & ~pinned, cpus & pinned, memory, wish, policy, _stored(threads))
            for index, (cpus, memory) in enumerate(_cells(flavor, image, nodes or 1))
        ),
        emulator,
    )


def check_api(flavor: Flavor, image: Image, release: Release) -> None:
    """Check flavor and image as a create or resize request does.

    Raises :class:`NovaError` with what the API raises first.

    Source: ``nova/compute/api.py``, ``API._validate_flavor_image_numa_pci``.
    """
    try:
        properties = image_properties.read(image, release)
    except NovaError as error:
        if error.name != "ValueError":
            raise
        raise NovaError("InvalidRequest", error.text) from None
    memory_encryption.check(flavor, properties)
    _check_pmu(flavor, properties, release)
    _check_serial_ports(flavor, properties)
    realtime_cpus(flavor, properties, release)
    cpu_topology.limits(flavor, properties)
    if release.flavor_image_conflict and flavor.vcpus > 1:
        _agree(
            "vif_multiqueue_enabled",
            flavor.extra_specs,
            properties.vif_multiqueue_enabled,
            "FlavorImageConflict",
        )
    guest(flavor, image, release)


def _agree(key: str, extra_specs: Mapping[str, str], wished: bool | None, error: str) -> None:
    asked = extra_specs.get(f"hw:{key}")
    if asked is not None and wished is not None and truth(asked) != wished:
        raise NovaError(error, f"hw:{key} is {asked}, the image's hw_{key} {wished}")


def _check_pmu(flavor: Flavor, image: ImageProperties, release: Release) -> None:
    error = "FlavorImageConflict" if release.flavor_image_conflict else "ImagePMUConflict"
    _agree("pmu", flavor.extra_specs, image.pmu, error)


def _check_serial_ports(flavor: Flavor, image: ImageProperties) -> None:
    asked = flavor.extra_specs.get("hw:serial_port_count")
    if asked is None:
        return
    try:
        most = int(asked)
    except ValueError:
        raise NovaError(
            "ImageSerialPortNumberInvalid", f"hw:serial_port_count is {asked!r}"
        ) from None
    if image.serial_port_count is not None and image.serial_port_count > most:
        raise NovaError(
            "ImageSerialPortNumberExceedFlavorValue",
            f"the image asks for {image.serial_port_count} serial ports, the flavor allows {most}",
        )
