# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read import evidence
from ansible_collections.pinguard.nova.plugins.module_utils._read.evidence import Process

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree

    Plant = Callable[[Mapping[str, str]], Tree]


def _stat(name: str, priority: object = 0, policy: int = 0) -> str:
    return f"7 ({name}) S 2 {'0 ' * 35}{priority} {policy} 0\n"


def test_no_process_is_not_the_same_as_none_found(plant: Plant) -> None:
    assert evidence.processes(plant({"proc/cmdline": ""})) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_stat("rcuc/1", 4, 1), Process(7, "rcuc/1", 2, 4)),
        (_stat("rcuc/1", 4, 0), Process(7, "rcuc/1", 2, 0)),
        (_stat("a) R (b", 4, 2), Process(7, "a) R (b", 2, 4)),
        (_stat("x", 10**9, 1), Process(7, "x", 2, 0)),
        (_stat("x", "y", 1), Process(7, "x", 2, 0)),
        ("7 (x) S 2", None),
        ("", None),
        ("\0", None),
    ],
)
def test_a_process(plant: Plant, text: str, expected: Process | None) -> None:
    found = evidence.processes(plant({"proc/7/stat": text, "proc/70/cmdline": "", "proc/x": ""}))
    assert found == (None if expected is None else [expected])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("5\n", 5), ("-1", None), ("11", None), ("9" * 40, None), ("1 2", None), ("", None)],
)
def test_a_number_within_bounds(plant: Plant, text: str, expected: int | None) -> None:
    assert evidence.number(plant({"a": text}), "/a", 0, 10) == expected
