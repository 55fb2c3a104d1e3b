# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import mask, parse_nova
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import inference
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.domain import Domain, Metadata
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest_xml import (
    Backing,
    GuestXml,
    Scheduling,
    XmlCell,
)

SHARED, HOST = 0b11, 0xFF
"""CPUs 0-1 of a host with the CPUs 0-7."""


def xml(pins: str, emulator: str | None = None, realtime: str = "", **more: t.Any) -> GuestXml:
    """Build XML from the CPUs of each vCPU (blanks between them), of the emulator, and vCPUs."""
    sets = [parse_nova(each) for each in pins.split()]
    fifo = [vcpu for vcpu in range(len(sets)) if parse_nova(realtime) >> vcpu & 1]
    return GuestXml(
        len(sets) or 4,
        emulator=None if emulator is None else parse_nova(emulator),
        vcpu_pins=dict(enumerate(sets)),
        vcpu_scheduling=dict.fromkeys(fifo, Scheduling("fifo", 1)),
        **more,
    )


def specs(policy: str = "", dedicated: str = "", realtime: str = "", emulator: str = "") -> t.Any:
    told = {
        "hw:cpu_policy": policy,
        "hw:cpu_dedicated_mask": dedicated,
        "hw:cpu_realtime": "yes" if realtime else "",
        "hw:cpu_realtime_mask": realtime,
        "hw:emulator_threads_policy": emulator,
    }
    return {key: value for key, value in told.items() if value}


PINS = "6 2 5 4"


@pytest.mark.parametrize(
    ("given_xml", "shared", "found"),
    [
        (xml(""), SHARED, {}),
        # Dedicated: none, share, isolate; realtime with each.
        (xml(PINS, "2,4-6"), SHARED, specs("dedicated")),
        (xml(PINS), SHARED, specs("dedicated")),
        (xml(PINS, "0-1"), SHARED, specs("dedicated", emulator="share")),
        (xml(PINS, "0-1"), None, specs("dedicated", emulator="share")),
        (xml(PINS, "7"), SHARED, specs("dedicated", emulator="isolate")),
        (xml(PINS, "7"), None, specs("dedicated", emulator="isolate")),
        (xml(PINS, "0"), 1, specs("dedicated", emulator="share")),
        (xml(PINS, "0"), SHARED, specs("dedicated", emulator="share")),
        (xml(PINS, "6", "1-3"), SHARED, specs("dedicated", realtime="^0")),
        (xml(PINS, "2,6", "2-3"), SHARED, specs("dedicated", realtime="^0-1")),
        (xml(PINS, "4,6", "1-2"), SHARED, specs("dedicated", realtime="^0,^3")),
        (xml(PINS, "0-1", "1-3"), SHARED, specs("dedicated", realtime="^0", emulator="share")),
        (xml(PINS, "7", "0-3"), SHARED, specs("dedicated", realtime="^4", emulator="isolate")),
        (xml(PINS, "", "0-3"), SHARED, specs("dedicated", realtime="^4")),
        # Hand-edited: some CPUs of the pins, which no policy gives.
        (xml(PINS, "2,6"), SHARED, specs("dedicated")),
        # Mixed.
        (xml("0-1 2 5 6", "0-2,5-6"), SHARED, specs("mixed", "1-3")),
        (xml("0-1 2 5 6", "0-1"), SHARED, specs("mixed", "1-3", emulator="share")),
        (xml("0-1 2 5 6", "4"), SHARED, specs("mixed", "1-3", emulator="isolate")),
        (xml("0-1 2 5 6", "0-1", "1-3"), SHARED, specs("mixed", realtime="^0")),
        (
            xml("0-1 2 5 6", "0-1,8-9", "1-3"),
            parse_nova("0-1,8-9"),
            specs("mixed", realtime="^0", emulator="share"),
        ),
        # Nova makes no realtime vCPUs beside other pinned ones in a mixed guest.
        (xml("0-1 2 5 6", "0-2", "2-3"), SHARED, specs("mixed", "1-3")),
        # On a host without sets the floating vCPUs may run on all CPUs.
        (xml("0-7 2", "7"), None, specs("mixed", "1", emulator="isolate")),
        # Floating; the policy is told only where it differs from none.
        (xml("0-1 0-1", "0-1"), SHARED, {}),
        (xml("0-1 0-1", "0-1,8-9"), parse_nova("0-1,8-9"), specs(emulator="share")),
        (xml("0-1 0-1", "5"), SHARED, {}),
        (xml("3 3", "3"), 8, {}),
        (xml("0-1 0-1", "0-1", "1"), SHARED, {}),
    ],
)
def test_policies_are_told_by_where_threads_run(
    given_xml: GuestXml, shared: int | None, found: dict[str, str]
) -> None:
    assert inference.extra_specs(given_xml, shared, (HOST,)) == found


def test_a_vcpu_on_the_only_shared_cpu_of_its_cell_floats() -> None:
    one = xml("0 2", "0,2")
    assert inference.pins(one) == {0: 0, 1: 2}
    assert inference.pins(one, (1,)) == {1: 2}
    assert inference.pins(one, (0b11, HOST)) == {0: 0, 1: 2}
    realtime = xml("0 2", realtime="0")
    assert inference.pins(realtime, (1,)) == {0: 0, 1: 2}


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"cells": (XmlCell(0, 3, 2048), XmlCell(1, 12, 2048))}, {"hw:numa_nodes": "2"}),
        (
            {"cells": (XmlCell(0, 7, 2048), XmlCell(1, 8, 1024))},
            {
                "hw:numa_nodes": "2",
                "hw:numa_cpus.0": "0-2",
                "hw:numa_mem.0": "2",
                "hw:numa_cpus.1": "3",
                "hw:numa_mem.1": "1",
            },
        ),
        ({"backing": Backing({0: 2048, 1: 2048})}, {"hw:mem_page_size": "2048"}),
        (
            {"backing": Backing({0: 2048}, locked=True)},
            {"hw:mem_page_size": "2048", "hw:locked_memory": "true"},
        ),
        (
            {"backing": Backing(locked=True)},
            {"hw:mem_page_size": "small", "hw:locked_memory": "true"},
        ),
        ({"shares": 4096}, {}),
        (
            {"shares": 10, "quota": 50000, "period": 100000},
            {"quota:cpu_shares": "10", "quota:cpu_quota": "50000", "quota:cpu_period": "100000"},
        ),
    ],
)
def test_cells_pages_and_quotas(more: dict[str, t.Any], found: dict[str, str]) -> None:
    assert inference.extra_specs(xml("", **more)) == found


def test_realtime_locks_memory_by_itself() -> None:
    given_xml = xml(PINS, "6", "1-3", backing=Backing(locked=True, nosharepages=True))
    assert inference.extra_specs(given_xml) == specs("dedicated", realtime="^0")


@given(st.integers(1, 70).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, (1 << n) - 1))))
def test_every_release_reads_the_realtime_mask_alike(drawn: tuple[int, int]) -> None:
    vcpus, realtime = drawn
    fifo = {vcpu: Scheduling("fifo", 1) for vcpu in range(vcpus) if realtime >> vcpu & 1}
    pins = {vcpu: 1 << vcpu for vcpu in range(vcpus)}
    told = inference.extra_specs(GuestXml(vcpus, vcpu_pins=pins, vcpu_scheduling=fifo))
    text = told["hw:cpu_realtime_mask"]
    assert text.startswith("^")
    assert parse_nova(f"0-{vcpus - 1},{text}") == realtime == mask(fifo)


def test_the_flavor_of_a_domain() -> None:
    bare, whole = Flavor("f", 4, 512, {}), Flavor("f", 4, 512, {"a": "b"})
    nova = Metadata("27.5.1", "27.5.1", "n", "f", bare)
    pinned = xml(PINS, "0-1")

    def flavor(**more: t.Any) -> Flavor | None:
        return inference.flavor(Domain("i", "n", "h", running=True, **more), SHARED, (HOST,))

    inferred = flavor(live=pinned, nova=nova)
    assert inferred == Flavor("f", 4, 512, specs("dedicated", emulator="share"))
    assert flavor(persistent=pinned, nova=nova) == inferred
    assert flavor(live=pinned, nova=nova, flavor=whole) == whole
    assert flavor(live=pinned) is None
    assert flavor(nova=nova) is None
