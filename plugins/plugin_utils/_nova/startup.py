# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether nova-compute starts, as far as its options alone decide."""

from __future__ import annotations

import functools
import typing as t

from ...module_utils._read.cpu_list import CpuListError, parse_nova, to_text
from .errors import NovaError

if t.TYPE_CHECKING:
    from .._model.config import HostConfig
    from .releases import Release


def cpu_option(value: str | None, name: str) -> int | None:
    """Read one option that lists CPUs; None where it is unset.

    Raises ``Invalid`` for a list that cannot be read or that names no CPU.

    Source: ``nova/virt/hardware.py``, ``get_cpu_shared_set`` and its like.
    """
    if not value:
        return None
    try:
        cpus = _parsed(value)
    except CpuListError as error:
        raise NovaError("Invalid", f"{name}: {error}") from None
    if not cpus:
        raise NovaError("Invalid", f"{name}: {value!r} leaves no CPU")
    return cpus


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> int:
    """Read a list of CPUs. Hosts of a fleet have the same few lists, and are asked often."""
    return parse_nova(text)


def check(config: HostConfig, release: Release) -> None:
    """Check the options together as the libvirt driver does when it starts.

    Raises ``ConfigFileValueError`` for a value that oslo.config refuses, ``Invalid`` for a list,
    ``InvalidConfiguration`` for options that exclude one another.

    Source: ``nova/virt/libvirt/driver.py``, ``_check_cpu_set_configuration``;
    ``nova/virt/libvirt/cpu/api.py``, ``validate_all_dedicated_cpus``.
    """
    for fault in config.faults:
        raise NovaError(
            "ConfigFileValueError", f"{fault.option}: {fault.value!r}; accepted: {fault.accepted}"
        )
    pin_set = cpu_option(config.vcpu_pin_set, "vcpu_pin_set")
    if not release.dedicated_set:
        return
    shared = cpu_option(config.cpu_shared_set, "[compute] cpu_shared_set")
    dedicated = cpu_option(config.cpu_dedicated_set, "[compute] cpu_dedicated_set")
    if pin_set is not None and dedicated is not None:
        raise _conflict("vcpu_pin_set and [compute] cpu_dedicated_set exclude one another")
    if pin_set is None and (shared is not None or dedicated is not None):
        both = (shared or 0) & (dedicated or 0)
        if both:
            raise _conflict(f"CPU {to_text(both)} is in cpu_shared_set and in cpu_dedicated_set")
        if config.reserved_host_cpus:
            raise _conflict("reserved_host_cpus excludes cpu_shared_set and cpu_dedicated_set")
    if (
        config.cpu_power_management
        and release.power_management
        and not release.power_management_without_dedicated
        and dedicated is None
    ):
        raise _conflict("[libvirt] cpu_power_management needs cpu_dedicated_set in this release")


def _conflict(text: str) -> NovaError:
    return NovaError("InvalidConfiguration", text)
