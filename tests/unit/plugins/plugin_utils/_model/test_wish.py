# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.wish import (
    ExplicitSets,
    Wish,
    explicit_sets,
    wish,
)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({}, Wish()),
        ({"shared_fraction": 0.25, "leave_out": "4,6-7"}, Wish(1, True, 0.25, None, 0b11010000)),
        (
            {
                "format": 1,
                "housekeeping_cores": 2,
                "housekeeping_in_each_cell": False,
                "shared_cores": 3,
                "leave_out": 4,
            },
            Wish(2, False, 0.0, 3, 0b10000),
        ),
    ],
)
def test_a_wish_is_read(document: dict[str, t.Any], expected: Wish) -> None:
    assert wish(document) == expected


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"shared_fractoin": 1}, "wish: shared_fractoin: unknown key .nearest: shared_fraction"),
        ({"shared_fraction": 1.5}, "wish: shared_fraction: 1.5 is more than 1"),
        ({"housekeeping_cores": 0}, "wish: housekeeping_cores: 0 is less than 1"),
        ({"shared_fraction": 0.5, "shared_cores": 1}, "exclude one another"),
        ({"leave_out": "7-4"}, "wish: leave_out: the range '7-4' falls"),
        ([], "wish: "),
    ],
)
def test_a_bad_wish_is_refused(document: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        wish(document)


def test_explicit_sets_are_read() -> None:
    assert explicit_sets({"cpu_dedicated_set": 3}) == ExplicitSets(None, "3")


def test_a_bad_set_is_refused() -> None:
    with pytest.raises(InputError, match="sets: vcpu_pin_set: unknown key"):
        explicit_sets({"vcpu_pin_set": "1"})
