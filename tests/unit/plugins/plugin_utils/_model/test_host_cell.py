# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host_cell import (
    HostCell,
    Pages,
)


def cell(
    siblings: tuple[tuple[int, ...], ...], pcpuset: int, pinned: int = 0, *pages: Pages
) -> HostCell:
    pcpus = tuple(cpu for cpu in range(16) if pcpuset >> cpu & 1)
    return HostCell(0, 0b11, pcpuset, 4096, siblings, pages, pcpus, pinned, memory_usage_mb=1024)


def test_what_follows_from_the_cpus() -> None:
    one = cell(((0, 4), (1, 5), (2, 6)), 0b1110110, 0b10)
    assert one.free_pcpus == 0b1110100
    assert (one.shared_count, one.dedicated_count, one.free_count) == (2, 5, 4)
    assert (one.threads, one.free_threads, one.free_memory_mb) == (2, 4, 3072)
    assert one.free_cores == ((), ((4,), (5,), (2, 6)), ((2, 6),))
    assert one.most_in_pairs == 2


@pytest.mark.parametrize(
    ("siblings", "pcpuset", "threads", "pairs"),
    [
        (((0,), (1,)), 0b11, 1, 0),
        ((), 0, 1, 0),
        (((0, 1, 2, 3), (4, 5)), 0b111111, 4, 4),
        (((0, 1, 2, 3), (4, 5, 6)), 0b1111111, 4, 6),
        (((0, 1), (2, 3)), 0b0101, 2, 0),
    ],
)
def test_threads_of_cores(
    siblings: tuple[tuple[int, ...], ...], pcpuset: int, threads: int, pairs: int
) -> None:
    one = cell(siblings, pcpuset)
    assert (one.threads, one.most_in_pairs) == (threads, pairs)


def test_what_follows_from_the_pages() -> None:
    one = cell((), 0, 0, Pages(4, 1000, 100, 50), Pages(1048576, 2, 1, 2), Pages(2048, 10))
    assert [pool.size_kb for pool in one.falling_pages] == [1048576, 2048, 4]
    assert one.falling_pages[0].free_kb == -1048576
    assert (one.small_page_kb, one.small_total_kb, one.small_free_kb) == (4, 4000, 3400)
    bare = cell((), 0)
    assert (bare.small_page_kb, bare.small_total_kb, bare.small_free_kb) == (0, 0, 0)
