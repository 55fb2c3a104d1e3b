# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Domains made into what rules look at, and what several rules ask of a domain."""

from __future__ import annotations

import dataclasses
import functools
import shlex
import typing as t

from ...module_utils._read.cpu_list import ids, mask, size, to_text
from ...module_utils._read.errors import InputError, quoted
from .._model import inference
from .._model.flavor import NO_IMAGE, Flavor, Image
from .._model.server import CellPlace
from .._nova import constraints, guest_xml, image_properties
from .._nova.errors import NovaError
from .._nova.releases import release as release_of
from . import hosts
from .cases import host_case
from .policies import KEY, Trials
from .rule import GuestCase, HostGuestsCase
from .servers import MOVING

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .._model.domain import Domain, Thread
    from .._model.guest import Guest
    from .._model.guest_xml import GuestXml, Scheduling
    from .._model.host import Fleet
    from .._model.server import Server
    from .._nova.releases import Release
    from .policies import Trial
    from .rule import HostCase

Remedy = t.Literal["reboot", "migrate", "nothing", "look"]
"""What puts a guest right: a hard reboot, a cold migration, nothing at all, or a decision."""

_REMEDIES: Mapping[str, Remedy] = {
    "DM-01": "reboot",
    "DM-05": "reboot",
    "DM-06": "reboot",
    "DM-07": "migrate",
    "DM-10": "reboot",
    "DM-13": "nothing",
    "DM-14": "reboot",
    "DM-15": "migrate",
    "DM-16": "reboot",
    "DM-17": "reboot",
    "DM-18": "reboot",
    "DM-19": "reboot",
    "DM-20": "migrate",
    "DM-21": "migrate",
    "DM-22": "nothing",
    "DM-23": "reboot",
}
_ABSENT = "none"

_Items = tuple[tuple[str, t.Any], ...]


def remedy(code: str, case: GuestCase | None = None) -> Remedy:
    """Say what a guest needs for which the rule ``code`` found something; ``case`` is its own."""
    predicted = case.predicted if case else None
    if code == "DM-20" and predicted and predicted.emulator:
        return "reboot"
    live = case.domain.live if case else None
    if code == "DM-08" and case and absent_cpus(case):
        return "migrate"
    if code == "DM-16" and predicted and live and predicted.cpuset == live.cpuset:
        return "migrate"
    return _REMEDIES.get(code, "look")


class _Unplaced(Exception):
    """The XML does not tell where a guest sits."""


# --- cases ----------------------------------------------------------------------------------------


def guest_cases(fleet: Fleet, domains: Iterable[Domain]) -> Iterator[GuestCase]:
    """Look at domains on their hosts.

    Raises ``InputError`` for a domain whose host is not in the fleet, and for a host of a release
    that is not known.
    """
    servers = {server.id: server for server in fleet.servers}
    trials = Trials(fleet.scheduler)
    for case in host_guests_cases(fleet, domains):
        recorded = {
            server.id: mask(cpu for place in places for cpu in place.pins.values())
            for server in case.servers
            if server.status not in MOVING and (places := server.places)
        }
        for domain in case.domains:
            made = _case(domain, case, servers.get(domain.id))
            yield dataclasses.replace(made, recorded=recorded, trials=trials)


def host_guests_cases(fleet: Fleet, domains: Iterable[Domain]) -> Iterator[HostGuestsCase]:
    """Look at hosts with all their domains; hosts without any are left out.

    Raises ``InputError`` as :func:`guest_cases` does.
    """
    by_host: dict[str, list[Domain]] = {}
    for domain in domains:
        by_host.setdefault(domain.host, []).append(domain)
    classes = {name: each for each in fleet.classes for name in each.names}
    made: dict[str, HostCase] = {}
    servers: dict[str, list[Server]] = {}
    for server in fleet.servers:
        servers.setdefault(server.host, []).append(server)
    for name, found in by_host.items():
        each = classes.get(name)
        if each is None:
            raise InputError(
                f"nobody told about host {quoted(name)} of domain {quoted(found[0].name)}",
                "domains of the hosts that are audited",
                found[0].where,
            )
        if each.host.name not in made:
            made[each.host.name] = host_case(each.host, each.names)
        host = made[each.host.name]
        pinned = {domain.id: pinned_cpus(domain, host) for domain in found}
        realtime = {domain.id: realtime_cpus(domain) for domain in found}
        told = tuple(servers.get(name, ()))
        yield HostGuestsCase(name, host, tuple(found), pinned, told, realtime)


def _case(domain: Domain, together: HostGuestsCase, server: Server | None) -> GuestCase:
    host = together.host
    others = tuple(other for other in together.domains if other is not domain)
    release = _release(domain, host)
    flavor, image, inferred = domain.flavor, domain.image, False
    if flavor is None and server is not None:
        flavor, image = server.flavor, server.image
    if flavor is None and domain.xml is not None:
        flavor, inferred = inferred_flavor(domain, host), True
    image = image or (server.image if server else None)
    case = GuestCase(
        domain,
        host,
        others,
        release,
        None,
        "",
        flavor,
        image,
        inferred=inferred,
        server=server,
        pinned=together.pinned,
        realtime=together.realtime,
    )
    return _with_prediction(case)


def _release(domain: Domain, host: HostCase) -> Release:
    """Settle the release that generated a domain's XML."""
    text = domain.nova.release if domain.nova else None
    try:
        return release_of(text, host=True) if text else host.release
    except InputError:
        return host.release


def _with_prediction(case: GuestCase) -> GuestCase:
    """Predict the XML, for the host's release where that is what the guest has.

    A live migration writes the pins anew, as the release of the new host has them, and leaves the
    release in the metadata alone; it adds no I/O thread.
    """
    xml, flavor = case.domain.xml, case.flavor
    if xml is None:
        return dataclasses.replace(case, unpredicted="its XML could not be read")
    if case.domain.nova is None:
        return dataclasses.replace(case, unpredicted="Nova does not manage it")
    if flavor is None:
        return dataclasses.replace(case, unpredicted="its flavor is not known")
    first, why = None, ""
    for release in dict.fromkeys((case.release, case.host.release)):
        try:
            predicted = _predict(case, flavor, xml, release)
        except NovaError as error:
            why = why or f"Nova {release.name} refuses it ({error})"
        except _Unplaced as unknown:
            why = why or str(unknown)
        else:
            found = dataclasses.replace(case, release=release, predicted=predicted)
            if all(map(_missing_iothread, drift(predicted, xml))):
                return found
            first = first or found
    return first or dataclasses.replace(case, unpredicted=why)


def _predict(case: GuestCase, flavor: Flavor, xml: GuestXml, release: Release) -> GuestXml:
    image = case.image or NO_IMAGE
    guest = _guest(flavor, image, release)
    places = _places(case, guest, xml) if guest else ()
    host = case.host
    cells = host.cells if release is host.release else None
    return guest_xml.predict(flavor, image, guest, places, host.host, release, cells=cells)


def _places(case: GuestCase, guest: Guest, xml: GuestXml) -> tuple[CellPlace, ...]:
    """Give the places of a guest: as the server has them, else as its XML has them."""
    told = recorded_places(case)
    if told and len(told) == len(guest.cells):
        return tuple(
            place
            if place.page_size_kb
            else dataclasses.replace(place, page_size_kb=xml.backing.pages.get(index))
            for index, place in enumerate(told)
        )
    if not case.host.host.topology.cells:
        return ()
    reserved = 0
    if guest.emulator_threads_policy == "isolate":
        reserved = xml.emulator or 0
        if reserved.bit_count() != 1 and case.domain.running:
            raise _Unplaced(
                "its emulator threads should have one CPU of their own, and emulatorpin is "
                f"{to_text(reserved) or _ABSENT}"
            )
    found, single = [], xml.pins
    for index, cell in enumerate(guest.cells):
        pins = {}
        for vcpu in ids(cell.pcpuset):
            if vcpu not in single:
                cpus = to_text(xml.vcpu_pins.get(vcpu, 0)) or _ABSENT
                raise _Unplaced(f"vCPU {vcpu} should be pinned, and its vcpupin is {cpus}")
            pins[vcpu] = single[vcpu]
            if reserved >> pins[vcpu] & 1 and case.domain.running:
                raise _Unplaced(
                    "its emulator threads should have one CPU of their own, and emulatorpin is "
                    f"{to_text(reserved)}, which vCPU {vcpu} is pinned to"
                )
        seat = _host_cell(case, xml, index, pins)
        kept = 0 if index else reserved
        found.append(CellPlace(seat, pins, kept, xml.backing.pages.get(index)))
    return tuple(found)


def recorded_places(case: GuestCase) -> tuple[CellPlace, ...]:
    """Give the places that Nova has recorded for a guest; none where nobody told, or where it is
    on the move between hosts."""
    server = case.server
    if server is None or server.host != case.domain.host or server.status in MOVING:
        return ()
    return server.places or ()


def _host_cell(case: GuestCase, xml: GuestXml, index: int, pins: Mapping[int, int]) -> int:
    """Settle on which host cell a guest cell sits."""
    known = {cell.id: cell.cpuset for cell in case.host.host.topology.cells}
    nodes = xml.memnodes.get(index, 0)
    if nodes.bit_count() == 1:
        seat = nodes.bit_length() - 1
        if seat not in known:
            raise _Unplaced(f"its memory is tied to host cell {seat}, which the host has not")
        return seat
    first = 1 << next(iter(pins.values())) if pins else 0
    for seat, cpus in known.items():
        if cpus & first:
            return seat
    raise _Unplaced(f"its XML does not tell on which host cell its cell {index} sits")


def inferred_flavor(domain: Domain, host: HostCase) -> Flavor | None:
    """Read a flavor off the XML of a domain."""
    found, xml = inference.flavor(domain, *_sets(host)), domain.xml
    if found is not None or xml is None or domain.nova is None:
        return found
    memory_mb = sum(cell.memory_kb for cell in xml.cells) // 1024
    specs = inference.extra_specs(xml, *_sets(host))
    return Flavor(domain.nova.flavor, xml.vcpus, memory_mb, specs, where=domain.where)


def _sets(host: HostCase) -> tuple[int | None, list[int]]:
    """Give the shared CPUs of a host that are online, None without such a set, and those that vCPUs
    float over in each of its cells (bitmasks)."""
    topology = host.host.topology
    shared = hosts.listed(host, "cpu_shared_set") & topology.online
    floating = host.sets.shared if host.sets else shared
    return shared or None, [cell.cpuset & floating for cell in topology.cells]


def contradiction(case: GuestCase) -> str:
    """Say how the XML of a guest contradicts its flavor, so that there is no prediction; "" where
    it does not."""
    guest, xml = guest_of(case), case.domain.xml
    if guest is None or xml is None or case.inferred:
        return ""
    try:
        _places(case, guest, xml)
    except _Unplaced as found:
        return str(found)
    return ""


# --- comparison -----------------------------------------------------------------------------------


class Difference(t.NamedTuple):
    """One spot in which two descriptions of a domain differ."""

    element: str
    """Of libvirt's XML, such as ``emulatorpin``."""
    at: str
    """``vCPU 3``, ``guest cell 0``, ``I/O thread 1``; "" where there is only one."""
    predicted: str
    live: str
    """Their values as texts, sets of CPUs as lists; ``none`` for what is absent."""

    @property
    def text(self) -> str:
        """Put it in words.

        >>> Difference("vcpupin", "vCPU 3", "5", "6").text
        'vcpupin of vCPU 3 is 6, not 5'
        """
        whose = f" of {self.at}" if self.at else ""
        return f"{self.element}{whose} is {self.live}, not {self.predicted}"


def drift(predicted: GuestXml, live: GuestXml) -> tuple[Difference, ...]:
    """Compare two descriptions of a domain by what they mean for CPUs and memory.

    Left out are what libvirt fills in by itself, the default shares, the CPU model, and sizes of
    memory, which devices change that are plugged in. What stands on one side alone is ``none`` on
    the other.
    """
    if predicted == live:
        return ()
    first, second = dict(_facets(predicted)), dict(_facets(live))
    return tuple(
        Difference(*key, first.get(key, _ABSENT), second.get(key, _ABSENT))
        for key in dict.fromkeys((*first, *second))
        if first.get(key) != second.get(key)
    )


def _facets(xml: GuestXml) -> Iterator[tuple[tuple[str, str], str]]:
    """Give what is compared: element and owner to its value as text."""
    yield ("vcpu", ""), str(xml.vcpus)
    everywhere = None if xml.memnodes else xml.cpuset
    if (default := unpinned_range(xml)) is not None:
        yield ("vcpu cpuset", ""), to_text(default)
    if xml.shares not in (None, 1024 * xml.vcpus):
        yield ("shares", ""), str(xml.shares)
    for name, amount in (("quota", xml.quota), ("period", xml.period)):
        if amount is not None:
            yield (name, ""), str(amount)
    if xml.emulator is not None and xml.emulator != everywhere:
        yield ("emulatorpin", ""), to_text(xml.emulator) or "empty"
    for thread, cpus in xml.iothread_pins.items():
        if cpus:
            yield ("iothreadpin", f"I/O thread {thread}"), to_text(cpus)
    for vcpu, cpus in xml.vcpu_pins.items():
        if cpus != everywhere:
            yield ("vcpupin", f"vCPU {vcpu}"), to_text(cpus)
    for vcpu, scheduling in xml.vcpu_scheduling.items():
        yield ("vcpusched", f"vCPU {vcpu}"), scheduled(scheduling)
    if xml.emulator_scheduling:
        yield ("emulatorsched", ""), scheduled(xml.emulator_scheduling)
    for thread, scheduling in xml.iothread_scheduling.items():
        yield ("iothreadsched", f"I/O thread {thread}"), scheduled(scheduling)
    if xml.memory_mode or xml.host_cells:
        yield ("numatune memory", ""), f"{xml.memory_mode or 'strict'} {to_text(xml.host_cells)}"
    for cell, nodes in xml.memnodes.items():
        yield ("memnode", f"guest cell {cell}"), to_text(nodes)
    for cell, size_kb in xml.backing.pages.items():
        yield ("page size", f"guest cell {cell}"), f"{size_kb} KiB"
    for name, told in (
        ("nosharepages", xml.backing.nosharepages),
        ("locked", xml.backing.locked),
        ("file source", xml.backing.file),
        ("discard", xml.backing.discard),
    ):
        if told:
            yield (name, ""), "set"
    for each in xml.cells:
        shared = ", shared memory" if each.shared else ""
        yield ("cell", f"guest cell {each.id}"), f"vCPUs {to_text(each.vcpus)}{shared}"


def _missing_iothread(each: Difference) -> bool:
    """Say whether a difference is an I/O thread that is not there to be pinned."""
    return each.element == "iothreadpin" and each.live == _ABSENT


def scheduled(scheduling: Scheduling) -> str:
    """Put a scheduling policy in words: ``fifo 1``."""
    priority = "" if scheduling.priority is None else f" {scheduling.priority}"
    return f"{scheduling.policy}{priority}"


# --- what rules ask -------------------------------------------------------------------------------


def tied(domain: Domain, host: HostCase) -> dict[int, int]:
    """Map the pinned vCPUs of a domain to their host CPUs.

    A vCPU whose only CPU is the one shared CPU of its host cell floats: that is all there is.
    """
    xml = domain.xml
    if xml is None:
        return {}
    if domain.flavor is not None and (wanted := _pinned_vcpus(domain.flavor, domain.image, host)):
        return {vcpu: cpu for vcpu, cpu in xml.pins.items() if wanted >> vcpu & 1}
    return inference.pins(xml, _sets(host)[1])


def _pinned_vcpus(flavor: Flavor, image: Image | None, host: HostCase) -> int:
    try:
        guest = _guest(flavor, image or NO_IMAGE, host.release)
    except NovaError:
        return 0
    return sum(cell.pcpuset for cell in guest.cells) if guest else 0


def pinned_cpus(domain: Domain, host: HostCase) -> int:
    """List the host CPUs that vCPUs of a domain are pinned to (bitmask)."""
    found = 0
    for cpu in tied(domain, host).values():
        found |= 1 << cpu
    return found


def reserved_cpus(domain: Domain) -> int:
    """List the one CPU that a domain's emulator threads have for themselves (bitmask); none where
    they have several, or one of its vCPUs is on it too."""
    xml = domain.xml
    emulator = (xml.emulator or 0) if xml else 0
    if xml is None or emulator.bit_count() != 1:
        return 0
    return 0 if any(cpus & emulator for cpus in xml.vcpu_pins.values()) else emulator


def realtime_cpus(domain: Domain) -> int:
    """List the host CPUs that realtime vCPUs of a domain run on (bitmask)."""
    return domain.xml.realtime_cpus if domain.xml else 0


def unpinned_range(xml: GuestXml) -> int | None:
    """Give the range of the threads that have no set of their own (bitmask); None without one, and
    for a guest with NUMA topology whose emulator threads and vCPUs have theirs.

    From release 30 on a live migration writes the range of the new host into guests with NUMA
    topology too, to no effect.

    Source: ``nova/virt/libvirt/migration.py``, ``_update_cpu_shared_set_xml``.
    """
    if xml.memnodes and xml.emulator and all(map(xml.vcpu_pins.get, range(xml.vcpus))):
        return None
    return xml.cpuset


def all_cpus(xml: GuestXml) -> int:
    """List the host CPUs that a domain's XML names for any of its threads (bitmask)."""
    found = (xml.emulator or 0) | (unpinned_range(xml) or 0)
    for cpus in (*xml.vcpu_pins.values(), *xml.iothread_pins.values()):
        found |= cpus
    return found


def floating_cpus(domain: Domain, host: HostCase) -> int:
    """List the host CPUs that vCPUs of a domain float over (bitmask): all that are online for one
    without a set."""
    xml = domain.xml
    if xml is None:
        return 0
    pins, found = tied(domain, host), 0
    for vcpu in range(xml.vcpus):
        if vcpu not in pins:
            found |= xml.vcpu_pins.get(vcpu) or xml.cpuset or host.host.topology.online
    return found


def kept_cpus(case: GuestCase) -> int:
    """List the host CPUs that are not for vCPUs that float (bitmask): those that other guests are
    pinned to, and the dedicated set."""
    sets, found = case.host.sets, 0
    for other in case.others:
        found |= case.pinned[other.id] | case.realtime[other.id] | reserved_cpus(other)
    return found | (sets.dedicated if sets and not sets.legacy else 0)


def free_cpus(case: GuestCase) -> int:
    """List the host CPUs that a domain beside Nova can have (bitmask): those in no set of the host,
    else the shared ones, that no other guest is pinned to."""
    sets, host = case.host.sets, case.host.host
    left = host.topology.online & ~kept_cpus(case) & ~host.data_path_cpus
    balanced = left & ~hosts.isolated(case.host)
    return balanced & ~(sets.shared if sets else 0) or balanced or left


def absent_cpus(case: GuestCase) -> int:
    """List the host CPUs that vCPUs or emulator threads are tied to and that the host does not have
    (bitmask)."""
    emulator = (case.domain.xml.emulator or 0) if case.domain.xml else 0
    tied_to = case.pinned[case.domain.id] | emulator
    return tied_to & ~case.host.host.topology.present


def edited(case: GuestCase) -> bool:
    """Say whether Nova would write other CPUs for the emulator threads of a running guest."""
    predicted, live = case.predicted, case.domain.live
    return bool(predicted and live and predicted.emulator != live.emulator)


def everyone(case: GuestCase) -> tuple[Domain, ...]:
    """List all domains of the host, the case's own first."""
    return (case.domain, *case.others)


def has_numa(xml: GuestXml | None) -> bool:
    """Say whether a domain has a NUMA topology that is tied to host cells."""
    return xml is not None and bool(xml.memnodes or xml.host_cells)


def guest_of(case: GuestCase) -> Guest | None:
    """Give the NUMA topology that a guest asks for; None where there is none or Nova refuses."""
    if case.flavor is None:
        return None
    try:
        return _guest(case.flavor, case.image or NO_IMAGE, case.release)
    except NovaError:
        return None


def _guest(flavor: Flavor, image: Image, release: Release) -> Guest | None:
    """Give the NUMA topology that a flavor asks for; equal ones, of which a fleet has many guests,
    are worked out once. Raises :class:`NovaError`."""
    specs, properties = flavor.extra_specs.items(), image.properties.items()
    return _topology(flavor.vcpus, flavor.memory_mb, tuple(specs), tuple(properties), release)


@functools.lru_cache(maxsize=1024)
def _topology(
    vcpus: int, memory_mb: int, specs: _Items, properties: _Items, release: Release
) -> Guest | None:
    flavor, image = Flavor("", vcpus, memory_mb, dict(specs)), Image("", dict(properties))
    return constraints.guest(flavor, image, release)


def wanted_realtime(case: GuestCase) -> int | None:
    """List the vCPUs that flavor and image make realtime (bitmask); None where that is unknown."""
    if case.flavor is None or case.inferred:
        return None
    try:
        image = image_properties.read(case.image or NO_IMAGE, case.release)
        return constraints.realtime_cpus(case.flavor, image, case.release) or 0
    except NovaError:
        return None


def threads(domain: Domain, *kinds: str) -> tuple[Thread, ...]:
    """List the threads of some kinds; none where nobody could read them."""
    return tuple(thread for thread in domain.threads or () if thread.kind in kinds)


def running_xml(domain: Domain) -> GuestXml | None:
    """Give the XML of a domain that runs. That of one which does not is written anew when Nova
    starts it."""
    return domain.xml if domain.running else None


def emulator_cpus(domain: Domain) -> int:
    """List the host CPUs of emulator threads (bitmask): by their masks, else by the XML of a domain
    that runs."""
    found = 0
    for thread in threads(domain, "emulator"):
        found |= thread.cpus
    xml = running_xml(domain)
    return found or ((xml.emulator or 0) if xml else 0)


def told_threads(found: Iterable[Thread]) -> str:
    """Name threads with their ids and masks: the first three, and how many more.

    They read ``call_rcu (4712) on 2,6``.
    """
    rows = [f"{thread.name} ({thread.id}) on {to_text(thread.cpus)}" for thread in found]
    return few(rows)


def few(rows: list[str], most: int = 3) -> str:
    """List the first few of many.

    >>> few(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return ", ".join(rows[:most]) + more


def told_cpus(cpus: int) -> str:
    """Name host CPUs.

    >>> told_cpus(0b10000), told_cpus(0b110000)
    ('CPU 4', 'CPUs 4-5')
    """
    return f"{'CPU' if size(cpus) == 1 else 'CPUs'} {to_text(cpus)}"


def title(domain: Domain) -> str:
    """Name a domain by libvirt's name and, where known, by that of its server."""
    return f"{domain.name} ({domain.nova.name})" if domain.nova else domain.name


def hard_reboot(case: GuestCase) -> str:
    """Give the command that makes Nova write the XML anew; what to do instead where it does not
    manage the domain."""
    if case.domain.nova is None:
        return f"virsh edit {shlex.quote(case.domain.name)}\n(then shut it down and start it again)"
    return f"openstack server reboot --hard {shlex.quote(case.domain.id)}"


def cold_migrate(case: GuestCase) -> str:
    """Give the commands that let Nova choose CPUs anew; what to do instead where it does not manage
    the domain."""
    if case.domain.nova is None:
        return move_vcpus(case)
    own = shlex.quote(case.domain.id)
    return f"openstack server migrate --wait {own}\nopenstack server migration confirm {own}"


_MOST_COMMANDS = 8
"""vCPUs that are moved one by one; of more, one command stands for all."""


def move_vcpus(case: GuestCase) -> str:
    """Give the commands that put the vCPUs of a domain beside Nova on CPUs that are free."""
    free, xml = free_cpus(case), case.domain.xml
    if not free or xml is None:
        return _NO_ROOM
    name, vcpus = shlex.quote(case.domain.name), [str(vcpu) for vcpu in range(xml.vcpus)]
    where = "--live --config" if case.domain.running else "--config"
    shown = vcpus if len(vcpus) <= _MOST_COMMANDS else ["VCPU"]
    commands = [f"virsh vcpupin {name} {vcpu} {to_text(free)} {where}" for vcpu in shown]
    if shown is not vcpus:
        commands.append(f"(for each VCPU of 0-{xml.vcpus - 1})")
    return "\n".join(commands)


_NO_ROOM = "(every CPU of the host is kept for pinned guests: run this domain on another host)"


def reboot_mends(case: GuestCase, mends: Callable[[GuestXml], bool]) -> str:
    """Give the hard reboot where Nova then writes a set of emulator threads that ``mends`` what is
    found; else ""."""
    predicted = case.predicted
    if predicted is None or not predicted.emulator or not mends(predicted):
        return ""
    return f"{hard_reboot(case)}\n(Nova writes emulatorpin {to_text(predicted.emulator)})"


def reboot_alone(case: GuestCase) -> str:
    """Give the hard reboot as the fix where it is the set itself that Nova would write anew."""
    return reboot_mends(case, bool) or hard_reboot(case)


def change_emulator_policy(case: GuestCase, mends: Callable[[GuestXml], bool]) -> str:
    """Give the commands that change the policy for a guest's emulator threads to one that its host
    accepts and that ``mends`` what is found, and say what is wrong with the others.

    A server keeps its flavor as it was when it got it, and a resize to the same flavor is refused:
    it needs another one.

    Source: ``nova/compute/api.py``, ``resize``.
    """
    if case.domain.nova is None:
        free, name = free_cpus(case), shlex.quote(case.domain.name)
        return f"virsh emulatorpin {name} {to_text(free)} --live --config" if free else _NO_ROOM
    flavor, image = case.flavor, case.image or NO_IMAGE
    tried = case.trials.of(flavor, image, case.host) if case.trials and flavor else ()
    good = [each.policy for each in tried if each.xml and mends(each.xml)]
    name = shlex.quote(flavor.name) if flavor and flavor.name else "FLAVOR"
    own, lines = shlex.quote(case.domain.id), []
    if good:
        others = f"or {' or '.join(good[1:])}; " if good[1:] else ""
        lines = [
            f"openstack flavor set {name} --property {KEY}={good[0]}",
            f"({others}for guests to come; this one keeps its flavor as it was, and goes to "
            "another one with this property)",
            f"openstack server resize --wait --flavor OTHER_FLAVOR {own}",
            f"openstack server resize confirm {own}",
        ]
    lines += [
        f"({each.policy} does not help on hosts like this one: {_unhelpful(each)})"
        for each in tried
        if each.policy not in good
    ]
    return "\n".join(lines) or "(a flavor with another policy for emulator threads)"


def _unhelpful(trial: Trial) -> str:
    cpus = (trial.xml.emulator or 0) if trial.xml else 0
    return trial.refusal or f"an empty one gives emulatorpin {to_text(cpus)}"
