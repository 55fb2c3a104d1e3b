# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet with servers to plan an upgrade of: the same from run to run."""

from __future__ import annotations

import itertools
import random
import typing as t

from populating import populated

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import HostConfig
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.goal import Goal, goal
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    Fleet,
    Host,
    HostClass,
    Scheduler,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import topology

CLASSES = 12
RELEASE = "27.5.1"
TARGET = "34.0.0"
SERVERS_PER_HOST = 10
BATCHES = 50


def fleet(hosts: int) -> Fleet:
    """Make hosts of 12 classes, half of them with ``vcpu_pin_set``, with ten servers a host."""
    classes = tuple(_class(number, hosts) for number in range(CLASSES))
    empty = Fleet(Scheduler(RELEASE), classes, tuple(_flavors()))
    names = [name for each in classes for name in each.names]
    rng = random.Random(34)
    wanted = ((rng.choice(names), rng.choice(empty.flavors)) for _rest in itertools.count())
    return populated(empty, wanted, SERVERS_PER_HOST * hosts)


def wish(of: Fleet, *, releases: bool) -> Goal:
    """Wish for both sets on all hosts; over four releases too, if ``releases``."""
    names = [name for each in of.classes for name in each.names]
    document: dict[str, t.Any] = {
        "hosts": [{"match": "*", "wish": {"housekeeping_cores": 1, "shared_fraction": 0.25}}],
        "batch_size": max(1, len(names) // BATCHES),
        "spare": 1,
    }
    return goal({**document, **({"release": TARGET} if releases else {})}, names)


def _class(number: int, hosts: int) -> HostClass:
    cores, threads = (8, 12, 16, 20)[number % 4], 2 if number % 3 == 0 else 1 + number % 2
    machine = topology(2, cores, threads)
    last = 2 * cores * threads - 1
    config = HostConfig() if number % 2 else HostConfig(vcpu_pin_set=f"2-{last}")
    share = hosts // CLASSES + (number < hosts % CLASSES)
    names = tuple(f"rack{number:02}-{index:04}" for index in range(share))
    return HostClass(Host(names[0], RELEASE, machine, config), names)


def _flavors() -> t.Iterator[Flavor]:
    dedicated = {"hw:cpu_policy": "dedicated"}
    yield Flavor("floating.2", 2, 2048, {})
    yield Flavor("floating.4", 4, 4096, {})
    yield Flavor("pinned.2", 2, 2048, dedicated)
    yield Flavor("pinned.4", 4, 4096, dedicated)
    yield Flavor("cells.4", 4, 4096, {**dedicated, "hw:numa_nodes": "2"})
    yield Flavor("emulator.3", 3, 4096, {**dedicated, "hw:emulator_threads_policy": "isolate"})
