# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guest's sockets, cores and threads."""

from __future__ import annotations

import dataclasses
import math
import typing as t

from ...module_utils._read.cpu_list import size
from .errors import NovaError, crash

if t.TYPE_CHECKING:
    from .._model.flavor import Flavor
    from .fit import Fitted
    from .image_properties import ImageProperties

UNLIMITED = 65536
Triple = tuple[int, int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """What flavor and image say of the guest's CPU topology: sockets, cores, threads."""

    preferred: Triple
    """0 where nobody prefers anything."""
    most: Triple


def _asked(flavor: Flavor, prefix: str) -> Triple:
    found = []
    for part in ("sockets", "cores", "threads"):
        value = flavor.extra_specs.get(f"hw:cpu_{prefix}{part}", 0)
        try:
            found.append(int(value))
        except ValueError:
            raise NovaError(
                "InvalidRequest", f"hw:cpu_{prefix}{part} is {value!r}, no whole number"
            ) from None
    return found[0], found[1], found[2]


def limits(flavor: Flavor, image: ImageProperties) -> Limits:
    """Settle limits and preferences of flavor and image.

    Raises ``InvalidRequest``, ``ImageVCPULimitsRangeExceeded`` or
    ``ImageVCPUTopologyRangeExceeded``.

    Source: ``nova/virt/hardware.py``, ``get_cpu_topology_constraints``.
    """
    asked_most = _asked(flavor, "max_")
    wished_most = (
        image.cpu_max_sockets or 0,
        image.cpu_max_cores or 0,
        image.cpu_max_threads or 0,
    )
    for asked, wished in zip(asked_most, wished_most, strict=True):
        if asked and wished > asked:
            raise NovaError(
                "ImageVCPULimitsRangeExceeded", f"the image allows {wished}, the flavor {asked}"
            )
    most = tuple(
        wished or asked or UNLIMITED for asked, wished in zip(asked_most, wished_most, strict=True)
    )
    asked_triple = _asked(flavor, "")
    wished_triple = (image.cpu_sockets or 0, image.cpu_cores or 0, image.cpu_threads or 0)
    if _exceeds(asked_triple, most):
        asked_triple = (0, 0, 0)
    if _exceeds(wished_triple, most):
        raise NovaError("ImageVCPUTopologyRangeExceeded", f"the image prefers {wished_triple}")
    return Limits(
        wished_triple if any(wished_triple) else asked_triple, (most[0], most[1], most[2])
    )


def _exceeds(triple: Triple, most: tuple[int, ...]) -> bool:
    return any(value > limit for value, limit in zip(triple, most, strict=True))


def best(
    flavor: Flavor,
    image: ImageProperties,
    *,
    allow_threads: bool = True,
    fitted: Fitted | None = None,
) -> Triple:
    """Choose the guest's sockets, cores and threads.

    ``fitted`` is the guest's place, for the releases in which its pins narrow the choice
    (``threads_from_pinning``); else None.

    Raises what :func:`limits` raises, and ``ImageVCPULimitsRangeImpossible`` where no product
    gives the vCPUs; crashes with ``IndexError`` where the pins leave no choice.

    Source: ``nova/virt/hardware.py``, ``get_best_cpu_topology``.
    """
    wanted = limits(flavor, image)
    vcpus = flavor.vcpus
    most = [min(vcpus, limit) for limit in wanted.most]
    if not allow_threads:
        most[2] = 1
    possible = [
        (sockets, cores, vcpus // (sockets * cores))
        for sockets in range(1, most[0] + 1)
        for cores in range(1, most[1] + 1)
        if vcpus % (sockets * cores) == 0 and vcpus // (sockets * cores) <= most[2]
    ]
    if not possible:
        raise NovaError(
            "ImageVCPULimitsRangeImpossible", f"no topology within {wanted.most} has {vcpus} vCPUs"
        )
    possible.sort(key=lambda it: (it[0] * it[1], it[0], it[2]), reverse=True)
    if fitted is not None:
        possible = _narrowed(possible, wanted.preferred[2], fitted)
    return max(possible, key=lambda it: _score(it, wanted.preferred))


def _score(triple: Triple, preferred: Triple) -> int:
    return sum(wish == value for wish, value in zip(preferred, triple, strict=True) if wish)


def _narrowed(possible: list[Triple], preferred: int, fitted: Fitted) -> list[Triple]:
    """Keep the topologies with as many threads as the pins share cores."""
    counts = [
        math.gcd(threads, size(vcpus) % threads)
        for threads, vcpus in fitted.thread_shares()
        if threads
    ]
    if not counts:
        return possible
    threads = max(1, min(counts + ([preferred] if preferred else [])))
    fitting = [triple for triple in possible if triple[2] <= threads]
    if not fitting:
        raise crash("IndexError", f"no topology has {threads} threads a core or fewer")
    top = max(triple[2] for triple in fitting)
    return [triple for triple in fitting if triple[2] == top]
