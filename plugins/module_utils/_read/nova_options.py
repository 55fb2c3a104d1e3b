# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of ``nova.conf`` that the audit needs; nothing else of the file is ever returned.

``nova.conf`` holds passwords. What leaves it is: the values of :data:`OPTIONS`, and section and
key (never the value) of a key that was probably meant to be one of them.
"""

from __future__ import annotations

import difflib
import re
import typing as t

from . import oslo_ini
from .errors import InputError
from .files import SMALL

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .files import Tree

OPTIONS: tuple[tuple[str, str], ...] = (
    ("DEFAULT", "vcpu_pin_set"),
    ("DEFAULT", "reserved_host_cpus"),
    ("DEFAULT", "reserved_host_memory_mb"),
    ("DEFAULT", "reserved_huge_pages"),
    ("DEFAULT", "cpu_allocation_ratio"),
    ("DEFAULT", "ram_allocation_ratio"),
    ("DEFAULT", "initial_cpu_allocation_ratio"),
    ("DEFAULT", "initial_ram_allocation_ratio"),
    ("compute", "cpu_shared_set"),
    ("compute", "cpu_dedicated_set"),
    ("compute", "packing_host_numa_cells_allocation_strategy"),
    ("libvirt", "cpu_power_management"),
    ("libvirt", "cpu_power_management_strategy"),
    ("libvirt", "realtime_scheduler_priority"),
    ("libvirt", "cpu_mode"),
    ("libvirt", "cpu_models"),
    ("libvirt", "file_backed_memory"),
    ("libvirt", "virt_type"),
    ("workarounds", "disable_fallback_pcpu_query"),
    ("filter_scheduler", "enabled_filters"),
)
"""Group and name of each option that may be returned."""

REPEATED = frozenset({"reserved_huge_pages"})
"""Options of which every value counts, over all files, in the order of reading."""

PLACES: tuple[tuple[str, ...], ...] = (
    ("/etc/kolla/nova-compute/nova.conf",),
    ("/var/lib/openstack/nova",),
    ("/var/lib/config-data/puppet-generated/nova_libvirt/etc/nova/nova.conf",),
    ("/etc/nova/nova-cpu.conf",),
    (
        "/etc/nova/nova.conf",
        "/etc/nova/nova-compute.conf",
        "/etc/nova/nova.conf.d",
        "/etc/nova/nova-compute.conf.d",
    ),
)
"""Where deployers keep the configuration of nova-compute: kolla, EDPM, TripleO, devstack, and
Nova's own default with its order. The first place of which anything exists is read."""

_GROUPS = {name: group for group, name in OPTIONS}
_LOOKALIKES = frozenset({"disk_allocation_ratio", "initial_disk_allocation_ratio"})
"""Other options of Nova 20 to 34 that are as close to one of ours as a typo would be."""
_OLD_NAMES = {"scheduler_default_filters": "enabled_filters"}
_CLOSE = 0.8
_GROUP_PREFIX = re.compile("^(?:{})_".format("|".join({group.lower() for group, _rest in OPTIONS})))
_REFERABLE = frozenset({"vcpu_pin_set", "cpu_shared_set", "cpu_dedicated_set"})
_ASSIGNMENT = re.compile(r"([^=:]*)([=:])")
_KEY = re.compile(r"\s*[A-Za-z_]\w*\s*", re.ASCII)
_PAIR = r"\s*(node|size|count):\w{1,8}\s*"
_CONTINUED = re.compile(rf"[\d,^\s-]*|{_PAIR}(,{_PAIR})*,?\s*")
"""What may stand in a continuation line of an allowed option: part of a list, or of a mapping."""
_ID = r"[_a-z][\._a-z0-9]*"
_REFERENCE = re.compile(rf"\$(?:\$|(?P<named>{_ID})|\{{(?P<braced>{_ID})\}})", re.IGNORECASE)


def default_paths(tree: Tree) -> list[str]:
    """List the files and directories of the first of :data:`PLACES` that exists; maybe none."""
    for place in PLACES:
        found = [path for path in place if tree.exists(path)]
        if found:
            return found
    return []


def nova_facts(paths: Iterable[str], tree: Tree) -> dict[str, t.Any]:
    """Read the ``nova`` part of a host's facts from files and ``conf.d`` directories.

    ``options`` maps ``name`` (``group.name`` outside ``DEFAULT``) to ``value`` and ``where``: texts
    as oslo.config hands them to the option's type, a list of texts for :data:`REPEATED`.
    ``strays`` lists keys that Nova does not read where they stand. ``files`` lists what was read.

    Raises :class:`InputError` where oslo.config refuses a file, or one cannot be read.
    """
    names = oslo_ini.files(paths, tree)
    found = [each for name in names for each in oslo_ini.parse(tree.text(name), name)]
    return {"options": _options(found), "strays": _strays(found), "files": names}


def _options(found: Sequence[oslo_ini.Assignment]) -> dict[str, t.Any]:
    values: dict[tuple[str, str], list[oslo_ini.Assignment]] = {}
    for each in found:
        option = (oslo_ini.group(each.section), each.key)
        if option in OPTIONS:
            values.setdefault(option, []).append(each)
    last = {option: each[-1].value for option, each in values.items()}
    result = {}
    for option in filter(values.__contains__, OPTIONS):
        group, name = option
        where = values[option][-1].where
        texts = [_substitute(each.value, option, last, where) for each in values[option]]
        result[name if group == oslo_ini.DEFAULT else f"{group}.{name}"] = {
            "value": [_masked(text) for text in texts] if name in REPEATED else _masked(texts[-1]),
            "where": where,
        }
    return result


def _masked(value: str) -> str:
    """Hide the values of assignments that a wrong indent made continuation lines."""
    first, *rest = value.split("\n")
    shown = [first]
    hidden = False  # from the first line on that is no part of such a value
    for line in rest:
        found = _ASSIGNMENT.match(line)
        ours = found is not None and found[1].strip() in _GROUPS
        if hidden or not (ours or _CONTINUED.fullmatch(line)):
            hidden = True
            shown.append(f"{found[0]} ***" if found and _KEY.fullmatch(found[1]) else "***")
        else:
            shown.append(line)
    return "\n".join(shown)


def _substitute(
    value: str,
    option: tuple[str, str],
    last: dict[tuple[str, str], str],
    where: str,
    seen: tuple[tuple[str, str], ...] = (),
) -> str:
    """Replace ``$$`` and ``\\$`` by ``$``, and references to CPU sets by their values.

    A reference to anything else stays as it is: what it names may be a secret.

    Source: oslo.config ``cfg.py``, ``ConfigOpts._substitute``.
    """
    length = 0

    def replaced(found: re.Match[str]) -> str:
        nonlocal length
        name = found["named"] or found["braced"]
        if not name:
            return "$"
        target = _referred(name, option[0])
        if target is None or target in (*seen, option):
            return found[0]
        text = _substitute(last.get(target, ""), target, last, where, (*seen, option))
        length += len(text)
        if length > SMALL:
            raise InputError("references make the value too long", f"at most {SMALL} bytes", where)
        return text

    return _REFERENCE.sub(replaced, value.replace(r"\$", "$$"))


def _referred(name: str, group: str) -> tuple[str, str] | None:
    prefix, dot, rest = name.partition(".")
    if dot:  # oslo.config knows no group DEFAULT here
        places = [] if prefix == oslo_ini.DEFAULT else [(prefix, rest)]
    else:
        places = [(group, name), (oslo_ini.DEFAULT, name)]
    for place in places:
        if place in OPTIONS and place[1] in _REFERABLE:
            return place
    return None


def _strays(found: Sequence[oslo_ini.Assignment]) -> list[dict[str, str]]:
    meant: dict[str, str | None] = {}
    result = []
    for each in found:
        if (oslo_ini.group(each.section), each.key) in OPTIONS:
            continue
        if each.key not in meant:
            meant[each.key] = _meant(each.key)
        name = meant[each.key]
        if name:
            belongs = f"[{_GROUPS[name]}] {name}"
            result.append(
                {
                    "key": each.key,
                    "section": each.section,
                    "where": each.where,
                    "belongs": belongs,
                }
            )
    return result


def _meant(key: str) -> str | None:
    """Name the option that ``key`` was probably meant to be, or None.

    >>> _meant("cpu_dedicated_sets"), _meant("CPU-Shared-Set"), _meant("connection")
    ('cpu_dedicated_set', 'cpu_shared_set', None)
    """
    if key in _GROUPS:
        return key
    plain = key.lower().replace("-", "_")
    if plain in _GROUPS or plain in _OLD_NAMES:
        return _OLD_NAMES.get(plain, plain)
    if plain in _LOOKALIKES:
        return None
    words = sorted(plain.split("_"))
    for name in _GROUPS:
        if plain.endswith(f"_{name}") or words == sorted(name.split("_")):
            return name
    plain = _GROUP_PREFIX.sub("", plain)
    near = [name for name in _GROUPS if abs(len(name) - len(plain)) <= len(name) // 2]
    return next(iter(difflib.get_close_matches(plain, near, 1, _CLOSE)), None)
