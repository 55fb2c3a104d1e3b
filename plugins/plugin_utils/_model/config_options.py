# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that an audit reads from ``nova.conf``, typed as oslo.config types them."""

from __future__ import annotations

import dataclasses
import math
import typing as t

from .config import HostConfig, HugePages, OptionFault, StrayOption

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_TRUE = ("true", "1", "on", "yes")
_FALSE = ("false", "0", "off", "no")


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """How one option is read; ``read`` raises ``ValueError`` where the service would not go on."""

    name: str
    """The name without section: the field of ``HostConfig``, if it has one."""
    read: Callable[[str], t.Any]
    accepted: str
    multiple: bool = False
    """True if every line counts, not the last one alone."""


def _text(value: str) -> str | None:
    """Take an empty value as unset, as Nova does; a blank one it would try to read."""
    return value or None


def _boolean(value: str) -> bool:
    if value.lower() not in _TRUE + _FALSE:
        raise ValueError(value)
    return value.lower() in _TRUE


def _at_least(minimum: float, number: float) -> None:
    if not minimum <= number < math.inf:
        raise ValueError(number)


def _count(value: str) -> int:
    """Read a whole number. A blank one, None to oslo.config, breaks Nova a few lines later."""
    number = int(value)
    _at_least(0, number)
    return number


def _ratio(value: str) -> float:
    number = float(value)
    _at_least(0, number)
    return number


def _override(value: str) -> float | None:
    """Read a ratio that may be unset; 0.0 stands for unset too.

    Source: ``nova/conf/compute.py``; ``nova/virt/libvirt/driver.py``, ``_get_allocation_ratios``.
    """
    return _ratio(value) or None if value.strip() else None


def _choice(*choices: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in choices:
            raise ValueError(value)
        return value

    return read


def _list(value: str) -> tuple[str, ...]:
    text = value.strip().rstrip(",")
    return tuple(item.strip() for item in text.split(",")) if text else ()


def _huge_pages(value: str) -> HugePages:
    """Read ``node:0,size:2048,count:64``.

    Source: oslo.config ``types.py``, ``Dict``.
    """
    pairs: dict[str, str] = {}
    left = ""
    for part in value.split(",") if value.strip() else ():
        # A part without colon is taken as the first half of a name that has a comma in it.
        name, colon, amount = (left + part).partition(":")
        left = "" if colon else left + part + ","
        if not colon:
            continue
        if not name.strip() or name.strip() in pairs:
            raise ValueError(value)
        pairs[name.strip()] = amount.strip()
    if left:
        raise ValueError(value)
    return HugePages(pairs.get("node"), pairs.get("size"), pairs.get("count"))


_CPUS = "a list of CPUs"
_COUNT = "a whole number, 0 or more"
_RATIO = "a number, 0.0 or more"
_BOOLEAN = "one of " + ", ".join(_TRUE + _FALSE)
_STRATEGIES = ("cpu_state", "governor")
_CPU_MODES = ("host-model", "host-passthrough", "custom", "none")
_VIRT_TYPES = ("kvm", "lxc", "qemu", "parallels", "uml", "xen")

OPTIONS: dict[str, Option] = {
    "vcpu_pin_set": Option("vcpu_pin_set", _text, _CPUS),
    "reserved_host_cpus": Option("reserved_host_cpus", _count, _COUNT),
    "reserved_host_memory_mb": Option("reserved_host_memory_mb", _count, _COUNT),
    "reserved_huge_pages": Option(
        "reserved_huge_pages",
        _huge_pages,
        "name:value pairs with commas between them (node:0,size:2048,count:64)",
        multiple=True,
    ),
    "cpu_allocation_ratio": Option("cpu_allocation_ratio", _override, _RATIO),
    "ram_allocation_ratio": Option("ram_allocation_ratio", _override, _RATIO),
    "initial_cpu_allocation_ratio": Option("initial_cpu_allocation_ratio", _ratio, _RATIO),
    "initial_ram_allocation_ratio": Option("initial_ram_allocation_ratio", _ratio, _RATIO),
    "compute.cpu_shared_set": Option("cpu_shared_set", _text, _CPUS),
    "compute.cpu_dedicated_set": Option("cpu_dedicated_set", _text, _CPUS),
    "compute.packing_host_numa_cells_allocation_strategy": Option(
        "packing_host_numa_cells_allocation_strategy", _boolean, _BOOLEAN
    ),
    "libvirt.cpu_power_management": Option("cpu_power_management", _boolean, _BOOLEAN),
    "libvirt.cpu_power_management_strategy": Option(
        "cpu_power_management_strategy", _choice(*_STRATEGIES), " or ".join(_STRATEGIES)
    ),
    "libvirt.realtime_scheduler_priority": Option(
        "realtime_scheduler_priority", int, "a whole number"
    ),
    "libvirt.cpu_mode": Option("cpu_mode", _choice(*_CPU_MODES), ", ".join(_CPU_MODES)),
    "libvirt.cpu_models": Option("cpu_models", _list, "names of CPU models"),
    "libvirt.file_backed_memory": Option("file_backed_memory", _count, _COUNT),
    "libvirt.virt_type": Option("virt_type", _choice(*_VIRT_TYPES), ", ".join(_VIRT_TYPES)),
    "workarounds.disable_fallback_pcpu_query": Option(
        "disable_fallback_pcpu_query", _boolean, _BOOLEAN
    ),
    "filter_scheduler.enabled_filters": Option("enabled_filters", _list, "names of filters"),
}
"""Every option that may leave ``nova.conf``, by its name with the section in front (outside
[DEFAULT]); nothing else is read."""

_FIELDS = frozenset(field.name for field in dataclasses.fields(HostConfig))


def config(options: Mapping[str, t.Any], strays: Iterable[Mapping[str, str]] = ()) -> HostConfig:
    """Type the options of a host, given as its document has them (checked against its schema).

    A value that stops the service becomes an ``OptionFault`` and leaves its option at the default.

    Source: oslo.config ``types.py``; ``nova/conf/*.py``.
    """
    values: dict[str, t.Any] = {}
    origins: dict[str, str] = {}
    faults: list[OptionFault] = []
    for key, given in options.items():
        option = OPTIONS[key]
        value, where = (
            (given["value"], given.get("where")) if isinstance(given, dict) else (given, None)
        )
        texts = [str(text) for text in (value if isinstance(value, list) else [value])]
        if not texts:
            continue
        if where:
            origins[option.name] = where
        read = []
        for text in texts if option.multiple else texts[-1:]:
            try:
                read.append(option.read(text))
            except ValueError:
                faults.append(OptionFault(option.name, text, option.accepted))
        if read and option.name in _FIELDS:
            values[option.name] = tuple(read) if option.multiple else read[0]
    return HostConfig(
        **values,
        faults=tuple(faults),
        strays=tuple(
            StrayOption(s["key"], s["section"], s.get("where", "nova.conf"), s.get("belongs", ""))
            for s in strays
        ),
        origins=origins,
    )
