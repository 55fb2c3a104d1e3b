# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a realtime host is tuned, as the fixes of rules write it."""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import hosts

if t.TYPE_CHECKING:
    from .._model.host import Host

_GROUP = (1 << 32) - 1


def argument(**arguments: int | str) -> str:
    """Write kernel arguments; sets of CPUs as lists."""
    given = (
        f"{name}={to_text(value) if isinstance(value, int) else value}"
        for name, value in arguments.items()
    )
    return f"{' '.join(given)} on the kernel's command line"


def profile(cpus: int) -> str:
    """Write how tuned makes ``cpus`` those of realtime guests."""
    return (
        "tuned-adm profile realtime-virtual-host, with\n"
        f"isolated_cores={to_text(cpus)}\n"
        "in /etc/tuned/realtime-virtual-host-variables.conf, and a reboot"
    )


def persistent(key: str, value: int | str) -> str:
    """Write a kernel setting for now and for every start."""
    return f"sysctl -w {key}={value}  # and into /etc/sysctl.d/90-realtime.conf"


def hex_mask(cpus: int) -> str:
    """Write a set of CPUs as procfs and sysfs take masks.

    >>> hex_mask(0x100000003)
    '1,00000003'
    """
    groups = [f"{cpus & _GROUP:x}"]
    while cpus := cpus >> 32:
        groups = [f"{cpus & _GROUP:x}", *(group.zfill(8) for group in groups)]
    return ",".join(groups)


def kept(host: Host, cpus: int) -> int:
    """List the CPUs that the host keeps for its own work beside ``cpus`` (bitmask).

    Those that a data path polls are spared too; all are kept where none would be left.
    """
    online = host.topology.online
    return online & ~(cpus | host.data_path_cpus) or online & ~cpus or online


def partitions(host: Host) -> bool:
    """Say whether tuned keeps the host's work off CPUs and is known not to isolate any."""
    profiles = (host.tuned_profile or "").split()
    return (
        any(name.startswith("cpu-partitioning") for name in profiles)
        and hosts.isolation_told(host)
        and not hosts.isolated_on(host)
    )
