# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Better places for the emulator threads of a realtime guest, and the price of each.

Nova writes no such XML: what is proposed here is lost when it defines the domain the next time.
The flavor comes first (``emulator_flavors``); this says what is left to gain beside it.

Source: kernel ``Documentation/admin-guide/kernel-parameters.txt``, isolcpus; libvirt
``docs/formatdomain.rst``, CPU Tuning.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.cpu_list import size, to_text
from .._model.guest_xml import Scheduling
from .._nova.errors import NovaError
from .._nova.startup import cpu_option
from .._rules import hosts
from .._rules.host_sets import whole_cores

if t.TYPE_CHECKING:
    from .._model.guest_xml import GuestXml
    from .._model.host import Host

Policy = t.Literal["none", "share", "isolate"]
"""The emulator threads policy that is in force: ``share`` without a shared set is none."""

FIRST_SCHEDULING = (5, 3)
"""The libvirt release that ``<emulatorsched>`` came with."""

INHERITED = (
    "threads that QEMU starts later (live_migration, worker, vnc_worker) inherit the policy and "
    "can starve an ordinary vCPU on the same CPU, a live migration for as long as it takes"
)


class Note(t.NamedTuple):
    """One decision about the XML."""

    what: str
    price: str
    """What it costs, or what is to be known of it."""

    def __str__(self) -> str:
        return f"{self.what}: {self.price}"


@dataclasses.dataclass(frozen=True, slots=True)
class Better:
    """The proposed XML; equal to the given one where there is nothing to gain."""

    xml: GuestXml
    notes: tuple[Note, ...] = ()
    refusal: str = ""
    """Why there is no ``<emulatorsched>`` in it; "" where there is one, or no realtime."""


def is_reported_form(xml: GuestXml) -> bool:
    """Say whether the emulator threads of a realtime guest may run on the CPUs of all its vCPUs.

    Users report this form. Nova leaves the realtime vCPUs out where it writes the XML itself.
    """
    everyone = xml.realtime_cpus | xml.ordinary_cpus
    return bool(xml.realtime and everyone and not everyone & ~(xml.emulator or 0))


def policy_of(xml: GuestXml, host: Host) -> Policy:
    """Read the policy off the XML, for want of the flavor."""
    emulator = xml.emulator or 0
    if not emulator & ~(xml.ordinary_cpus | xml.realtime_cpus):
        return "none"
    return "share" if emulator & _shared(host) else "isolate"


def better(
    xml: GuestXml,
    host: Host,
    *,
    policy: Policy | None = None,
    realtime_pins: int = 0,
    ordinary_pins: int = 0,
    floating: int = 0,
    wish_scheduling: bool = False,
) -> Better:
    """Move the emulator threads of a realtime guest where they delay nobody.

    ``xml`` is what Nova writes for the guest, or has written; ``policy`` is read off it where it is
    not given. ``realtime_pins`` are the CPUs of all realtime vCPUs of the host's guests,
    ``ordinary_pins`` those of pinned vCPUs of other guests without realtime, ``floating`` those
    that vCPUs float over (bitmasks). ``wish_scheduling`` is the wish that operators utter: the
    emulator threads under FIFO on the guest's own ordinary cores, dangers and all.

    A guest without realtime keeps Nova's CPUs, unless they are another guest's realtime CPUs.
    Never raises.
    """
    taken = realtime_pins | xml.realtime_cpus
    if xml.emulator is None and not (xml.realtime and xml.vcpu_pins):
        return Better(xml)
    policy = policy or policy_of(xml, host)
    if policy == "share" and not _shared(host):
        policy = "none"
    if wish_scheduling and policy == "share" and xml.ordinary_cpus & ~_pool(host, floating):
        policy = "none"
    notes: list[Note] = []
    if xml.realtime:
        wanted = _candidates(xml, host, policy, taken, notes)
        emulator = _narrowed(xml, host, wanted, taken, notes)
    else:
        emulator = _spared(xml.emulator or 0, taken, notes)
    if not emulator:
        emulator = _elsewhere(xml, host, taken, notes) or xml.emulator or 0
        if emulator & taken:
            why = "the host has no online CPU that no realtime vCPU is pinned to"
            return Better(xml, (Note("nothing is proposed", why),), why)
    if not emulator:
        return Better(xml)
    if emulator & xml.ordinary_cpus and xml.realtime:
        notes.append(
            Note(
                f"emulator threads on CPU {to_text(emulator)}",
                "no PCPU; they compete with the guest's own ordinary vCPUs",
            )
        )
    others = ordinary_pins & ~xml.ordinary_cpus
    scheduling, refusal = _scheduling(
        xml, host, emulator, others, _pool(host, floating), wish_scheduling, notes
    )
    proposed = dataclasses.replace(
        xml,
        emulator=emulator,
        iothread_pins=dict.fromkeys(xml.iothread_pins, emulator),
        emulator_scheduling=scheduling,
        iothread_scheduling=xml.iothread_scheduling if scheduling else {},
    )
    if proposed == xml:
        return Better(xml, tuple(notes), refusal)
    notes.append(
        Note(
            "the XML is edited beside Nova",
            "lost at a hard reboot, resize, rebuild, evacuation or start after a stop; "
            "hw:emulator_threads_policy of the flavor lasts",
        )
    )
    return Better(proposed, tuple(notes), refusal)


def _option(text: str | None, name: str) -> int:
    try:
        return cpu_option(text, name) or 0
    except NovaError:
        return 0


def _shared(host: Host) -> int:
    return _option(host.config.cpu_shared_set, "cpu_shared_set")


def _services(host: Host) -> int:
    """List the online CPUs that neither guests are pinned to nor the kernel isolates (bitmask)."""
    config = host.config
    pinned = _option(config.cpu_dedicated_set, "cpu_dedicated_set") or _option(
        config.vcpu_pin_set, "vcpu_pin_set"
    )
    return host.topology.online & ~(pinned | hosts.isolated_on(host) | host.data_path_cpus)


def _usable(host: Host) -> int:
    """List the CPUs that are online, or that nova-compute brings online for a guest (bitmask)."""
    config, topology = host.config, host.topology
    if not config.cpu_power_management:
        return topology.online
    asleep = _option(config.cpu_dedicated_set, "cpu_dedicated_set") & topology.present
    return topology.online | asleep


def _pool(host: Host, floating: int) -> int:
    """List the CPUs whose load is anybody's: floating vCPUs, the host's own services (bitmask)."""
    return floating | _shared(host) | _services(host)


def _candidates(xml: GuestXml, host: Host, policy: Policy, taken: int, notes: list[Note]) -> int:
    """List where the policy lets the emulator threads run (bitmask)."""
    today, free = xml.emulator or 0, _usable(host) & ~taken
    if policy == "isolate":
        return today
    if policy == "none":
        return _narrower(today, xml.ordinary_cpus, free)
    shared = _shared(host) & host.topology.online
    near = shared & host.topology.cpus_of(xml.host_cells)
    if shared and not near and xml.host_cells:
        notes.append(
            Note(
                f"emulator threads stay on CPU {to_text(shared)}",
                "no CPU of cpu_shared_set is in the guest's host cells: memory is remote",
            )
        )
    return _narrower(today, near or shared, free)


def _narrower(today: int, allowed: int, free: int) -> int:
    """Keep what is narrower than allowed, if it is of use: a second look proposes nothing else."""
    return today if today & free and not today & ~allowed else allowed


def _spared(wanted: int, taken: int, notes: list[Note]) -> int:
    """Leave out what realtime vCPUs are pinned to."""
    if wanted & taken:
        notes.append(
            Note(f"not on CPU {to_text(wanted & taken)}", "realtime vCPUs are pinned there")
        )
    return wanted & ~taken


def _narrowed(xml: GuestXml, host: Host, wanted: int, taken: int, notes: list[Note]) -> int:
    """Keep of the candidates those that are best; 0 where none is left."""
    found = _spared(wanted & _usable(host), taken, notes)
    aside = found & ~whole_cores(host.topology, taken)
    if found & ~aside and aside:
        notes.append(
            Note(f"not on CPU {to_text(found & ~aside)}", "thread siblings of realtime vCPUs")
        )
    elif found and not aside:
        notes.append(
            Note(
                f"CPU {to_text(found)} shares cores with realtime vCPUs",
                "emulator load slows them down; no other CPU is at hand",
            )
        )
    found = aside or found
    near = found & host.topology.cpus_of(xml.memnodes.get(0, 0))
    if near != found and near:
        notes.append(
            Note(f"not on CPU {to_text(found & ~near)}", "not in the host cell of guest cell 0")
        )
    found = near or found
    over = [cell.id for cell in host.topology.cells if cell.cpuset & found]
    if len(over) > 1:
        notes.append(
            Note(
                f"emulator threads run in host cells {', '.join(map(str, over))}",
                "their memory is remote for some of the time",
            )
        )
    return _balanced(xml, host, found, notes)


def _balanced(xml: GuestXml, host: Host, found: int, notes: list[Note]) -> int:
    """Keep one CPU where the kernel does not balance among several."""
    isolated = hosts.isolated_on(host)
    if size(found) < 2:
        return found
    if host.topology.isolated is None and host.isolation is None:
        notes.append(
            Note(
                "which CPUs are isolated is not known",
                "on isolated ones the kernel leaves all emulator threads on one CPU",
            )
        )
    if not found & isolated:
        return found
    kept = found & ~isolated
    if kept:
        notes.append(
            Note(f"not on CPU {to_text(found & isolated)}", "isolated: the kernel does not balance")
        )
        return kept
    own = (
        1 << cpu
        for vcpu, cpu in sorted(xml.pins.items())
        if not xml.realtime >> vcpu & 1 and found >> cpu & 1
    )
    kept = next(own, found & -found)
    notes.append(
        Note(
            f"only on CPU {to_text(kept)} of {to_text(found)}",
            "all are isolated, and the kernel would leave the threads on one of them anyway",
        )
    )
    return kept


def _elsewhere(xml: GuestXml, host: Host, taken: int, notes: list[Note]) -> int:
    """Find CPUs where the policy leaves none: shared ones, the host's own, any; best of its cells.

    0 where every online CPU is a realtime one.
    """
    for pool in (_shared(host), _services(host), host.topology.online):
        free = pool & host.topology.online & ~taken
        found = free & host.topology.cpus_of(xml.host_cells) or free
        if found:
            chosen = _narrowed(xml, host, found, taken, notes)
            notes.append(
                Note(
                    f"emulator threads on CPU {to_text(chosen)}",
                    "where Nova puts them, no CPU is left that no realtime vCPU is pinned to",
                )
            )
            return chosen
    return 0


def _scheduling(
    xml: GuestXml,
    host: Host,
    emulator: int,
    others: int,
    pool: int,
    wished: bool,
    notes: list[Note],
) -> tuple[Scheduling | None, str]:
    """Decide on ``<emulatorsched>``; gives it, or why there is none.

    Priorities are those of the guest's vCPUs: emulation is to preempt no realtime vCPU.
    """
    if not xml.realtime:
        return None, ""
    first = next(vcpu for vcpu in sorted(xml.vcpu_scheduling) if xml.realtime >> vcpu & 1)
    priority = xml.vcpu_scheduling[first].priority or host.config.realtime_scheduler_priority
    ordinary = xml.ordinary_cpus & ~pool
    refusal = impossible(host) or (
        f"priority {priority} is none that libvirt takes" if not 1 <= priority <= _HIGHEST else ""
    )
    if not refusal and emulator & pool:
        refusal = (
            f"CPU {to_text(emulator & pool)} is for floating vCPUs or the host's own services: "
            "emulator threads under fifo would starve them"
        )
    if not refusal and emulator & others:
        refusal = f"another guest's ordinary vCPU is pinned to CPU {to_text(emulator & others)}"
    if not refusal and emulator & ordinary and not wished:
        refusal = (
            f"the guest's ordinary vCPU runs on CPU {to_text(emulator & ordinary)}: {INHERITED}"
        )
    if refusal:
        notes.append(Note("no <emulatorsched>", refusal))
        return None, refusal
    notes += _unsure(host)
    notes.append(
        Note(
            f"<emulatorsched scheduler='fifo' priority='{priority}'/>",
            f"as asked for: {INHERITED}"
            if emulator & ordinary
            else "of QEMU's main thread and of those it starts later; nobody else runs there",
        )
    )
    if emulator & ordinary:
        notes.append(_throttled(host))
    return Scheduling("fifo", priority), ""


_HIGHEST = 99


def impossible(host: Host) -> str:
    """Say why a host takes no ``<emulatorsched>`` at all; "" where it does or nobody knows."""
    libvirt, kernel, cgroups = host.libvirt, host.kernel, host.cgroups
    if libvirt and libvirt.version and _parsed(libvirt.version) < FIRST_SCHEDULING:
        return f"libvirt {libvirt.version} does not know <emulatorsched>, it came with 5.3.0"
    grouped = libvirt is None or libvirt.controllers is None or "cpu" in libvirt.controllers
    if kernel and kernel.rt_group_sched and cgroups and cgroups.cpu_controller and grouped:
        return (
            "CONFIG_RT_GROUP_SCHED with the cgroup controller cpu: the kernel lets no thread of a "
            "guest be realtime, and the guest does not start"
        )
    return ""


def _parsed(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts if part.isdecimal() and len(part) < _DIGITS)


_DIGITS = 6


def _unsure(host: Host) -> list[Note]:
    """Say what nobody told of the host that can forbid ``<emulatorsched>``."""
    unknown = []
    if host.libvirt is None or not host.libvirt.version:
        unknown.append(
            Note("the version of libvirt is not known", "before 5.3.0 it refuses <emulatorsched>")
        )
    grouped = host.kernel.rt_group_sched if host.kernel else None
    controller = host.cgroups.cpu_controller if host.cgroups else None
    if grouped is not False and controller is not False and None in (grouped, controller):
        unknown.append(
            Note(
                "CONFIG_RT_GROUP_SCHED or the cgroup controller cpu is not known",
                "with both of them no realtime guest starts",
            )
        )
    return unknown


def _throttled(host: Host) -> Note:
    limit = host.kernel.rt_runtime_us if host.kernel else None
    if limit == -1:
        return Note(
            "sched_rt_runtime_us is -1",
            "nothing ends the starving: forbid live migration of the guest, or set a limit",
        )
    if limit is None:
        return Note("sched_rt_runtime_us is not known", "it must not be -1 where guests migrate")
    return Note(
        f"sched_rt_runtime_us is {limit}", "the kernel leaves ordinary threads the rest of a second"
    )
