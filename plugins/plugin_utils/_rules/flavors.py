# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What several rules ask of a flavor."""

from __future__ import annotations

import re
import shlex
import typing as t

from ...module_utils._read.cpu_list import CpuListError, parse_nova
from .._nova import constraints, image_properties

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .._nova.schedule import Asked
    from .rule import FlavorCase

EXPLICIT = re.compile(r"resources([1-9][0-9]*)?:(VCPU|PCPU)")
"""The ``resources:`` keys that Nova reads as the guest's own CPUs."""


def set_command(case: FlavorCase, extra_specs: Mapping[str, str]) -> str:
    """Write the command that sets extra specs of the flavor."""
    given = " ".join(f"--property {shlex.quote(f'{k}={v}')}" for k, v in extra_specs.items())
    return f"openstack flavor set {shlex.quote(case.flavor.name)} {given}"


def unset_command(case: FlavorCase, *keys: str) -> str:
    """Write the command that removes extra specs of the flavor."""
    given = " ".join(f"--property {shlex.quote(key)}" for key in keys)
    return f"openstack flavor unset {shlex.quote(case.flavor.name)} {given}"


def image_command(case: FlavorCase) -> str:
    """Write the command that takes from the image what decides about CPUs and memory."""
    keys = [key for key in case.image.properties if key.startswith(_DECIDING)]
    given = " ".join(f"--property {shlex.quote(key)}" for key in keys)
    return (
        f"openstack image unset {given} {shlex.quote(case.image.name)}"
        f"  # or keep the image from flavor {case.flavor.name}"
    )


_DECIDING = ("hw_cpu", "hw_numa", "hw_mem", "hw_emulator", "hw_locked", "trait:")


def pinned(case: FlavorCase) -> bool:
    """Say whether the guest has pinned vCPUs."""
    return case.guest is not None and any(cell.pinned for cell in case.guest.cells)


def isolates(case: FlavorCase | Asked) -> bool:
    """Say whether the guest has thread policy isolate, by policy or by trait."""
    return case.guest is not None and case.guest.cells[0].cpu_thread_policy == "isolate"


def realtime(case: FlavorCase) -> bool:
    """Say whether the flavor switches realtime on."""
    return constraints.realtime_on(case.flavor)


def locks_memory(case: FlavorCase) -> bool:
    """Say whether Nova locks the guest's memory: it is realtime, or flavor or image wish it."""
    if case.refusal:
        return False
    properties = image_properties.read(case.image, case.release)
    return realtime(case) or constraints.locked_memory(case.flavor, properties, case.release)


def realtime_mask(case: FlavorCase) -> str | None:
    """Give the realtime mask in force: the image's before the flavor's."""
    wished = case.image.properties.get("hw_cpu_realtime_mask")
    return str(wished) if wished else case.spec("hw:cpu_realtime_mask")


def realtime_vcpus(case: FlavorCase) -> int | None:
    """List the vCPUs that the mask makes realtime in the release (bitmask), checked or not.

    All of them without a mask, None for a mask that cannot be read.
    """
    everyone = f"0-{case.flavor.vcpus - 1}"
    mask = (realtime_mask(case) or everyone).strip()
    literal = case.release.literal_realtime_mask and not mask.startswith("^")
    try:
        return parse_nova(mask if literal else f"{everyone},{mask}")
    except CpuListError:
        return None
