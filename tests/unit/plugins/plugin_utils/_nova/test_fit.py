# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import time
import typing as t

import hypothesis
import pytest
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import ids, mask
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest import Guest, GuestCell
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host_cell import (
    HostCell,
    Pages,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import constraints, usage
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.fit import Fitted, Limits, fit
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release
from ansible_collections.pinguard.nova.tests.unit.plugins.plugin_utils._nova.building import (
    SINGLES,
    THREE_SIZES,
    flavor,
    host_cell,
)

NEW8 = host_cell("0-7")
LEG8 = host_cell("0-7", "0-7")
NOHT8 = host_cell("0-7", cores=SINGLES)
SHR8 = host_cell("", "0-7")
MIX8 = host_cell("1-3,5-7", "0,4")
HUGE8 = host_cell("0-7", memory_mb=10240, pages=THREE_SIZES)
FRAG8 = host_cell("0-7", pinned="0-2")
HALF8 = host_cell("0-3", "4-7")
UNEVEN = host_cell("0-5", cores="0,1,2,3 4,5")
LEFT = host_cell("0-3,8-11", cores="0,8 1,9 2,10 3,11")
RIGHT = host_cell("4-7,12-15", cores="4,12 5,13 6,14 7,15", id=1)
ENDS = ("20.6.1", "22.4.0", "25.3.0", "34.0.0")


def guest_of(specs: str, vcpus: int = 4, memory_mb: int = 2048, version: str = "34.0.0") -> Guest:
    asked = flavor(specs, vcpus=vcpus, memory_mb=memory_mb)
    guest = constraints.guest(asked, NO_IMAGE, release(version))
    assert guest is not None
    return guest


def fitted(
    specs: str,
    *cells: HostCell,
    vcpus: int = 4,
    memory_mb: int = 2048,
    version: str = "34.0.0",
    **more: t.Any,
) -> Fitted | None:
    guest = guest_of(specs, vcpus, memory_mb, version)
    return fit(cells, guest, release(version), **more)


def shown(found: Fitted | None) -> str | None:
    """Write pins in the order of the vCPUs, then what is reserved: ``0 4 1+5``."""
    if found is None:
        return None
    pins = " ".join(str(found.pins[vcpu]) for vcpu in sorted(found.pins))
    return pins + "".join(f"+{cpu}" for cpu in sorted(found.reserved))


@pytest.mark.parametrize(
    ("host", "vcpus", "specs", "pins"),
    [
        (NEW8, 4, "", "0 4 1 5"),
        (NEW8, 4, "cpu_thread_policy=prefer", "0 4 1 5"),
        (NEW8, 4, "cpu_thread_policy=require", "0 4 1 5"),
        (NEW8, 3, "", "0 4 1"),
        (NEW8, 5, "cpu_thread_policy=require", "0 4 1 5 2"),
        (NEW8, 1, "cpu_thread_policy=require", "0"),
        (NEW8, 8, "", "0 4 1 5 2 6 3 7"),
        (NEW8, 9, "", None),
        (LEG8, 4, "", "0 4 1 5"),
        (LEG8, 4, "cpu_thread_policy=isolate", "0 1 2 3"),
        (LEG8, 5, "cpu_thread_policy=isolate", None),
        (NOHT8, 4, "cpu_thread_policy=require", None),
        (NOHT8, 8, "cpu_thread_policy=isolate", "0 1 2 3 4 5 6 7"),
        (NOHT8, 7, "emulator_threads_policy=isolate", "0 1 2 3 4 5 6+7"),
        (NOHT8, 8, "emulator_threads_policy=isolate", None),
        (NEW8, 3, "emulator_threads_policy=isolate", "0 4 1+5"),
        (NEW8, 4, "emulator_threads_policy=isolate", "0 4 1 5+2"),
        (NEW8, 4, "emulator_threads_policy=share", "0 4 1 5"),
        (NEW8, 7, "emulator_threads_policy=isolate", "0 4 1 5 2 6 3+7"),
        (NEW8, 8, "emulator_threads_policy=isolate", None),
        (NEW8, 7, "emulator_threads_policy=isolate cpu_thread_policy=require", "0 4 1 5 2 6 3+7"),
        (LEG8, 3, "emulator_threads_policy=isolate cpu_thread_policy=isolate", "0 1 2+3"),
        (LEG8, 4, "emulator_threads_policy=isolate cpu_thread_policy=isolate", None),
        (FRAG8, 4, "", "4 5 6 3"),
        (FRAG8, 4, "cpu_thread_policy=require", None),
        (FRAG8, 2, "cpu_thread_policy=require", "3 7"),
        (FRAG8, 2, "", "3 7"),
        (FRAG8, 3, "", "4 5 6"),
        (FRAG8, 5, "", "4 5 6 3 7"),
        (FRAG8, 4, "emulator_threads_policy=isolate", "4 5 6 3+7"),
        (HALF8, 4, "", "0 1 2 3"),
        (HALF8, 2, "cpu_thread_policy=require", None),
        (HALF8, 2, "cpu_thread_policy=isolate", None),
        (host_cell("0-3", cores="0 1 2 3"), 2, "cpu_thread_policy=isolate", "0 1"),
        (UNEVEN, 5, "", "0 1 2 3 4"),
        (UNEVEN, 6, "cpu_thread_policy=require", None),
        (host_cell("4,24", cores="4,24"), 2, "", "24 4"),
        (host_cell("0,40", cores="40,0"), 2, "", "0 40"),
        (SHR8, 4, "", None),
    ],
)
def test_pins_of_a_dedicated_guest(host: HostCell, vcpus: int, specs: str, pins: str) -> None:
    for version in ENDS:
        found = fitted(f"cpu_policy=dedicated {specs}", host, vcpus=vcpus, version=version)
        assert shown(found) == pins, version


@pytest.mark.parametrize(
    ("version", "pins"),
    [
        ("20.0.0", "0 1 2 3"),
        ("20.4.0", "0 1 2 3"),
        ("20.4.1", None),
        ("21.1.0", "0 1 2 3"),
        ("21.1.1", None),
        ("22.0.0", None),
        ("34.0.0", None),
    ],
)
def test_isolate_is_guarded_since_bug_1889633(version: str, pins: str | None) -> None:
    specs = "cpu_policy=dedicated cpu_thread_policy=isolate"
    assert shown(fitted(specs, NEW8, version=version)) == pins


def test_a_pinned_guest_crashes_on_a_cell_without_siblings() -> None:
    bare = host_cell("0-7", "0-7", cores="")
    with pytest.raises(NovaError, match="ValueError") as caught:
        fitted("cpu_policy=dedicated", bare)
    assert caught.value.crash
    assert fitted("numa_nodes=1", bare) is not None


@pytest.mark.parametrize(
    ("memory_mb", "size", "chosen"),
    [
        (2048, "small", 4),
        (2048, "large", 1048576),
        (2048, "any", 1048576),
        (2048, "2048", 2048),
        (2048, "1GB", 1048576),
        (2048, "16384", None),
        (1026, "large", 2048),
        (1025, "large", None),
        (1025, "any", 4),
        (1536, "1GB", None),
        (4098, "2048", None),
        (2048, "1.5MB", None),
        (2048, "0", 0),
    ],
)
def test_page_sizes(memory_mb: int, size: str, chosen: int | None) -> None:
    specs = f"cpu_policy=dedicated mem_page_size={size}"
    found = fitted(specs, HUGE8, memory_mb=memory_mb)
    assert (found.seats[0].page_size_kb if found else None) == chosen


def test_reserved_pages_and_cells_without_pages() -> None:
    reserved = host_cell("0-7", memory_mb=10240, pages=((4, 1048576), (1048576, 2, 0, 1)))
    assert fitted("cpu_policy=dedicated mem_page_size=1GB", reserved) is None
    bare = host_cell("0-7", pages=())
    assert fitted("cpu_policy=dedicated mem_page_size=large", bare) is None
    assert fitted("cpu_policy=dedicated", bare) is not None
    assert fitted("cpu_policy=dedicated", HUGE8, memory_mb=5120) is None


@pytest.mark.parametrize(
    ("host", "before", "since"),
    [
        (host_cell("0-7", memory_usage_mb=7168), False, True),
        (host_cell("0-7", memory_usage_mb=6144), True, True),
        (host_cell("0-7", pages=((4, 2097152, 1835008),)), True, False),
        (host_cell("0-7", pages=(), memory_usage_mb=7168), False, False),
    ],
)
def test_memory_of_pinned_guests(host: HostCell, before: bool, since: bool) -> None:
    for version, fits in (("20.6.1", before), ("29.4.0", before), ("30.0.0", since)):
        assert (fitted("cpu_policy=dedicated", host, version=version) is not None) == fits


@pytest.mark.parametrize(
    ("vcpus", "more", "limits", "fits"),
    [
        (8, {}, None, True),
        (9, {}, None, False),
        (4, {"cpu_usage": 12}, Limits(2.0, 1.5), True),
        (4, {"cpu_usage": 13}, Limits(2.0, 1.5), False),
        (4, {"memory_usage_mb": 10240}, Limits(2.0, 1.5), True),
        (4, {"memory_usage_mb": 10241}, Limits(2.0, 1.5), False),
        (4, {"cpu_usage": 1000, "memory_usage_mb": 99999}, None, True),
    ],
)
def test_floating_guests(
    vcpus: int, more: dict[str, t.Any], limits: Limits | None, fits: bool
) -> None:
    host = host_cell("", "0-7", **more)
    for version in ENDS:
        found = fitted("numa_nodes=1", host, vcpus=vcpus, version=version, limits=limits)
        assert (found is not None) == fits
    assert fitted("numa_nodes=1", NEW8) is None


@pytest.mark.parametrize(
    ("host", "specs", "limits", "victoria", "wallaby"),
    [
        (MIX8, "cpu_dedicated_mask=0-1", None, "1 5", "1 5"),
        (NEW8, "cpu_dedicated_mask=0-1", None, "0 4", None),
        (SHR8, "cpu_dedicated_mask=0-1", None, None, None),
        (MIX8, "cpu_dedicated_mask=0", None, "1", None),
        (host_cell("1-3,5-7", "0,4", cpu_usage=3), "cpu_dedicated_mask=0-1", 2.0, "1 5", None),
        (LEG8, "cpu_dedicated_mask=0-1", None, "0 4", "0 4"),
        (MIX8, "cpu_dedicated_mask=0-1 emulator_threads_policy=isolate", None, "1 5+2", "1 5+2"),
    ],
)
def test_mixed_guests(
    host: HostCell, specs: str, limits: float | None, victoria: str | None, wallaby: str | None
) -> None:
    bounds = Limits(limits, 1.5) if limits else None
    for version, pins in (("22.4.0", victoria), ("23.0.0", wallaby), ("34.0.0", wallaby)):
        found = fitted(f"cpu_policy=mixed {specs}", host, version=version, limits=bounds)
        assert shown(found) == pins, version


@pytest.mark.parametrize(
    ("mask_text", "emulator", "version", "fits"),
    [
        ("0-1", "", "27.0.0", False),
        ("0-1", "", "27.1.0", True),
        ("0-1", "", "28.0.0", True),
        ("2-3", "emulator_threads_policy=isolate", "34.0.0", False),
    ],
)
def test_a_mixed_cell_without_pinned_vcpus(
    mask_text: str, emulator: str, version: str, fits: bool
) -> None:
    left = host_cell("1-3,9-11", "0,8", cores="0,8 1,9 2,10 3,11")
    right = host_cell("5-7,13-15", "4,12", cores="4,12 5,13 6,14 7,15", id=1)
    specs = f"cpu_policy=mixed cpu_dedicated_mask={mask_text} numa_nodes=2 {emulator}"
    assert (fitted(specs, left, right, version=version) is not None) == fits


def test_two_cells() -> None:
    for version in ENDS:
        found = fitted("cpu_policy=dedicated numa_nodes=2", LEFT, RIGHT, version=version)
        assert found is not None
        assert (found.cells, shown(found)) == ((0, 1), "0 8 4 12")
        isolating = "cpu_policy=dedicated numa_nodes=2 emulator_threads_policy=isolate"
        assert shown(fitted(isolating, LEFT, RIGHT, version=version)) == "0 8 4 12+1"
        assert fitted("numa_nodes=3", LEFT, RIGHT, vcpus=6, memory_mb=3072) is None


@pytest.mark.parametrize(
    ("version", "packs", "cell"),
    [
        ("20.6.1", None, 0),
        ("24.2.1", None, 0),
        ("24.2.1", False, 0),
        ("25.3.0", None, 0),
        ("25.3.0", False, 1),
        ("26.0.0", None, 1),
        ("26.0.0", True, 0),
        ("34.0.0", None, 1),
        ("34.0.0", True, 0),
    ],
)
def test_packing_takes_the_fuller_cell(version: str, packs: bool | None, cell: int) -> None:
    fuller = dataclasses.replace(LEFT, pinned_cpus=mask([0, 8]))
    found = fitted("cpu_policy=dedicated", fuller, RIGHT, vcpus=2, version=version, packs=packs)
    assert found is not None
    assert found.cells == (cell,)


def test_ties_keep_the_order_of_the_host_and_memory_decides_before_it() -> None:
    same = fitted("cpu_policy=dedicated", LEFT, RIGHT, vcpus=2, packs=False)
    assert same is not None
    assert same.cells == (0,)
    poorer = dataclasses.replace(LEFT, memory_usage_mb=1024)
    spread = fitted("cpu_policy=dedicated", poorer, RIGHT, vcpus=2, packs=False)
    assert spread is not None
    assert spread.cells == (1,)


def test_a_page_size_once_chosen_sticks() -> None:
    left = host_cell("0-1", cores="0,1", pages=((4, 262144), (2048, 512)))
    right = host_cell("2-5", cores="2,3 4,5", pages=((4, 524288),), id=1)
    specs = (
        "cpu_policy=dedicated mem_page_size=any numa_nodes=2"
        " numa_cpus.0=0-2 numa_cpus.1=3 numa_mem.0=1024 numa_mem.1=1024"
    )
    for version in ENDS:
        assert fitted(specs, left, right, version=version) is None
        swapped = fitted(specs, right, left, version=version)
        assert swapped is not None
        assert swapped.cells == (1, 0)


REVERSED = (
    "cpu_policy=dedicated numa_nodes=2 numa_cpus.0=0 numa_cpus.1=1-3"
    " numa_mem.0=1024 numa_mem.1=3072"
)


@pytest.mark.parametrize(
    ("version", "fits"), [("20.6.1", True), ("25.3.0", True), ("26.0.0", False), ("34.0.0", False)]
)
def test_the_caches_refuse_unlike_cells_that_fit(version: str, fits: bool) -> None:
    large = host_cell("2-5", cores="2 3 4 5", id=1)
    small = host_cell("0-1", cores="0 1")
    found = fitted(REVERSED, large, small, memory_mb=4096, version=version)
    assert (found is not None) == fits
    if found:
        assert found.cells == (0, 1)
        assert found.pins == {0: 0, 1: 2, 2: 3, 3: 4}
    in_order = fitted(REVERSED, small, large, memory_mb=4096, version=version)
    assert in_order is not None


def one_too_large(width: int = 8) -> Guest:
    """Make a guest whose last cell no host cell of eight CPUs takes."""
    return Guest(
        tuple(
            GuestCell(number, 0, 0b111111111 if number == width - 1 else 1, 64, None, "dedicated")
            for number in range(width)
        )
    )


@pytest.mark.parametrize(("version", "fits"), [("24.2.1", 0), ("25.3.0", 0), ("34.0.0", 1)])
def test_a_large_search_ends(version: str, fits: int) -> None:
    hosts = tuple(
        host_cell("0-7", id=number, pinned="0" if number % 3 else "") for number in range(24)
    )
    started = time.monotonic()
    found = fit(hosts, one_too_large(), release(version))
    assert time.monotonic() - started < 30
    assert bool(found) == bool(fits)


def test_the_caches_take_a_cell_unchecked_and_without_pins() -> None:
    hosts = tuple(host_cell("0-7", id=number) for number in range(24))
    found = fit(hosts, one_too_large(), release("34.0.0"))
    assert found is not None
    assert found.seats[-1].checked is None
    assert found.pinnings()[-1] is None
    assert fit(hosts, one_too_large(), release("25.3.0")) is None


RELEASES = st.sampled_from(["20.0.0", "20.6.1", "22.4.0", "25.3.0", "27.1.0", "29.4.0", "34.0.0"])
UNCACHED = st.sampled_from(["20.0.0", "20.6.1", "22.4.0", "23.2.2", "25.3.0"])


@st.composite
def host_cells(draw: st.DrawFn, ident: int = 0) -> HostCell:
    """Draw a cell: cores of one to four threads, legacy or not, some CPUs pinned."""
    cores, following = [], 32 * ident
    for width in draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)):
        cores.append(",".join(str(cpu) for cpu in range(following, following + width)))
        following += width
    every = list(range(32 * ident, following))
    dedicated = draw(st.sets(st.sampled_from(every)))
    legacy = draw(st.booleans())
    pinned = draw(st.sets(st.sampled_from(sorted(dedicated)))) if dedicated else set()
    shared = dedicated if legacy else set(every) - dedicated
    memory_mb = draw(st.sampled_from([2048, 4096, 8192]))
    return host_cell(
        ",".join(map(str, sorted(dedicated))),
        ",".join(map(str, sorted(shared))),
        " ".join(cores),
        pages=((4, memory_mb * 128), (2048, memory_mb // 4)),
        pinned=",".join(map(str, sorted(pinned))),
        id=ident,
        memory_mb=memory_mb,
        memory_usage_mb=draw(st.sampled_from([0, 1024])),
    )


@st.composite
def guests(draw: st.DrawFn, most_cells: int = 1, sizes: tuple[int | None, ...] = (None,)) -> Guest:
    """Draw a pinned guest; its cells are alike in policy and page size."""
    policy = draw(st.sampled_from([None, "prefer", "isolate", "require"]))
    size_kb = draw(st.sampled_from(sizes))
    cells, following = [], 0
    for number in range(draw(st.integers(1, most_cells))):
        width = draw(st.integers(1, 5))
        pinned = ((1 << width) - 1) << following
        memory_mb = draw(st.sampled_from([64, 512, 2048]))
        cells.append(GuestCell(number, 0, pinned, memory_mb, size_kb, "dedicated", policy))
        following += width
    return Guest(tuple(cells), draw(st.sampled_from([None, "share", "isolate"])))


SIZES = (None, 4, 2048, constraints.SMALL, constraints.LARGE, constraints.ANY)
TWO_CELLS = st.tuples(host_cells(0), host_cells(1))


def check_pins(cells: tuple[HostCell, ...], guest: Guest, found: Fitted) -> None:
    pins, reserved = found.pins, found.reserved
    assert sorted(pins) == sorted(vcpu for cell in guest.cells for vcpu in ids(cell.pcpuset))
    assert len(set(pins.values())) == len(pins)
    assert len(reserved) == (guest.emulator_threads_policy == "isolate")
    assert not reserved & set(pins.values())
    assert len(set(found.cells)) == len(guest.cells)
    hosts = {host.id: host for host in cells}
    for cell, seat in zip(guest.cells, found.seats, strict=True):
        free = set(ids(hosts[seat.cell].free_pcpus))
        assert {pins[vcpu] for vcpu in ids(cell.pcpuset)} <= free
    assert reserved <= set(ids(hosts[found.cells[0]].free_pcpus))


@hypothesis.given(host_cells(), guests(sizes=SIZES), RELEASES)
def test_pins_of_one_cell_are_free_and_distinct(host: HostCell, guest: Guest, version: str) -> None:
    found = fit((host,), guest, release(version))
    if found:
        check_pins((host,), guest, found)


@hypothesis.given(TWO_CELLS, guests(2, SIZES), UNCACHED)
def test_pins_of_two_cells_are_free_and_distinct(
    cells: tuple[HostCell, ...], guest: Guest, version: str
) -> None:
    found = fit(cells, guest, release(version))
    if found:
        check_pins(cells, guest, found)


@hypothesis.given(host_cells(), guests(), RELEASES)
def test_thread_policies_hold(host: HostCell, guest: Guest, version: str) -> None:
    found = fit((host,), guest, release(version))
    if not found:
        return
    policy = guest.cells[0].cpu_thread_policy
    taken = [len(set(core) & set(found.pins.values())) for core in host.siblings]
    used = [count for count in taken if count]
    if policy == "isolate":
        assert set(used) == {1}
        for core in host.siblings:
            if set(core) & set(found.pins.values()):
                assert set(core) <= set(ids(host.free_pcpus))
    elif policy == "require":
        free = [len(set(core) & set(ids(host.free_pcpus))) for core in host.siblings]
        assert all(room >= 2 for room, count in zip(free, taken, strict=True) if count)
        assert max(used) >= min(2, len(found.pins))
        assert sum(count < max(used) for count in used) <= 1


@hypothesis.given(TWO_CELLS, guests(2), UNCACHED, st.integers(1, 8))
def test_more_free_memory_never_hurts(
    cells: tuple[HostCell, ...], guest: Guest, version: str, more: int
) -> None:
    richer = tuple(
        dataclasses.replace(
            cell,
            memory_mb=cell.memory_mb + 512 * more,
            pages=tuple(
                Pages(pool.size_kb, pool.total + 512 * 1024 * more // pool.size_kb)
                for pool in cell.pages
            ),
        )
        for cell in cells
    )
    for one in (version, "34.0.0") if len(guest.cells) == 1 else (version,):
        if fit(cells, guest, release(one)):
            assert fit(richer, guest, release(one))


@hypothesis.given(TWO_CELLS, guests(2, SIZES), UNCACHED)
def test_giving_back_restores_the_books(
    cells: tuple[HostCell, ...], guest: Guest, version: str
) -> None:
    one = release(version)
    found = fit(cells, guest, one)
    if found is None:
        return
    if guest.emulator_threads_policy == guest.cells[0].cpu_thread_policy == "isolate":
        return  # the reserve may drag in siblings that are not free: see test_usage
    taken = usage.take(cells, found, one)
    assert sum(cell.free_memory_mb for cell in cells) - sum(
        cell.free_memory_mb for cell in taken
    ) == sum(cell.memory_mb for cell in guest.cells)
    for before, after in zip(cells, usage.give_back(taken, found, one), strict=True):
        for name in ("pinned_cpus", "cpu_usage", "memory_usage_mb", "pages", "free_pcpus"):
            assert getattr(after, name) == getattr(before, name)
