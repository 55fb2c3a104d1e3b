# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flavor or image that the API refuses.

Nova checks extra specs and image properties together only when a server is created: the flavor
can be made, and every boot of it is refused.

Source: ``nova/compute/api.py``, ``_validate_flavor_image_numa_pci``.
"""

from __future__ import annotations

import difflib
import re
import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if case.refusal is None or case.refusal.name in _TOLD_ELSEWHERE:
        return
    explicit = any(flavors.EXPLICIT.match(key) for key in case.flavor.extra_specs)
    if case.refusal.name == "InvalidRequest" and explicit:
        return
    if case.refusal.name == "Invalid" and flavors.realtime_vcpus(case) is None:
        return
    yield Detail(
        case.refusal.text,
        f"every boot is refused: {case.refusal}"
        if case.refusal.crash
        else f"every boot is refused: {case.refusal.name}",
        _fix(case),
    )


_TOLD_ELSEWHERE = frozenset(
    (
        "RealtimeConfigurationInvalid",
        "RealtimeMaskNotFoundOrInvalid",
        "BadRequirementEmulatorThreadsPolicy",
        "InvalidEmulatorThreadsPolicy",
        "InvalidMixedInstanceDedicatedMask",
        "RequiredMixedOrRealtimeCPUMask",
        "RequiredMixedInstancePolicy",
        "LockMemoryForbidden",
    )
)
_CHOICES = {
    "hw:cpu_policy": ("dedicated", "shared", "mixed"),
    "hw:cpu_thread_policy": ("prefer", "isolate", "require"),
}


def _fix(case: FlavorCase) -> str:
    name = case.refusal.name if case.refusal else ""
    for key, choices in _CHOICES.items():
        value = case.spec(key)
        if value and value not in choices:
            near = difflib.get_close_matches(value.lower(), choices, 1, 0.3)
            guess = "isolate" if value == "avoid" else near[0] if near else choices[0]
            return flavors.set_command(case, {key: guess})
    pages = case.spec("hw:mem_page_size")
    if name == "MemoryPageSizeInvalid" and pages:
        return flavors.set_command(case, {"hw:mem_page_size": _page_size(pages)})
    if name == "MemoryPageSizeForbidden":
        return flavors.set_command(case, {"hw:mem_page_size": "any"})
    if name == "InvalidNUMANodesNumber":
        return flavors.unset_command(case, "hw:numa_nodes")
    if name == "ImageNUMATopologyAsymmetric":
        nodes = next(
            count
            for count in range(min(int(case.spec("hw:numa_nodes") or 1), 128), 0, -1)
            if case.flavor.vcpus % count == 0 and case.flavor.memory_mb % count == 0
        )
        return flavors.set_command(case, {"hw:numa_nodes": str(nodes)})
    if name == "CPUThreadPolicyConfigurationInvalid":
        return flavors.set_command(case, {"hw:cpu_policy": "dedicated"})
    if case.image.name:
        return f"openstack image show {case.image.name} -c properties  # unset what conflicts"
    return f"openstack flavor show {case.flavor.name} -c properties  # mend what is named"


def _page_size(text: str) -> str:
    """Spell a page size as Nova reads it."""
    found = re.fullmatch(r"\s*(\d+)\s*([kKmMgG])[iI]?[bB]?\s*", text)
    return f"{found[1]}{found[2].upper()}B" if found else "large"


RULE = Rule(
    code="FL-42",
    severity=Severity.ERROR,
    title="Flavor or image that the API refuses",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="Dedicated"),
    good=lambda: a_flavor(cpu_policy="dedicated"),
)
