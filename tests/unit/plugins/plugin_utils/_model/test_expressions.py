# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import hypothesis
import pytest
from hypothesis import strategies

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import ids
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import expressions
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE

HOST: dict[str, t.Any] = {
    "topology": {"online": "0-1", "cells": [{"id": 0, "cpus": "0-1", "memory_mb": 64}]}
}
ANYTHING = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text(max_size=20)
    | strategies.sampled_from(["0-3", "0-99999999999", "name", "vcpus", "27.1.0"]),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.dictionaries(
            strategies.text(max_size=8)
            | strategies.sampled_from(["name", "vcpus", "ram", "extra_specs", "topology", "hosts"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "reader",
    [
        expressions.cpus,
        lambda value: expressions.cpus("1-3", value),
        lambda value: expressions.cpus("1-N", "kernel", value),
        expressions.flavor,
        expressions.image,
        lambda value: expressions.host(value, "27.1.0"),
        expressions.release,
        lambda value: expressions.scheduler("27.1.0", value),
    ],
)
@hypothesis.given(value=ANYTHING)
def test_whatever_is_given_is_read_or_refused_in_one_line(
    reader: t.Callable[[object], object], value: object
) -> None:
    assert "\n" not in _refusal(reader, value)


def _refusal(reader: t.Callable[[object], object], value: object) -> str:
    try:
        reader(value)
    except InputError as error:
        return str(error)
    return ""


@hypothesis.given(strategies.sets(strategies.integers(0, 300)))
def test_a_list_of_ids_is_the_set_of_them(cpus: set[int]) -> None:
    assert set(ids(expressions.cpus(sorted(cpus)))) == cpus


def test_no_image_asks_for_nothing() -> None:
    assert expressions.image(None) is NO_IMAGE


@pytest.mark.parametrize(
    ("value", "name", "release"),
    [
        (HOST, "host", "27.1.0"),
        (HOST | {"name": "compute-1"}, "compute-1", "27.1.0"),
        (HOST | {"names": ["compute-1", "compute-2"]}, "compute-1", "27.1.0"),
        (HOST | {"release": "20.1.0"}, "host", "20.1.0"),
    ],
)
def test_a_host_is_its_facts_or_an_entry_of_a_fleet(
    value: dict[str, t.Any], name: str, release: str
) -> None:
    host = expressions.host(value, "27.1.0")
    assert (host.name, host.release) == (name, release)


@pytest.mark.parametrize(
    ("value", "name"), [("27.1.0", "27.1.0"), (2025.1, "2025.1"), (34, "34"), ("zed", "zed")]
)
def test_a_release_may_be_a_number(value: object, name: str) -> None:
    assert expressions.release(value) == name
