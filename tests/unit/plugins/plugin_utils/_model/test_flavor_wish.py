# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor_wish import (
    SETTLED,
    FlavorWish,
    read,
    wishes,
)

if t.TYPE_CHECKING:
    import pathlib

LEAST = {"name": "a", "intent": "pinned", "vcpus": 4, "ram": 4096}
ALL: dict[str, t.Any] = {
    "name": "b",
    "intent": "mixed",
    "vcpus": 8,
    "ram": 4096,
    "disk": 1,
    "ephemeral": 2,
    "swap": 3,
    "id": "7",
    "public": False,
    "numa_cells": 2,
    "ordinary_vcpus": 2,
    "page_size": 2048,
    "threads": "require",
    "emulator": "isolate",
    "extra_specs": {"trait:CUSTOM_RT": "required", "x:y": True},
    "hosts": ["rt-*"],
}


def test_a_wish_has_defaults() -> None:
    (found,) = wishes([LEAST])
    assert found == FlavorWish("a", "pinned", 4, 4096, where="wishes[0]")


def test_every_key_is_read() -> None:
    (found,) = wishes({"format": 1, "wishes": [ALL]}, "w.yml")
    assert found == FlavorWish(
        name="b",
        intent="mixed",
        vcpus=8,
        memory_mb=4096,
        disk_gb=1,
        ephemeral_gb=2,
        swap_mb=3,
        id="7",
        public=False,
        numa_cells=2,
        ordinary_vcpus=2,
        page_size="2048",
        threads="require",
        emulator="isolate",
        extra_specs={"trait:CUSTOM_RT": "required", "x:y": "True"},
        hosts=("rt-*",),
        where="w.yml: wishes[0]",
    )


def test_a_path_is_read(tmp_path: pathlib.Path) -> None:
    (tmp_path / "w.json").write_text(json.dumps({"wishes": [LEAST]}))
    (found,) = read("w.json", (str(tmp_path),))
    assert found.name == "a"
    assert read([LEAST], ())[0].where == "wishes[0]"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None}, "name"),
        ({"name": " a"}, "name"),
        ({"name": "a\x1b[2J"}, "printable"),
        ({"intent": "fast"}, "intent"),
        ({"vcpus": 0}, "vcpus"),
        ({"vcpus": 2.0}, "vcpus"),
        ({"numa_cells": 3}, "multiple of numa_cells, which is 3"),
        ({"vcpus": 6, "numa_cells": 3, "ram": 4096}, "ram.*multiple of numa_cells"),
        ({"ordinary_vcpus": 1}, "the intents mixed and pinned-realtime"),
        ({"intent": "mixed", "ordinary_vcpus": 0}, "1 to 3"),
        ({"intent": "mixed", "numa_cells": 4}, "more vCPUs in each cell"),
        ({"intent": "pinned-realtime", "ordinary_vcpus": 4}, "0 to 3"),
        ({"page_size": "huge"}, "page_size"),
        ({"page_size": True}, "page_size"),
        ({"threads": "avoid"}, "threads"),
        ({"emulator": "yes"}, "emulator"),
        ({"extra_specs": {"a=b": "c"}}, "extra_specs"),
        ({"extra_specs": {"a": "c\nd"}}, "printable"),
        ({"hosts": ["a"]}, "hosts.*an extra spec that ties"),
        ({"id": "a/b"}, "id"),
        ({"vcpu": 1}, "vcpu"),
    ],
)
def test_what_cannot_be_used_is_named(change: dict[str, t.Any], message: str) -> None:
    given = {key: value for key, value in {**LEAST, **change}.items() if value is not None}
    with pytest.raises(InputError, match=message) as caught:
        wishes([given])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", SETTLED)
def test_what_follows_from_other_keys_cannot_be_given(key: str) -> None:
    with pytest.raises(InputError, match="follows from the other keys"):
        wishes([{**LEAST, "extra_specs": {key: "1"}}])


@pytest.mark.parametrize("document", [[], {}, {"wishes": []}, "x", 1, [1], {"wishes": {}}])
def test_other_documents_are_refused(document: t.Any) -> None:
    with pytest.raises(InputError):
        wishes(document)


def test_a_name_is_wished_once() -> None:
    with pytest.raises(InputError, match="'a' is wished twice"):
        wishes([LEAST, LEAST])
    with pytest.raises(InputError, match="'7' is wished twice"):
        wishes([{**LEAST, "id": "7"}, {**LEAST, "name": "7"}])
    assert wishes([{**LEAST, "id": "a"}])[0].id == "a"
