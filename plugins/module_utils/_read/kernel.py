# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the running kernel keeps its own work off CPUs: ticks, interrupts, workers, idle states.

What cannot be read is left out. Nothing in it tells equal hosts apart: interrupts lose their
numbers, and masks are cut to the CPUs that exist.
"""

from __future__ import annotations

import re
import struct
import typing as t
import zlib

from . import cmdline, cpu_list
from .evidence import KTHREADD, known, listed, masked, names, number, switch, text, tolerant
from .files import LARGE

if t.TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from .evidence import Process
    from .files import Tree

CPU = "/sys/devices/system/cpu"
SYSCTL = "/proc/sys/kernel"
IRQBALANCE = ("/etc/sysconfig/irqbalance", "/etc/default/irqbalance")
"""Where distributions keep the environment of irqbalance."""

_CONFIG = 8 << 20
"""Characters of a kernel's configuration, packed or not; real ones have 300,000."""
_INTERRUPTS = 1 << 16
"""Interrupts of a host, many more than any has; of one with more nothing is told."""
_FAMILIES = 256
"""Names of interrupts that are kept; a host has some tens."""
_NAME = 64
_LONG_NAME = 1024
"""Characters looked at of a line of names; drivers that share an interrupt are all in it."""
_NO_LIMIT_US = 2_000_000_000
"""Source: kernel ``include/linux/pm_qos.h``, ``PM_QOS_CPU_LATENCY_DEFAULT_VALUE``."""

_RELEASE = re.compile(r"[0-9]+\.[\w.+~-]{1,128}", re.ASCII)
_VERSION = re.compile(rf"Linux version ({_RELEASE.pattern})", re.ASCII)
_REALTIME = re.compile(r"\bPREEMPT[_ ]RT\b")
_OPTION = re.compile(
    r"^(?:(CONFIG_\w{1,64})=(\w{1,8})|# (CONFIG_\w{1,64}) is not set)$", re.ASCII | re.MULTILINE
)
_CPU_NAME = re.compile(r"cpu([0-9]{1,5})", re.ASCII)
_CHOSEN = re.compile(r"\[(\w{1,16})\]", re.ASCII)
_WORD = re.compile(r"[a-z][\w-]{0,31}", re.ASCII)
_SMT = frozenset({"on", "off", "forceoff", "notsupported", "notimplemented"})
_QUEUE = re.compile(
    r"nvme[0-9]+q[1-9]|.*(?:(?:tx|rx|comp|fp|queue|input|output|msix)[-_.]?)[0-9]",
    re.ASCII | re.IGNORECASE,
)
"""Names of interrupts of which a device has one a CPU: ``nvme0q12``, ``i40e-eth0-TxRx-3``."""
_ADMIN = re.compile(r"nvme[0-9]+q0", re.ASCII)
_BANNED = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(IRQBALANCE_BANNED_CPU(?:S|LIST))=[ \t]*(.*?)[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_THREADS = {
    "ksoftirqd": "ksoftirqd",
    "rcuc": "rcuc",
    "ktimers": "ktimers",
    "ktimersoftd": "ktimers",
}
"""Kernel threads of each CPU that guests must not starve; the last one is an old name."""


def kernel(
    tree: Tree,
    arguments: Mapping[str, t.Any] | None,
    present: int,
    isolated: int,
    running: list[Process] | None,
) -> dict[str, t.Any]:
    """Read the ``kernel`` part of a host's facts but for its command line.

    ``arguments`` are those of the command line, ``present`` and ``isolated`` what sysfs says of the
    CPUs (bitmasks), ``running`` the processes; None stands for what is not known. Sets of CPUs are
    returned as texts. Never raises for the content of a file.
    """
    config = _config(tree)
    tickless = listed(tree, f"{CPU}/nohz_full")
    no_hz_full = config.get("CONFIG_NO_HZ_FULL", False) if config else None
    if tickless is None and no_hz_full is False:
        # Without the option there is no file.
        tickless = 0
    version = text(tree, f"{SYSCTL}/version") or text(tree, "/proc/version")
    own = {
        "nohz_full": tickless,
        "watchdog_cpus": _watched(tree),
        "workqueue_cpus": masked(tree, "/sys/devices/virtual/workqueue/cpumask"),
        "irq_default": masked(tree, "/proc/irq/default_smp_affinity"),
    }
    return known(
        {
            "release": _release(tree),
            "preempt_rt": _preempt_rt(tree, version, config),
            "rt_group_sched": _rt_group_sched(tree, config),
            "no_hz_full": no_hz_full,
            **{key: _text(cpus, present) for key, cpus in own.items()},
            "kthread_cpus_known": _kthread_cpus_known(tree, arguments, present, tickless),
            "rt_runtime_us": number(tree, f"{SYSCTL}/sched_rt_runtime_us", -1),
            "numa_balancing": switch(tree, f"{SYSCTL}/numa_balancing"),
            "nmi_watchdog": switch(tree, f"{SYSCTL}/nmi_watchdog"),
            "ksm": number(tree, "/sys/kernel/mm/ksm/run", 0, 2),
            "huge_pages": _huge_pages(tree),
            **_interrupts(tree, present),
            **_irqbalance(tree, running, isolated | (tickless or 0), present),
            "smt": _one_of(text(tree, f"{CPU}/smt/control"), _SMT),
            "governors": _governors(tree, present),
            "idle_latency_us": _idle_latencies(tree, present),
            "kthread_priorities": _kthread_priorities(running),
        }
    )


def _text(cpus: int | None, present: int) -> str | None:
    return None if cpus is None else cpu_list.to_text(cpus & present)


def _one_of(value: str | None, accepted: Container[str]) -> str | None:
    return value if value is not None and value in accepted else None


def _release(tree: Tree) -> str | None:
    found = text(tree, f"{SYSCTL}/osrelease")
    if found and _RELEASE.fullmatch(found):
        return found
    version = _VERSION.match(text(tree, "/proc/version") or "")
    return version[1] if version else None


def _config(tree: Tree) -> dict[str, bool]:
    """Read which options the kernel was built with; empty where unknown."""
    release = _release(tree)
    folders = ("/boot/config-{}", "/lib/modules/{}/config", "/usr/lib/modules/{}/config")
    places = (place.format(release) for place in folders) if release else ()
    found = next(filter(None, (text(tree, place, _CONFIG) for place in places)), None)
    found = found or _unpacked(tolerant(lambda: tree.data("/proc/config.gz", _CONFIG)))
    options = _OPTION.findall(found or "")
    return {name or unset: value == "y" for name, value, unset in options}


def _unpacked(data: bytes | None) -> str | None:
    """Unpack gzip data; None for anything else, and for what grows beyond any configuration."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        found = unpacker.decompress(data or b"", _CONFIG)
    except zlib.error:
        return None
    return found.decode("utf-8", "replace") if unpacker.eof else None


def _preempt_rt(tree: Tree, version: str | None, config: Mapping[str, bool]) -> bool | None:
    told = switch(tree, "/sys/kernel/realtime")
    if told is not None:
        return told
    if version:
        return bool(_REALTIME.search(version))
    return config.get("CONFIG_PREEMPT_RT", False) if config else None


def _rt_group_sched(tree: Tree, config: Mapping[str, bool]) -> bool | None:
    """Tell whether realtime runs under a budget for each cgroup.

    Source: kernel ``kernel/sched/core.c``, ``setup_rt_group_sched`` (since 6.16).
    """
    if not config:
        return None
    if not config.get("CONFIG_RT_GROUP_SCHED"):
        return False
    told = [
        value
        for name, value in cmdline.words(text(tree, cmdline.PATH) or "")
        if name.replace("-", "_") == "rt_group_sched" and value
    ]
    disabled = config.get("CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED")
    if told and disabled is not None:
        return told[-1].lower() in ("1", "y", "yes", "on", "t", "true")
    return not disabled


def _kthread_cpus_known(
    tree: Tree, arguments: Mapping[str, t.Any] | None, present: int, tickless: int | None
) -> bool | None:
    """Tell whether the kernel knows the argument ``kthread_cpus``, where it is given.

    What a kernel does not know it hands to init as environment. One that does know it confines
    the parent of its threads to the CPUs of the list.

    Source: kernel ``init/main.c``, ``unknown_bootoption``; ``kernel/kthread.c``, ``kthreadd``.
    """
    value = (arguments or {}).get("kthread_cpus")
    if not isinstance(value, str):
        return None
    environment = tolerant(lambda: tree.data("/proc/1/environ")) or b""
    if any(re.match(rb"kthread[_-]cpus=", entry) for entry in environment.split(b"\0")):
        return False
    wanted = tolerant(lambda: cpu_list.parse_kernel(value, present.bit_length() - 1))
    status = re.search(
        r"^Cpus_allowed_list:\s*(\S*)$", text(tree, "/proc/2/status") or "", re.MULTILINE
    )
    allowed = tolerant(lambda: cpu_list.parse_kernel(status[1])) if status else None
    if wanted is None or allowed is None:
        return None
    if allowed & present != wanted & present:
        return False
    # Tickless CPUs keep the same threads off: equal lists would prove nothing.
    return None if wanted & present == present & ~(tickless or 0) else True


def _watched(tree: Tree) -> int | None:
    """Read which CPUs the lockup detectors watch; 0 where the soft one is off."""
    for name in ("watchdog", "soft_watchdog"):
        if switch(tree, f"{SYSCTL}/{name}") is False:
            return 0
    return listed(tree, f"{SYSCTL}/watchdog_cpumask")


def _huge_pages(tree: Tree) -> str | None:
    found = _CHOSEN.search(text(tree, "/sys/kernel/mm/transparent_hugepage/enabled") or "")
    return _one_of(found[1], ("always", "madvise", "never")) if found else None


def _interrupts(tree: Tree, present: int) -> dict[str, t.Any]:
    """Read where interrupts go, by names that have ``*`` for their last number.

    Numbers of interrupts differ between equal hosts and name nothing.

    Source: kernel ``fs/proc/interrupts.c``, ``kernel/irq/proc.c``, ``show_interrupts``.
    """
    found = text(tree, "/proc/interrupts", LARGE)
    if not found:
        return {}
    families: dict[str, int] = {}
    members: dict[str, int] = {}
    read = False
    named = list(_named(found))
    if len(named) > _INTERRUPTS:
        return {}
    for irq, name in named:
        cpus = _effective(tree, irq)
        if cpus is None:
            continue
        read = True
        family = _family(name)
        if family not in families and len(families) >= _FAMILIES:
            family = "others"
        families[family] = families.get(family, 0) | cpus & present
        members[family] = members.get(family, 0) + bool(_QUEUE.match(name))
    sets = {name: cpu_list.to_text(families[name]) for name in sorted(families)}
    return known(
        {
            "irqs": {name: cpus for name, cpus in sets.items() if cpus} if read else None,
            "managed_irqs": any(count > 1 for count in members.values()),
        }
    )


def _named(table: str) -> Iterator[tuple[int, str]]:
    """List number and names of each interrupt of a device: they stand last, behind two blanks."""
    for line in table.splitlines():
        irq, _colon, rest = line.partition(":")
        number_of, names_of = irq.strip(), rest.rstrip().rpartition("  ")[2].strip()
        if re.fullmatch("[0-9]{1,9}", number_of) and re.search("[^0-9 ]", names_of):
            yield int(number_of), names_of[:_LONG_NAME]


def _effective(tree: Tree, irq: int) -> int | None:
    for name in ("effective_affinity_list", "smp_affinity_list"):
        found = listed(tree, f"/proc/irq/{irq}/{name}")
        if found is not None:
            return found
    return None


def _family(name: str) -> str:
    """Write a name without its last number, and without the address of its device.

    The first queue of NVMe stays apart: it alone is not managed by the kernel.

    >>> _family("mlx5_comp3@pci:0000:3b:00.0"), _family("nvme0q12"), _family("nvme0q0")
    ('mlx5_comp*', 'nvme0q*', 'nvme0q0')
    """
    short = name.partition("@")[0]
    if not _ADMIN.fullmatch(short):
        short = re.sub(r"[0-9]+(?=[^0-9]*$)", "*", short)
    return "".join(char if char.isprintable() else "?" for char in short[:_NAME])


def _irqbalance(
    tree: Tree, running: list[Process] | None, spared: int, present: int
) -> dict[str, t.Any]:
    """Read whether irqbalance runs, and which CPUs it leaves alone.

    Told nothing, it leaves isolated and tickless CPUs alone (``spared``).

    Source: irqbalance ``cputree.c``, ``setup_banned_cpus``.
    """
    runs = None if running is None else any(each.name == "irqbalance" for each in running)
    texts = [found for found in (text(tree, path) for path in IRQBALANCE) if found is not None]
    told = dict(_BANNED.findall("\n".join(texts)))
    told = {name: value.strip("\"'").strip() for name, value in told.items()}
    banned: int | None = spared
    if told.get("IRQBALANCE_BANNED_CPULIST"):
        banned = tolerant(lambda: cpu_list.parse_kernel(told["IRQBALANCE_BANNED_CPULIST"]))
    elif told.get("IRQBALANCE_BANNED_CPUS"):
        banned = tolerant(lambda: cpu_list.parse_hex(told["IRQBALANCE_BANNED_CPUS"]))
    installed = bool(texts) or runs
    return {"irqbalance": runs, "irqbalance_banned": _text(banned, present) if installed else None}


def _folders(tree: Tree, present: int) -> Iterator[tuple[int, str]]:
    found = filter(None, map(_CPU_NAME.fullmatch, names(tree, CPU)))
    for cpu in sorted(int(each[1]) for each in found):
        if present >> cpu & 1:
            yield cpu, f"{CPU}/cpu{cpu}"


def _gathered(pairs: Iterable[tuple[str, int]]) -> dict[str, str] | None:
    """Turn what each CPU has round: from what to CPUs. None where no CPU has anything."""
    sets: dict[str, int] = {}
    for what, cpu in pairs:
        sets[what] = sets.get(what, 0) | 1 << cpu
    return {what: cpu_list.to_text(sets[what]) for what in sorted(sets)} or None


def _governors(tree: Tree, present: int) -> dict[str, str] | None:
    read = (
        (text(tree, f"{path}/cpufreq/scaling_governor"), cpu)
        for cpu, path in _folders(tree, present)
    )
    return _gathered((name, cpu) for name, cpu in read if name and _WORD.fullmatch(name))


def _idle_latencies(tree: Tree, present: int) -> dict[str, str] | None:
    """Read the longest wake-up latency, µs, of the idle states that each CPU may enter.

    A limit that a program holds (tuned's ``force_latency``) shows in a device of the live host
    alone: nothing is known of a captured tree with an active profile of tuned.

    Source: kernel ``drivers/cpuidle/governor.c``, ``cpuidle_governor_latency_req``.
    """
    limit = _held_limit_us(tree)
    if limit is None:
        return None
    read = ((_idle_latency(tree, path, limit), cpu) for cpu, path in _folders(tree, present))
    return _gathered((str(latency), cpu) for latency, cpu in read if latency is not None)


def _held_limit_us(tree: Tree) -> int | None:
    data = tree.device("/dev/cpu_dma_latency", 4)
    if data is not None and len(data) == 4:
        return max(0, int(struct.unpack("=i", data)[0]))
    return None if text(tree, "/etc/tuned/active_profile") else _NO_LIMIT_US


def _idle_latency(tree: Tree, path: str, limit: int) -> int | None:
    states = [
        name for name in names(tree, f"{path}/cpuidle") if re.fullmatch("state[0-9]{1,3}", name)
    ]
    own = f"{path}/power/pm_qos_resume_latency_us"
    # With n/a no latency is borne; 0 stands for no limit.
    limit = 0 if text(tree, own) == "n/a" else min(limit, number(tree, own) or limit)
    latencies = []
    for state in states:
        latency = number(tree, f"{path}/cpuidle/{state}/latency")
        disabled = switch(tree, f"{path}/cpuidle/{state}/disable")
        if latency is not None and not disabled and latency <= limit:
            latencies.append(latency)
    # State 0 is entered where no other may be.
    return max(latencies, default=0) if states else None


def _kthread_priorities(running: list[Process] | None) -> dict[str, int] | None:
    lowest: dict[str, int] = {}
    for each in running or ():
        kind, slash, cpu = each.name.partition("/")
        if each.parent == KTHREADD and slash and cpu.isdecimal() and kind in _THREADS:
            name = _THREADS[kind]
            lowest[name] = min(lowest.get(name, each.priority), each.priority)
    return {name: lowest[name] for name in sorted(lowest)} or None
