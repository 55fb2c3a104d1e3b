# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of a host to values: its kernel, what isolates its CPUs, control groups, libvirt.

Facts fit the schema where nothing else is said.
"""

from __future__ import annotations

import functools
import operator
import typing as t

from ...module_utils._read import cmdline, cpu_list
from ...module_utils._read.errors import InputError
from .cpu_texts import cpu_set
from .host import Isolation
from .kernel import Cgroups, Kernel, Libvirt

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .schema import Path

_Document = dict[str, t.Any]
_Read = t.TypeVar("_Read")

_SETS = ("nohz_full", "watchdog_cpus", "workqueue_cpus", "irq_default", "irqbalance_banned")
_BY_NAME = ("irqs", "governors")
_AS_THEY_ARE = (
    "release",
    "preempt_rt",
    "rt_group_sched",
    "no_hz_full",
    "kthread_cpus_known",
    "rt_runtime_us",
    "numa_balancing",
    "nmi_watchdog",
    "ksm",
    "huge_pages",
    "managed_irqs",
    "irqbalance",
    "smt",
    "kthread_priorities",
)
_DEDICATED = ("vcpu_pin_set", "compute.cpu_dedicated_set")


def kernel(facts: _Document | None, last_cpu: int, path: Path) -> Kernel | None:
    """Build the kernel of its facts, to which ``path`` leads; ``last_cpu`` is the highest id.

    Raises ``InputError``, which names the path, for what is no set of CPUs.
    """
    if facts is None:
        return None

    def sets(key: str) -> dict[str, int]:
        return {name: cpu_set(cpus, (*path, key, name)) for name, cpus in facts[key].items()}

    arguments = facts.get("cmdline")
    latencies = sets("idle_latency_us") if "idle_latency_us" in facts else None
    told: _Document = {key: facts[key] for key in _AS_THEY_ARE if key in facts}
    told |= {key: cpu_set(facts[key], (*path, key)) for key in _SETS if key in facts}
    told |= {key: sets(key) for key in _BY_NAME if key in facts}
    return Kernel(
        **told,
        idle_latency_us=None
        if latencies is None
        else {int(latency): cpus for latency, cpus in latencies.items()},
        rcu_nocbs=cpu_set(facts["rcu_nocbs"], (*path, "rcu_nocbs"))
        if "rcu_nocbs" in facts
        else _offloaded(arguments, last_cpu),
        kthread_cpus=facts.get("kthread_cpus", "kthread_cpus" in (arguments or {})),
    )


def _offloaded(arguments: Mapping[str, t.Any] | None, last_cpu: int) -> int | None:
    """Read ``rcu_nocbs``; without a value it names no CPU. None for what the kernel refuses.

    Source: kernel ``kernel/rcu/tree_nocb.h``, ``rcu_nocb_setup``.
    """
    if arguments is None:
        return None
    told = _argument(arguments, "rcu_nocbs") or ""
    return _tolerant(lambda: cpu_list.parse_kernel(told, last_cpu))


def cgroups(facts: _Document | None, path: Path) -> Cgroups | None:
    """Build the control groups of their facts. Raises ``InputError`` as :func:`kernel` does."""
    if facts is None:
        return None
    sets = ("isolated", "machine_cpus", "system_cpus")
    return Cgroups(
        facts.get("version"),
        facts.get("cpu_controller"),
        *(cpu_set(facts[key], (*path, key)) if key in facts else None for key in sets),
    )


def libvirt(facts: _Document | None) -> Libvirt | None:
    """Build the libvirt daemon of its facts."""
    if facts is None:
        return None
    told = (
        {**facts, "controllers": frozenset(facts["controllers"])}
        if "controllers" in facts
        else facts
    )
    return Libvirt(**told)


def without_noise(facts: t.Any) -> t.Any:
    """Cut the interrupts of plain facts to the CPUs that should have none.

    Where else they go differs from host to host and tells none apart. Facts that are not understood
    are given back as they are: they may not have been held against the schema yet.
    """
    try:
        told = facts["kernel"]
        quiet = _quiet(facts)
        irqs = {name: cpu_set(cpus, ()) & quiet for name, cpus in told["irqs"].items()}
    except (InputError, AttributeError, KeyError, TypeError):
        return facts
    kept = {name: cpu_list.to_text(cpus) for name, cpus in irqs.items() if cpus}
    return {**facts, "kernel": {**told, "irqs": kept}}


def _quiet(facts: _Document) -> int:
    """List isolated and tickless CPUs, on a host for realtime also those for pinned vCPUs."""
    told, tuned = facts["kernel"], facts.get("tuned") or {}
    present = cpu_set(facts["topology"].get("present", facts["topology"]["online"]), ())
    isolated = isolation(told, tuned, present.bit_length() - 1)
    found = cpu_set(facts["topology"].get("isolated"), ()) | cpu_set(told.get("nohz_full"), ())
    if isolated is not None:
        found |= (isolated.domain or 0) | (isolated.nohz_full or 0)
    if (
        facts.get("intent") == "realtime"
        or told.get("preempt_rt")
        or "realtime" in str(tuned.get("profile"))
    ):
        found |= _pinnable(facts.get("nova", {}).get("options", {}))
    return found


def _pinnable(options: Mapping[str, t.Any]) -> int:
    values = (options.get(key, "") for key in _DEDICATED)
    texts = [str(value["value"] if isinstance(value, dict) else value) for value in values]
    return functools.reduce(operator.or_, map(_dedicated, texts))


@functools.lru_cache(maxsize=256)
def _dedicated(text: str) -> int:
    return _tolerant(lambda: cpu_list.parse_nova(text)) or 0


def isolation(
    kernel: Mapping[str, t.Any] | None, tuned: Mapping[str, t.Any] | None, last_cpu: int
) -> Isolation | None:
    """Read what the kernel's arguments and tuned's profile isolate; None where neither is known.

    A value that the kernel or tuned would drop isolates nothing. ``last_cpu`` is the highest id.

    Source: kernel ``kernel/sched/isolation.c``; tuned ``utils/commands.py``, ``cpulist_unpack``.
    """
    arguments = (kernel or {}).get("cmdline")
    if arguments is None and tuned is None:
        return None
    arguments_known, arguments = arguments is not None, arguments or {}
    isolcpus, nohz_full = _argument(arguments, "isolcpus"), _argument(arguments, "nohz_full")
    cores, unbalanced = ((tuned or {}).get(f"{name}_cores") for name in ("isolated", "no_balance"))
    told = None if isolcpus is None else _tolerant(lambda: cmdline.isolcpus(isolcpus, last_cpu))
    named = dict.fromkeys(told.flags, told.cpus) if told and told.cpus else {}
    return Isolation(
        named.get("domain"),
        named.get("managed_irq"),
        named.get("nohz"),
        None
        if nohz_full is None
        else _tolerant(lambda: cpu_list.parse_kernel(nohz_full, last_cpu)),
        bool(told and told.named and not told.cpus),
        None if cores is None else _tolerant(lambda: _tuned_cpus(str(cores))),
        None if unbalanced is None else _tolerant(lambda: _tuned_cpus(str(unbalanced))),
        arguments_known,
    )


def _argument(arguments: Mapping[str, t.Any], name: str) -> str | None:
    """Take an argument of the kernel; the first one counts where it is given several times."""
    value = arguments.get(name)
    if isinstance(value, list):
        value = next(iter(value), None)
    return None if value is None else str(value)


def _tolerant(read: Callable[[], _Read]) -> _Read | None:
    try:
        return read()
    except cpu_list.CpuListError:
        return None


def _tuned_cpus(text: str) -> int:
    items = text.split(",")
    masks = [item for item in items if item.strip().lower().startswith("0x")]
    cpus = cpu_list.parse_nova(",".join(item for item in items if item not in masks))
    for item in masks:
        cpus |= cpu_list.parse_hex(item)
    return cpus
