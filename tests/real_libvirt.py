# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold what we say of domains against real libvirt and QEMU, and against the kernel's threads.

``real_libvirt.py RECORDINGS`` predicts the XML of the recorded cases for libvirt's schema. Exit
status 1 where anything is otherwise than we say, and 0, with the reason, where libvirt cannot be
had, unless ``LIBVIRT=force`` is in the environment.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import socket
import sys
import time
import typing as t
import xml.etree.ElementTree as ET

import libvirt_server
import replay
from libvirt_server import LibvirtServer, Refused
from replaying import domains
from running import domain

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import (
    mask,
    to_text,
)
from ansible_collections.pinguard.nova.plugins.module_utils._read.guests import guest_facts
from ansible_collections.pinguard.nova.plugins.module_utils._read.host import host_facts
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import documents
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE, Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import Sources
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest_xml import GuestXml
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.kernel import Libvirt
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import CellPlace
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import (
    constraints,
    guest_xml,
    image_properties,
    releases,
    xml_form,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.emulator import better
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.guest_report import guest_audit
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.run import Output

Data = dict[str, t.Any]

RELEASE = "34.0.0"
OLD = "20.6.1"
"""Its realtime masks are not checked."""
NAME, UUID = "instance-00000001", "6f3c1d0a-6a3e-4a52-9c0b-2f1d6a3c9e11"
MEMORY_MB = 64
REALTIME = {
    "hw:cpu_policy": "dedicated",
    "hw:cpu_realtime": "yes",
    "hw:cpu_realtime_mask": "^0",
}
SECONDS = 20
"""How long QEMU may take to start its threads."""


RANGES = {
    "shares": range(1 << 32),
    "quota": range(-1, 1 << 44),
    "period": range(1000, 1000001),
}
"""Numbers that libvirt's schema takes."""
ELSEWHERE = {"DM-04", "DM-09", "DM-10", "DM-15"}
"""Rules that hang on the machine: cells, threads of its cores, whether memory can be locked."""


class Checks:
    """What was held against what we say."""

    def __init__(self) -> None:
        self.agreed = 0
        self.differences: list[str] = []

    def same(self, what: str, real: object, ours: object) -> None:
        if real == ours:
            self.agreed += 1
        else:
            self.differences.append(f"{what}\n  real: {real}\n  ours: {ours}")


def schema(paths: list[str], checks: Checks) -> int:
    """Hold the predictions for recorded cases against libvirt's schema; count those that differ.

    It refuses those with an empty list of CPUs or a quota out of range, which Nova writes all the
    same, and no other.
    """
    found: dict[str, str] = {}
    for path in replay.recordings(paths):
        for case in replay.load(path)["cases"]:
            for entry in case["verdicts"]:
                seated = entry["verdict"].get("numa_topology")
                for name in entry["releases"]:
                    xml = domains.decide(case, releases.release(name), seated)["xml"]
                    found.setdefault(json.dumps(xml), f"{case['name']}, {name}")
    texts = {
        name: domain.document(map(_element, json.loads(xml).values()), 1 << 21, NAME, UUID)
        for xml, name in found.items()
        if json.loads(xml) is not None
    }
    refused = domain.invalid(texts)
    for name, text in texts.items():
        quotas = ((key, re.search(f"<{key}>(.*)</{key}>", text)) for key in RANGES)
        outside = any(found and int(found[1]) not in RANGES[key] for key, found in quotas)
        checks.same(f"schema: {name}", name in refused, 'cpuset=""' in text or outside)
    return len(texts)


def _element(plain: list[t.Any]) -> ET.Element:
    tag, given, text, inside = plain
    element = ET.Element(tag, given)
    element.text = text
    element.extend(map(_element, inside))
    return element


class Machine:
    """This machine as a compute host whose first two CPUs are dedicated to guests."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.cpus = libvirt_server.CPUS
        conf = folder / "nova.conf"
        conf.write_text(
            f"[compute]\ncpu_dedicated_set = {to_text(mask(self.cpus))}\n", encoding="utf-8"
        )
        self.facts = host_facts(nova_conf=[str(conf)], release=RELEASE)
        (only,) = documents.classes([("here", self.facts)], RELEASE)
        # Its libvirt is not that of the host, and is given no controller.
        self.host: Host = dataclasses.replace(only.host, libvirt=Libvirt(controllers=frozenset()))

    def predicted(
        self, flavor: Flavor, release: releases.Release, priority: int = 1
    ) -> tuple[GuestXml, str]:
        """Predict the XML of a guest on both CPUs, and why libvirt refuses it."""
        config = dataclasses.replace(self.host.config, realtime_scheduler_priority=priority)
        host = dataclasses.replace(self.host, config=config)
        guest = constraints.guest(flavor, NO_IMAGE, release)
        cell = next(c.id for c in host.topology.cells if c.cpuset >> self.cpus[0] & 1)
        places = (CellPlace(cell, dict(enumerate(self.cpus))),)
        xml = guest_xml.predict(flavor, NO_IMAGE, guest, places, host, release)
        properties = image_properties.read(NO_IMAGE, release)
        return xml, guest_xml.refused_by_libvirt(flavor, properties, guest, host, release)


def flavor(specs: t.Mapping[str, str]) -> Flavor:
    return Flavor("realtime", 2, MEMORY_MB, specs, id="7")


def startable(xml: GuestXml) -> GuestXml:
    """Leave out what cannot be had here: locked memory mostly, and shares, which need a cgroup."""
    backing = dataclasses.replace(xml.backing, locked=libvirt_server.can_lock())
    return dataclasses.replace(xml, backing=backing, shares=None)


def document(xml: GuestXml, of: Flavor, release: str = RELEASE) -> str:
    """Write the domain as Nova would."""
    parts = xml_form.elements(startable(xml)).values()
    return domain.document(parts, MEMORY_MB << 10, NAME, UUID, domain.nova(of, "db-1", release))


def refusals(server: LibvirtServer, machine: Machine, checks: Checks) -> None:
    """Hold what we say that libvirt refuses against what it does."""
    running = Running(server, machine)
    drawn = [(RELEASE, "^0", priority) for priority in (0, 1, 99, 100)]
    drawn += [(OLD, text, 1) for text in ("^0", "0-1", "1-2")]
    for name, text, priority in drawn:
        of = flavor({**REALTIME, "hw:cpu_realtime_mask": text})
        xml, reason = machine.predicted(of, releases.release(name), priority)
        try:
            running.start(document(xml, of, name))
            real = False
        except Refused:
            real = True
        checks.same(
            f"libvirt refuses mask {text} with priority {priority}, {name}", real, bool(reason)
        )


def promised(xml: GuestXml, threads: list[Data]) -> dict[str, tuple[str, str, int]]:
    """Say of each thread what the XML promises: CPUs, policy and priority."""
    return {_title(thread): _promise(xml, thread) for thread in threads}


def _promise(xml: GuestXml, thread: Data) -> tuple[str, str, int]:
    kind, index = thread["kind"], int(thread.get("index", 0))
    if kind == "vcpu":
        cpus, given = xml.vcpu_pins[index], xml.vcpu_scheduling.get(index)
    elif kind == "iothread":
        cpus, given = xml.iothread_pins[index], xml.iothread_scheduling.get(index)
    else:
        cpus, given = xml.emulator or 0, xml.emulator_scheduling if thread.get("main") else None
    return to_text(cpus), given.policy if given else "other", (given and given.priority) or 0


def actual(threads: list[Data]) -> dict[str, tuple[str, str, int]]:
    """Say of each thread what the kernel has."""
    return {
        _title(thread): (thread["cpus"], thread["policy"], thread["priority"]) for thread in threads
    }


def _title(thread: Data) -> str:
    return f"{thread['name']} {thread['id']}"


class Running:
    """The one guest."""

    def __init__(self, server: LibvirtServer, machine: Machine) -> None:
        self.server, self.machine = server, machine

    def facts(self) -> Data:
        """Read the guests as the module does."""
        return guest_facts(virsh=[str(self.server.folder / "virsh")])

    def threads(self) -> list[Data]:
        threads: list[Data] = self.facts()["domains"][0].get("threads", [])
        return threads

    def start(self, text: str) -> list[Data]:
        """Start the domain anew from this XML; give the threads once those of the vCPUs are there.

        Raises Refused, or TimeoutError.
        """
        if self.server.virsh("list", "--uuid").strip():
            self.server.virsh("destroy", NAME)
        self.server.define(text)
        self.server.virsh("start", NAME)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            threads = self.threads()
            if sum(thread["kind"] == "vcpu" for thread in threads) == 2:
                return threads
            time.sleep(0.2)
        raise TimeoutError(f"QEMU has no threads: {self.facts()}")

    def audit(self) -> Data:
        """Audit the guest as the action does."""
        given = Sources(
            RELEASE, named={"here": self.machine.facts}, named_guests={"here": self.facts()}
        )
        return guest_audit(given, Output())

    def codes(self) -> set[str]:
        """List the codes of what an audit finds, but for what hangs on this machine."""
        return {finding["code"] for finding in self.audit()["findings"]} - ELSEWHERE


def life(server: LibvirtServer, machine: Machine, checks: Checks) -> None:
    """Start the form that users report, find it, start the better one, and spoil that again."""
    of = flavor(REALTIME)
    release = releases.release(RELEASE)
    predicted, _reason = machine.predicted(of, release)
    everyone = mask(machine.cpus)
    reported = dataclasses.replace(predicted, emulator=everyone, iothread_pins={1: everyone})
    running = Running(server, machine)

    threads = running.start(document(reported, of))
    checks.same("the reported form", actual(threads), promised(reported, threads))
    (guest,) = running.audit()["guests"]
    checks.same("it is known as such", guest["reported_form"], True)
    checks.same("what is wrong with it", running.codes(), {"DM-02"})

    proposed = better(reported, machine.host).xml
    checks.same("emulator threads belong beside vCPU 0", 1 << machine.cpus[0], proposed.emulator)
    text = domain.redefined(server.virsh("dumpxml", "--inactive", UUID), startable(proposed))
    threads = running.start(text)
    checks.same("the proposed form", actual(threads), promised(proposed, threads))
    checks.same("what is wrong with the proposed form", running.codes(), set())

    server.virsh("emulatorpin", NAME, ",".join(map(str, machine.cpus)), "--live")
    threads = running.threads()
    widened = {
        title: (to_text(everyone), *rest) if title == _title(threads[0]) else (cpus, *rest)
        for title, (cpus, *rest) in promised(proposed, threads).items()
    }
    checks.same("a live emulatorpin moves the main thread alone", actual(threads), widened)
    checks.same("what is wrong then", running.codes(), {"DM-02", "DM-18", "DM-24"})


def wish(server: LibvirtServer, machine: Machine, checks: Checks) -> None:
    """Grant the wish for emulator threads under FIFO, and look at who inherits it."""
    of = flavor(REALTIME)
    predicted, _reason = machine.predicted(of, releases.release(RELEASE))
    wished = better(predicted, machine.host, wish_scheduling=True).xml
    checks.same("the wish is granted", wished.emulator_scheduling is not None, True)
    running = Running(server, machine)
    threads = running.start(document(wished, of))
    checks.same("the wish", actual(threads), promised(wished, threads))
    with socket.socket(socket.AF_UNIX) as target:
        # Nobody reads there, so that it lasts.
        place = str(server.folder / "target")
        target.bind(place)
        target.listen()
        for name, given in (
            ("migrate-set-parameters", {"max-bandwidth": 1000}),
            ("migrate", {"uri": f"unix:{place}"}),
        ):
            asked = json.dumps({"execute": name, "arguments": given})
            server.virsh("qemu-monitor-command", NAME, asked)
        checks.same("what is wrong with the wish", running.codes(), {"DM-12", "DM-13"})
        later = [each for each in running.threads() if each["name"] == "live_migration"]
    checks.same(
        "a migration inherits it",
        [(each["cpus"], each["policy"], each["priority"]) for each in later],
        [(to_text(1 << machine.cpus[0]), "fifo", 1)],
    )
    server.virsh("destroy", NAME)


def main(paths: list[str]) -> int:
    """Hold everything; print counts and the differences."""
    reason = libvirt_server.install()
    if reason:
        print(f"skipped: {reason}", file=sys.stderr)
        return int(os.environ.get("LIBVIRT") == "force")
    checks = Checks()
    count = schema(paths, checks)
    with LibvirtServer() as server:
        machine = Machine(server.folder)
        for step in (refusals, life, wish):
            step(server, machine, checks)
    print(f"{count} predictions held against libvirt's schema, and guests on CPUs {machine.cpus}")
    for text in checks.differences:
        print(text)
    print(f"{checks.agreed} agreed, {len(checks.differences)} disagreed")
    return 1 if checks.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
