# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import mask
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import set_order

SMALL_SETS = st.lists(st.integers(0, 200), max_size=40, unique=True).map(tuple)
CORES = st.lists(st.lists(st.integers(0, 200), min_size=1, max_size=4).map(tuple), max_size=40)


@pytest.mark.parametrize(
    ("cores", "old"),
    [
        (["0,4", "1,5", "2,6", "3,7"], "1,5 2,6 3,7 0,4"),
        (
            ["0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "15,7"],
            "3,11 5,13 2,10 4,12 1,9 15,7 0,8 6,14",
        ),
        ([str(n) for n in range(12)], "0 1 2 8 3 9 4 10 5 11 6 7"),
    ],
)
def test_order_of_cores_before_python_38(cores: list[str], old: str) -> None:
    given_cores = [tuple(map(int, core.split(","))) for core in cores]
    found = set_order.listed(given_cores, old_hash=True)
    assert " ".join(",".join(map(str, core)) for core in found) == old


@given(SMALL_SETS, SMALL_SETS)
def test_operations_keep_the_members(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    both = set_order.intersection(left, right)
    assert sorted(both) == sorted(set(left) & set(right))
    less = set_order.difference(left, mask(right))
    assert sorted(less) == sorted(set(left) - set(right))
    assert sorted(set_order.rebuilt(left)) == sorted(left)


@given(CORES)
def test_listing_keeps_each_core_once(cores: list[tuple[int, ...]]) -> None:
    for old_hash in (True, False):
        found = set_order.listed(cores, old_hash=old_hash)
        assert sorted(found) == sorted(set(cores))
