# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure our fit beside real Nova's, and what auditing a large fleet takes.

Every pair is another host: nothing is shared between equal hosts. The two sides take turns within
each round, on the same pairs, and their answers are compared.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import typing as t

from benching import fleet, guests, sample, upgrade
from replaying.kinds import host_cells

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE, Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.constraints import guest
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.fit import Fitted, Pinning, fit
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.targets import targets
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.upgrade import plan

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.goal import Goal
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Fleet
    from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.steps import Plan

HOSTS = 200
ROUNDS = 5
FLAVORS = 1_000
FLEETS = (1_000, 10_000)
GUEST_HOSTS = (100, 1_000)
UPGRADES = (1_000, 2_000)
MOST_SECONDS = 60
"""What the plan of the larger fleet may take."""


def timed(work: t.Callable[[], t.Any]) -> tuple[float, t.Any]:
    """Do some work once: seconds and result, garbage collection kept out as timeit does."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        result = work()
        return time.perf_counter() - start, result
    finally:
        gc.enable()


def spread(values: list[float], unit: str = "") -> str:
    """Show the median of some values with the lowest and highest."""
    return f"{statistics.median(values):.1f}{unit} ({min(values):.1f} to {max(values):.1f})"


def merged(
    pinnings: tuple[Pinning | None, ...],
) -> tuple[dict[int, int], frozenset[int]]:
    """Merge the pins of a guest's cells, and the host CPUs reserved for emulator threads."""
    pins: dict[int, int] = {}
    kept: set[int] = set()
    for pinning in pinnings:
        if pinning:
            pins.update(pinning.pins)
            kept |= set() if pinning.reserved is None else {pinning.reserved}
    return pins, frozenset(kept)


def beside_nova() -> None:
    """Fit every flavor to every host with both, in turns, and print how they compare."""
    try:
        from benching.real_nova import Nova
    except ImportError as error:
        print(f"verdict and pins are not measured: Nova cannot be imported ({error})")
        return
    theirs = Nova()
    ours = release(sample.RELEASE)
    flavors, hosts = sample.flavors(), sample.hosts(HOSTS)
    pairs = len(flavors) * len(hosts)

    our_building, our_hosts = timed(lambda: [host_cells(h, round_trip=True) for h in hosts])
    their_building, their_hosts = timed(lambda: [theirs.host(h) for h in hosts])
    wanted = [Flavor(f["name"], f["vcpus"], f["memory_mb"], f["extra_specs"]) for f in flavors]
    our_asking, our_guests = timed(lambda: [guest(f, NO_IMAGE, ours) for f in wanted])
    built = [theirs.flavor(f) for f in flavors]
    their_asking, their_guests = timed(lambda: [theirs.guest(f) for f in built])
    asked = [each for each in our_guests if each is not None]
    if len(asked) < len(flavors):
        sys.exit("bench: a flavor without guest topology would time nothing")

    def verdicts() -> list[Fitted | None]:
        return [fit(cells, each, ours) for each in asked for cells in our_hosts]

    def pins() -> list[tuple[Pinning | None, ...] | None]:
        return [
            fitted and fitted.pinnings()
            for each in asked
            for cells in our_hosts
            for fitted in (fit(cells, each, ours),)
        ]

    def nova() -> list[t.Any]:
        return [theirs.fit(host, each) for each in their_guests for host in their_hosts]

    took: dict[str, list[float]] = {"verdict": [], "pins": [], "nova": []}
    for number in range(ROUNDS):
        seconds, our_verdicts = timed(verdicts)
        took["verdict"].append(seconds)
        seconds, their_fits = timed(nova)
        took["nova"].append(seconds)
        seconds, our_pins = timed(pins)
        took["pins"].append(seconds)
        if number == 0:
            their_verdicts = [theirs.verdict(each) for each in their_fits]
            their_pins = [theirs.pins(each) for each in their_fits]
    fitting = sum(each is not None for each in their_verdicts)
    agreed = sum((a and a.cells) == b for a, b in zip(our_verdicts, their_verdicts, strict=True))
    exact = sum(merged(a) == b for a, b in zip(our_pins, their_pins, strict=True) if a and b)
    per_pair = {name: [1e6 * s / pairs for s in values] for name, values in took.items()}
    print(
        f"{len(flavors)} flavors x {len(hosts)} hosts, Nova {sample.RELEASE}: {fitting} of {pairs} "
        f"pairs fit ({100 * fitting / pairs:.0f} %)"
    )
    print(
        f"built outside, us a host: ours {1e6 * our_building / len(hosts):.0f}, "
        f"Nova {1e6 * their_building / len(hosts):.0f}"
    )
    print(
        f"constraints, us a flavor: ours {1e6 * our_asking / len(flavors):.0f}, "
        f"Nova {1e6 * their_asking / len(flavors):.0f}"
    )
    print(f"verdicts agree on {agreed} of {pairs} pairs, pins on {exact} of {fitting} that fit")
    print(
        f"us a pair, median of {ROUNDS} rounds (lowest to highest): "
        f"verdict {spread(per_pair['verdict'])}, pins {spread(per_pair['pins'])}, "
        f"Nova {spread(per_pair['nova'])}"
    )
    # numa_get_constraints is asked once a flavor on both sides, so it is part of neither's pairs.
    for name in ("verdict", "pins"):
        ratios = [n / o for n, o in zip(took["nova"], took[name], strict=True)]
        print(
            f"{name}: {statistics.median(ratios):.0f} x Nova "
            f"({min(ratios):.0f} to {max(ratios):.0f})"
        )
    if agreed < pairs:
        sys.exit("bench: verdicts differ from Nova's")


def fleets() -> None:
    """Audit fleets of growing size, each in a process of its own, and print what it takes."""
    results = []
    for hosts in FLEETS:
        with tempfile.TemporaryDirectory() as folder:
            fleet.write(pathlib.Path(folder), hosts, FLAVORS)
            result = apart("fleet", folder)
        results.append(result)
        print(
            f"fleet: {result['flavors']:,} flavors x {result['hosts']:,} hosts of "
            f"{result['classes']} classes: {result['seconds']:.1f} s (of which reading "
            f"{result['read']:.1f} s), "
            f"{result['flavors'] * result['hosts'] / result['seconds']:,.0f} pairs/s, "
            f"peak {result['peak_mb']:.0f} MB, {result['findings']:,} findings; "
            f"XML of {result['xmls']:,} guests: {1e6 * result['xml_seconds'] / result['xmls']:.0f} "
            "us each",
            flush=True,
        )
    first, last = results[0], results[-1]
    print(
        f"growth: {last['hosts'] / first['hosts']:.0f} x the hosts take "
        f"{last['seconds'] / first['seconds']:.1f} x the time and "
        f"{last['peak_mb'] / first['peak_mb']:.2f} x the memory"
    )


def apart(kind: str, folder: str) -> dict[str, t.Any]:
    """Audit what is in a folder in a process of its own."""
    command = [sys.executable, __file__, kind, folder]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, t.Any] = json.loads(answer.stdout)
    return found


def running() -> None:
    """Audit the running guests of growing fleets, and print what it takes."""
    for hosts in GUEST_HOSTS:
        with tempfile.TemporaryDirectory() as folder:
            guests.write(pathlib.Path(folder), hosts)
            result = apart("guests", folder)
        print(
            f"guests: {result['guests']:,} on {result['hosts']:,} hosts: "
            f"{result['seconds']:.1f} s (of which reading {result['read']:.1f} s), "
            f"{1000 * result['seconds'] / result['guests']:.2f} ms a guest, "
            f"peak {result['peak_mb']:.0f} MB, {result['findings']:,} findings",
            flush=True,
        )


def upgrades() -> None:
    """Plan rolling upgrades of growing fleets, and print what it takes."""
    for releases in (False, True):
        took = []
        for hosts in UPGRADES:
            given = upgrade.fleet(hosts)
            goal = upgrade.wish(given, releases=releases)
            seconds, made = timed(functools.partial(planned, given, goal))
            took.append(seconds)
            moves = sum(len(turn.moves) for step in made.steps for turn in step.turns)
            way = f"Nova {made.current.name} to {made.target.name}" if releases else "sets alone"
            print(
                f"plan, {way}: {hosts:,} hosts of {len(given.classes)} classes, "
                f"{len(given.servers):,} servers: {seconds:.1f} s, {len(made.steps)} steps, "
                f"{moves:,} moves, {'complete' if made.complete else 'blocked'}",
                flush=True,
            )
            if not made.complete:
                sys.exit("bench: the plan does not reach its goal")
        print(
            f"growth: {UPGRADES[1] / UPGRADES[0]:.0f} x the hosts take {took[1] / took[0]:.1f} x "
            "the time"
        )
        if took[1] > MOST_SECONDS:
            sys.exit(f"bench: the plan took more than {MOST_SECONDS} s")


def planned(given: Fleet, goal: Goal) -> Plan:
    return plan(given, goal, targets(given, goal))


def main(arguments: list[str]) -> None:
    """Measure everything; with ``fleet`` or ``guests`` and a folder, audit that and print JSON."""
    if arguments:
        kind, folder = arguments
        run = {"fleet": fleet.run, "guests": guests.run}[kind]
        print(json.dumps(run(pathlib.Path(folder))))
        return
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} CPUs", flush=True)
    beside_nova()
    fleets()
    running()
    upgrades()


if __name__ == "__main__":
    main(sys.argv[1:])
