# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The libvirt daemon that starts guests: its version, what it may do, what it was told.

What cannot be read is left out. Of ``qemu.conf``, which holds passwords, one option is read.
"""

from __future__ import annotations

import re
import typing as t

from .evidence import known, names, text
from .files import LARGE

if t.TYPE_CHECKING:
    from .evidence import Process
    from .files import Tree

DAEMONS = ("virtqemud", "libvirtd")
QEMU_CONF = (
    "/etc/kolla/nova-libvirt/qemu.conf",
    "/var/lib/config-data/puppet-generated/nova_libvirt/etc/libvirt/qemu.conf",
    "/etc/libvirt/qemu.conf",
)
"""Where deployers keep it: kolla, TripleO, and libvirt's own place, which a host with libvirt in a
container may have too. The first one that exists is read."""
LIBRARIES = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib",
)

_CAP_SYS_RESOURCE = 24
"""Source: kernel ``include/uapi/linux/capability.h``."""
_LIBRARY = re.compile(r"libvirt\.so\.0\.([0-9]{1,6})\.([0-9]{1,4})(?![\w.])", re.ASCII)
"""Version 9.7.1 is ``libvirt.so.0.9007.1``. Source: libvirt ``meson.build``."""
_CAPABILITIES = re.compile(r"^CapEff:\s*([0-9a-f]{1,16})$", re.MULTILINE)
_MEMLOCK = re.compile(r"^Max locked memory +(\S+) +(\S+)", re.MULTILINE)
_CONTROLLERS = re.compile(r"^[ \t]*cgroup_controllers[ \t]*=[ \t]*\[([^][]*)\]", re.MULTILINE)
_COMMENT = re.compile(r"#.*")
_CONTROLLER = re.compile(r"[\"']([a-z_]{1,32})[\"']")


def libvirt(tree: Tree, running: list[Process] | None) -> dict[str, t.Any] | None:
    """Read the ``libvirt`` part of a host's facts; None where nothing is known.

    ``running`` are the processes. Never raises for the content of a file.
    """
    named = ([each for each in running or () if each.name == name] for name in DAEMONS)
    found = next(filter(None, named), [])
    told = [_daemon(tree, f"/proc/{each.pid}") for each in found] or [
        {"version": _version(tree, None)}
    ]
    # Where several run, as on a host with one in a container too, what they agree on is known.
    agreed = {
        key: value for key, value in told[0].items() if all(each[key] == value for each in told)
    }
    return known({**agreed, "controllers": _controllers(tree)}) or None


def _daemon(tree: Tree, place: str) -> dict[str, t.Any]:
    return {"version": _version(tree, place), **_rights(tree, place)}


def _version(tree: Tree, place: str | None) -> str | None:
    """Tell the version by the library that the daemon runs with, else by the only one installed."""
    mapped = _LIBRARY.findall((text(tree, f"{place}/maps", LARGE) if place else None) or "")
    if not mapped:
        mapped = _LIBRARY.findall(
            "\n".join(name for each in LIBRARIES for name in names(tree, each))
        )
    versions = {(int(number), int(micro)) for number, micro in mapped}
    if len(versions) != 1:
        return None
    number, micro = versions.pop()
    return f"{number // 1000}.{number % 1000}.{micro}"


def _rights(tree: Tree, place: str) -> dict[str, bool | None]:
    capabilities = _CAPABILITIES.search(text(tree, f"{place}/status") or "")
    limits = _MEMLOCK.search(text(tree, f"{place}/limits") or "")
    return {
        "lock_capable": bool(int(capabilities[1], 16) >> _CAP_SYS_RESOURCE & 1)
        if capabilities
        else None,
        # The hard limit: up to it a process without the capability may raise its own.
        "memlock_unlimited": limits[2] == "unlimited" if limits else None,
    }


def _controllers(tree: Tree) -> list[str] | None:
    """Read ``cgroup_controllers``; None where it is not set.

    Source: libvirt ``src/qemu/qemu_conf.c``, ``virQEMUDriverConfigLoadControllerEntry``.
    """
    for path in QEMU_CONF:
        found = text(tree, path)
        if found is not None:
            told = _CONTROLLERS.search(_COMMENT.sub("", found))
            return sorted(set(_CONTROLLER.findall(told[1]))) if told else None
    return None
