# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold our candidates against those of the real Placement: random hosts, allocations, flavors.

``real_placement.py [SEED]``. Exit status 1 where any answer differs.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import sys
import typing as t
import urllib.parse

from oracling.draw import HYPERTHREADING, Draw, Table
from placement_server import Placement, PlacementServer
from replaying import kinds

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import mask, to_text
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import HostConfig
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor, Image
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host, Scheduler
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import candidates, schedule
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.candidates import Provider, Scope
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.inventory import Inventory
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.request import (
    Group,
    Request,
    queries,
)

SEED = "placement"
FLEETS, HOSTS, FLAVORS = 30, 8, 24
SHOWN = 5
RELEASES = ("17.0.13", "19.3.2", "20.4.0", "20.4.1", "23.2.0", "26.0.0", "27.1.0", "34.0.0")
SCHEDULERS = ("20.0.0", "21.0.0", "22.0.0", "27.1.0", "34.0.0")
CLASSES = ("CUSTOM_GOLD", "CUSTOM_NIC")
NAMESPACES = tuple(f"CUSTOM_PMEM_NAMESPACE_{label}" for label in ("6GB", "A_B", "C"))
AGGREGATES = tuple(f"00000000-0000-4000-8000-00000000000{number}" for number in range(4))
TRAITS = ("COMPUTE_NODE", "COMPUTE_STATUS_DISABLED", "CUSTOM_FAST", "CUSTOM_OLD", "OWNER_NOVA")
AMOUNTS = ("1", "2", "3", "0", "-1", "x")
WISHES = ("required", "required", "forbidden", "maybe")
SPECS: Table = (
    (0.1, "resources:CUSTOM_GOLD", AMOUNTS),
    (0.06, "resources:MEMORY_MB", ("0", "256", "700")),
    (0.06, "resources:DISK_GB", ("0", "5", "40")),
    (0.06, "resources:PCPU", AMOUNTS),
    (0.06, "resources:VCPU", AMOUNTS),
    (0.03, "resources:NO_SUCH_CLASS", AMOUNTS),
    (0.03, "resources:NUMA_CORE", AMOUNTS),
    (0.1, "resources1:VCPU", AMOUNTS),
    (0.1, "resources2:PCPU", AMOUNTS),
    (0.06, "resources_NIC:CUSTOM_NIC", AMOUNTS),
    (0.15, "trait:CUSTOM_FAST", WISHES),
    (0.1, "trait:CUSTOM_OLD", WISHES),
    (0.1, f"trait:{HYPERTHREADING}", WISHES),
    (0.1, "trait:COMPUTE_NODE", WISHES),
    (0.03, "trait:NO_SUCH_TRAIT", WISHES),
    (0.06, "trait1:CUSTOM_FAST", WISHES),
    (0.04, "trait2:CUSTOM_OLD", WISHES),
    (0.02, "trait_ALONE:CUSTOM_OLD", WISHES),
    (0.25, "group_policy", ("none", "isolate", "odd")),
)

Answer = list[tuple[str, dict[str, int]]] | None


def host(draw: Draw, name: str) -> Host:
    """Draw a host of any style and release, with traits and aggregates."""
    machine = draw.machine()
    shared, dedicated = draw.sets(machine)
    release = draw.rng.choice(RELEASES)
    memory = draw.rng.choice((2048, 8192, 16384))
    cells = [
        {
            "id": number,
            "memory_kb": memory * 1024,
            "cpus": [[cpu, to_text(mask(core)), number] for core in cores for cpu in core],
        }
        for number, cores in enumerate(machine)
    ]
    options: dict[str, t.Any] = {}
    if dedicated is None or int(release.split(".")[0]) < 20:
        options["vcpu_pin_set"] = to_text(mask(shared)) if shared and draw.chance(0.6) else None
    else:
        options["cpu_shared_set"] = to_text(mask(shared)) or None
        options["cpu_dedicated_set"] = to_text(mask(dedicated)) or None
    config = HostConfig(
        **options,
        reserved_host_cpus=int(dedicated is None and draw.chance(0.2)),
        reserved_host_memory_mb=draw.rng.choice((0, 512, 1000)),
        cpu_allocation_ratio=draw.rng.choice((None, 1.0, 1.5, 4.0)),
        ram_allocation_ratio=draw.rng.choice((None, 0.9, 1.0, 1.5)),
    )
    return Host(
        name,
        release,
        kinds.topology_of({"cells": cells}),
        config,
        traits=frozenset(trait for trait in TRAITS if draw.chance(0.2)),
        aggregates=frozenset(each for each in AGGREGATES if draw.chance(0.3)),
    )


def provider(draw: Draw, name: str) -> Provider:
    """Draw what a host reports, beside it classes that its facts do not tell, and what is used."""
    reported = None
    while reported is None:
        reported = schedule.view(host(draw, name)).provider
    inventories = {**reported.inventories, "DISK_GB": Inventory(100, max_unit=100)}
    inventories |= {name: odd(draw) for name in (*CLASSES, *NAMESPACES) if draw.chance(0.8)}
    if draw.chance(0.2):
        inventories = {name: odd(draw) for name in inventories}
    used = {
        name: draw.rng.randint(1, 2 * inventory.total)
        for name, inventory in inventories.items()
        if draw.chance(0.3)
    }
    return dataclasses.replace(reported, inventories=inventories, used=used)


def odd(draw: Draw) -> Inventory:
    """Draw an inventory with limits of its own."""
    total = draw.rng.choice((1, 3, 8, 20, 4096))
    return Inventory(
        total,
        reserved=draw.rng.randint(0, total) if draw.chance(0.5) else 0,
        ratio=draw.rng.choice((0.5, 1.0, 1.1, 1.5, 2.5, 16.0)),
        min_unit=draw.rng.randint(1, 3),
        max_unit=draw.rng.randint(3, 2 * total + 3),
        step_size=draw.rng.choice((1, 1, 1, 2, 3)),
    )


def put(placement: Placement, each: Provider) -> None:
    """Make a provider; what is used is allocated first, since it may be more than there is."""
    placement.add_provider(each.name)
    placement.put_traits(each.name, each.traits)
    placement.put_aggregates(each.name, each.aggregates)
    ample = {name: {"total": 2**31 - 1} for name in each.inventories}
    placement.put_inventories(each.name, ample)
    if each.used:
        placement.allocate(each.name, dict(each.used))
    placement.put_inventories(
        each.name,
        {
            name: {
                "total": inventory.total,
                "reserved": inventory.reserved,
                "allocation_ratio": inventory.ratio,
                "min_unit": inventory.min_unit,
                "max_unit": inventory.max_unit,
                "step_size": inventory.step_size,
            }
            for name, inventory in each.inventories.items()
        },
    )


def asked(draw: Draw) -> tuple[Flavor, Image, Scheduler]:
    """Draw a boot request."""
    spec = {"flavor": draw.flavor(), "image": draw.image()}
    spec["flavor"]["extra_specs"] |= draw.table(SPECS)
    release = draw.rng.choice(SCHEDULERS)
    return kinds.flavor_of(spec), kinds.image_of(spec), Scheduler(release, draw.chance(0.1))


def plain(draw: Draw) -> Request:
    """Draw a query of small amounts that no flavor stands behind."""
    policy = draw.rng.choice(("none", "none", "isolate", None))
    traits = [trait for trait in TRAITS if draw.chance(0.15)]
    suffixes = draw.rng.choice((("",), ("",), ("1",), ("", "_A"), ("_A", "2")))
    groups = tuple(
        Group(
            suffix,
            {name: draw.rng.randint(1, 4) for name in draw.rng.sample((*CLASSES, "VCPU"), 2)},
            frozenset(trait for trait in traits if draw.chance(0.3)),
            frozenset(trait for trait in traits if draw.chance(0.3)),
        )
        for suffix in suffixes
    )
    return Request(groups, policy)


def scope(draw: Draw) -> dict[str, list[str]]:
    """Draw what a query says beside the request, as its parameters."""
    traits = [*draw.table(((0.9, "!COMPUTE_STATUS_DISABLED", ("",)), (0.1, "OWNER_NOVA", ("",))))]
    one, other = draw.rng.sample(AGGREGATES, 2)
    forms = (one, f"in:{one},{other}", f"!{one}", f"!in:{one},{other}")
    return {
        "root_required": [",".join(traits)] if traits else [],
        "member_of": [text for text in forms if draw.chance(0.08)],
    }


def read(parameters: dict[str, list[str]]) -> Scope:
    """Read the parameters as ours."""
    traits = [trait for text in parameters["root_required"] for trait in text.split(",")]
    return Scope(
        frozenset(trait for trait in traits if not trait.startswith("!")),
        frozenset(trait[1:] for trait in traits if trait.startswith("!")),
        tuple(each for text in parameters["member_of"] for each in candidates.member_of(text)),
    )


def written(query: Request, parameters: dict[str, list[str]], limit: int) -> str:
    """Write a query as Nova does.

    Source: ``nova/scheduler/utils.py``, ``ResourceRequest.to_querystring``.
    """
    pairs = [("limit", str(limit))]
    if query.group_policy:
        pairs.append(("group_policy", query.group_policy))
    for group in query.groups:
        amounts = ",".join(f"{name}:{amount}" for name, amount in sorted(group.resources.items()))
        traits = ",".join(
            (*sorted(group.required), *(f"!{name}" for name in sorted(group.forbidden)))
        )
        pairs += [(f"resources{group.suffix}", amounts)] if amounts else []
        pairs += [(f"required{group.suffix}", traits)] if traits else []
    pairs += [(key, value) for key, values in parameters.items() for value in values]
    return urllib.parse.urlencode(pairs)


def ours(providers: list[Provider], query: Request, where: Scope) -> Answer:
    try:
        return candidates.candidates(providers, query, where)
    except candidates.BadQuery:
        return None


def agree(real: Answer, expected: Answer, limit: int) -> bool:
    """Say whether both answers are one; of more than ``limit`` candidates Placement gives any."""
    if real is None or expected is None:
        return real is expected
    if len(expected) > limit:
        return len(real) == limit and all(each in expected for each in real)
    return sorted(real, key=str) == sorted(expected, key=str)


class Comparison:
    """What both sides answered so far."""

    def __init__(self, placement: Placement) -> None:
        self.placement = placement
        self.counts: collections.Counter[str] = collections.Counter()
        self.differences: list[str] = []

    def fleet(self, seed: str) -> None:
        """Draw hosts, and flavors to ask them for."""
        draw = Draw(seed)
        providers = [provider(draw, f"host{index}") for index in range(HOSTS)]
        for each in providers:
            put(self.placement, each)
        for _flavor in range(FLAVORS):
            try:
                primary, fallback = queries(*asked(draw))
            except NovaError:
                self.counts["flavors that Nova refuses"] += 1
                continue
            self.counts["pairs of fleet and flavor"] += 1
            parameters = scope(draw)
            limit = draw.rng.choice((1000, 1000, 1000, 1, 2, 3))
            drawn = {"primary": primary, "fallback": fallback, "other": plain(draw)}
            for kind, query in drawn.items():
                if query is not None:
                    self.counts[f"{kind} queries"] += 1
                    self.query(providers, query, parameters, limit)
        self.placement.clear()

    def query(
        self,
        providers: list[Provider],
        query: Request,
        parameters: dict[str, list[str]],
        limit: int,
    ) -> None:
        """Send one query to both; ours takes the operator's own classes for known."""
        self.placement.know((), query.resources)
        text = written(query, parameters, limit)
        real = self.placement.candidates(text)
        expected = ours(providers, query, read(parameters))
        self.counts["answered 400"] += real is None
        self.counts["answered with candidates"] += bool(real)
        self.counts["candidates"] += len(real or ())
        if agree(real, expected, limit):
            self.counts["agreed"] += 1
            return
        self.differences.append(
            f"{urllib.parse.unquote(text)}\n"
            f"  Placement: {json.dumps(real)}\n  ours:      {json.dumps(expected)}"
        )


def main(arguments: list[str]) -> int:
    """Compare; print counts and the first differences."""
    seed = arguments[0] if arguments else SEED
    with PlacementServer() as placement:
        placement.know(TRAITS, (*CLASSES, *NAMESPACES))
        both = Comparison(placement)
        for number in range(FLEETS):
            both.fleet(f"{seed}/{number}")
    agreed = both.counts.pop("agreed")
    print(f"seed {seed}: " + ", ".join(f"{count} {what}" for what, count in both.counts.items()))
    for text in both.differences[:SHOWN]:
        print(text)
    print(f"{agreed} agreed, {len(both.differences)} disagreed")
    return 1 if both.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
