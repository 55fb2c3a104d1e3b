# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Control groups: their version, and the CPUs that they leave to guests and services.

What cannot be read is left out.
"""

from __future__ import annotations

import functools
import re
import typing as t

from . import cpu_list
from .evidence import known, listed, names, text, tolerant

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .files import Tree

ROOT = "/sys/fs/cgroup"
MOUNTS = "/proc/mounts"
SYSTEMD = ("/usr/lib/systemd", "/run/systemd", "/etc/systemd")
"""Where systemd looks for its configuration; of two files of one name the last one counts."""
MACHINE = ("machine.slice", "machine")
"""Groups in which libvirt starts guests, with systemd and without."""

_CONTROLLERS = frozenset({"cpu", "cpuset", "cpuacct", "memory", "devices", "blkio", "freezer"})
_DROP_INS = 256
"""Files that are read of one folder."""
_UNIT = 1 << 16
"""Bytes that a file of systemd may have."""


def cgroups(
    tree: Tree, arguments: Mapping[str, t.Any] | None, present: int
) -> dict[str, t.Any] | None:
    """Read the ``cgroups`` part of a host's facts; None where nothing is known.

    ``arguments`` are those of the kernel's command line, ``present`` its CPUs (bitmask). Sets of
    CPUs are returned as texts. Never raises for the content of a file.
    """
    mounts = _mounts(tree)
    unified = text(tree, f"{ROOT}/cgroup.controllers")
    version = 1 if mounts else 2 if unified is not None else None
    cpuset = mounts.get("cpuset", ROOT)
    sets = {
        "isolated": _isolated(tree) if version == 2 else None,
        "machine_cpus": _machine_cpus(tree, cpuset, present),
        "system_cpus": _system_cpus(tree, arguments, present),
    }
    facts = known(
        {
            "version": version,
            "cpu_controller": "cpu" in mounts or "cpu" in (unified or "").split()
            if version
            else None,
            **{
                key: None if cpus is None else cpu_list.to_text(cpus & present)
                for key, cpus in sets.items()
            },
        }
    )
    return facts or None


def _mounts(tree: Tree) -> dict[str, str]:
    """Map the controllers that are mounted the old way (v1) to their folders.

    A captured tree may lack the list of mounts: then the folders tell.
    """
    table = text(tree, MOUNTS)
    if table is None:
        found = (name for name in names(tree, ROOT) if not {*name.split(",")} - _CONTROLLERS)
        return {each: f"{ROOT}/{name}" for name in found for each in name.split(",")}
    result: dict[str, str] = {}
    for line in table.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[2] == "cgroup":
            controllers = _CONTROLLERS.intersection(fields[3].split(","))
            result.update(dict.fromkeys(controllers, fields[1]))
    return result


def _isolated(tree: Tree) -> int | None:
    """Read the CPUs of isolated partitions; before Linux 6.7 there is no sum of them.

    Source: kernel ``Documentation/admin-guide/cgroup-v2.rst``, ``cpuset.cpus.isolated``.
    """
    total = listed(tree, f"{ROOT}/cpuset.cpus.isolated")
    if total is not None:
        return total
    found = None
    for name in names(tree, ROOT):
        kind = text(tree, f"{ROOT}/{name}/cpuset.cpus.partition")
        if kind is not None:
            cpus = listed(tree, f"{ROOT}/{name}/cpuset.cpus.effective") if kind == "isolated" else 0
            found = (found or 0) | (cpus or 0)
    return found


def _machine_cpus(tree: Tree, cpuset: str, present: int) -> int | None:
    """Read the CPUs that guests may be given: of libvirt's group, else of the root.

    What a group may use is within what its parents may. Where there is no group yet, systemd will
    make it of its unit.
    """
    for folder in (*(f"{cpuset}/{name}" for name in MACHINE), cpuset):
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            found = listed(tree, f"{folder}/{name}")
            if found:
                ours = folder == cpuset and _units(tree, "machine.slice", present)
                return found & ours if ours else found
    return None


def _system_cpus(tree: Tree, arguments: Mapping[str, t.Any] | None, present: int) -> int | None:
    """Read the CPUs of services: affinity of systemd's manager, cut to those of system.slice.

    Source: ``systemd-system.conf(5)``, ``systemd.resource-control(5)``.
    """
    told = (arguments or {}).get("systemd.cpu_affinity")
    affinity = _assigned([_manager(tree)], "CPUAffinity", present)
    if isinstance(told, str):
        affinity = tolerant(lambda: cpu_list.parse_kernel(told)) or affinity
    allowed = _units(tree, "system.slice", present)
    if not affinity and not allowed:
        return None
    return (affinity or present) & (allowed or present)


def _units(tree: Tree, unit: str, present: int) -> int | None:
    """Read AllowedCPUs of a unit; ``system.control`` holds what ``systemctl`` was told."""
    folders = [f"{base}/system" for base in SYSTEMD]
    folders += [f"{base}/system.control" for base in SYSTEMD[1:]]
    own = (text(tree, f"{folder}/{unit}", _UNIT) for folder in folders[::-1])
    texts = [next((each for each in own if each is not None), ""), _drop_ins(tree, folders, unit)]
    return _assigned(texts, "AllowedCPUs", present)


def _manager(tree: Tree) -> str:
    own = (text(tree, f"{base}/system.conf", _UNIT) for base in SYSTEMD[::-1])
    first = next((each for each in own if each is not None), "")
    return f"{first}\n{_drop_ins(tree, SYSTEMD, 'system.conf')}"


def _drop_ins(tree: Tree, folders: t.Iterable[str], name: str) -> str:
    """Join the files of ``NAME.d`` by their names."""
    places: dict[str, str] = {}
    for folder in folders:
        found = [each for each in names(tree, f"{folder}/{name}.d") if each.endswith(".conf")]
        places.update({each: f"{folder}/{name}.d/{each}" for each in found[:_DROP_INS]})
    return "\n".join(text(tree, places[each], _UNIT) or "" for each in sorted(places))


def _assigned(texts: t.Iterable[str], key: str, present: int) -> int | None:
    """Join what a key is assigned; an empty value takes back what stands before it.

    None where nothing is assigned, or what is no list of CPUs.
    """
    result = 0
    for value in re.findall(rf"^[ \t]*{key}[ \t]*=[ \t]*(.*)$", "\n".join(texts), re.MULTILINE):
        if not value.strip():
            result = 0
            continue
        cpus = tolerant(functools.partial(cpu_list.parse_kernel, value))
        if cpus is None:
            return None
        result |= cpus
    return result & present or None
