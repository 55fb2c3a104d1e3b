# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host_cell import HostCell
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import constraints, usage
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.fit import Fitted, fit
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release
from ansible_collections.pinguard.nova.tests.unit.plugins.plugin_utils._nova.building import (
    THREE_SIZES,
    flavor,
    host_cell,
)

NEW = release("34.0.0")


def placed(specs: str, host: HostCell, vcpus: int = 2) -> Fitted:
    guest = constraints.guest(flavor(specs, vcpus=vcpus), NO_IMAGE, NEW)
    assert guest is not None
    found = fit((host,), guest, NEW)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("specs", "host", "pinned", "floating", "pages"),
    [
        ("cpu_policy=dedicated", host_cell("0-7"), 0b00010001, 0, [524288]),
        (
            "cpu_policy=dedicated emulator_threads_policy=isolate",
            host_cell("0-7"),
            0b00010011,
            0,
            [524288],
        ),
        (
            "cpu_policy=dedicated cpu_thread_policy=isolate",
            host_cell("0-7", "0-7"),
            0b00110011,
            0,
            [524288],
        ),
        ("numa_nodes=1", host_cell("", "0-7"), 0, 2, [524288]),
        (
            "cpu_policy=mixed cpu_dedicated_mask=0",
            host_cell("1-3,5-7", "0,4"),
            0b10,
            1,
            [524288],
        ),
        (
            "cpu_policy=dedicated mem_page_size=2048",
            host_cell("0-7", memory_mb=10240, pages=THREE_SIZES),
            0b00010001,
            0,
            [0, 1024, 0],
        ),
    ],
)
def test_what_a_guest_takes(
    specs: str, host: HostCell, pinned: int, floating: int, pages: list[int]
) -> None:
    (after,) = usage.take((host,), placed(specs, host), NEW)
    assert (after.pinned_cpus, after.cpu_usage) == (pinned, floating)
    assert after.memory_usage_mb == 2048
    assert [pool.used for pool in after.pages] == pages


def test_pins_that_are_taken_or_unknown_are_refused() -> None:
    host = host_cell("0-7")
    found = placed("cpu_policy=dedicated", host)
    (taken,) = usage.take((host,), found, NEW)
    with pytest.raises(NovaError, match=r"CPUPinningInvalid.*0,4"):
        usage.take((taken,), found, NEW)
    with pytest.raises(NovaError, match="CPUUnpinningInvalid"):
        usage.give_back((host,), found, NEW)
    shrunk = host_cell("1-3,5-7")
    with pytest.raises(NovaError, match=r"CPUPinningUnknown.*0,4"):
        usage.take((shrunk,), found, NEW)
    with pytest.raises(NovaError, match="CPUUnpinningUnknown"):
        usage.give_back((shrunk,), found, NEW)


def test_a_cell_without_page_pools_crashes() -> None:
    host = host_cell("", "0-7", pages=())
    with pytest.raises(NovaError, match="IndexError") as caught:
        usage.take((host,), placed("numa_nodes=1", host), NEW)
    assert caught.value.crash


def test_other_cells_are_left_alone() -> None:
    cells = (host_cell("0-7"), host_cell("8-9", cores="8,9", id=1))
    found = placed("cpu_policy=dedicated", cells[0])
    assert usage.take(cells, found, NEW)[1] == cells[1]


@pytest.mark.parametrize(
    ("host", "version", "error"),
    [
        (host_cell("0-7", "0-7", pinned="7"), "34.0.0", "CPUPinningInvalid"),
        (host_cell("0,4,1", "5", cores="0,4 1,5"), "20.4.0", "CPUPinningUnknown"),
    ],
)
def test_an_isolated_reserve_takes_siblings_that_are_not_free(
    host: HostCell, version: str, error: str
) -> None:
    one = release(version)
    specs = "cpu_policy=dedicated cpu_thread_policy=isolate emulator_threads_policy=isolate"
    vcpus = 3 if version == "34.0.0" else 1
    guest = constraints.guest(flavor(specs, vcpus=vcpus), NO_IMAGE, one)
    assert guest is not None
    found = fit((host,), guest, one)
    assert found is not None
    with pytest.raises(NovaError, match=error):
        usage.take((host,), found, one)
