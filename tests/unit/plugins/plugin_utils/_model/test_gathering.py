# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import gathering
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import (
    Allocation,
    CellPlace,
)

if t.TYPE_CHECKING:
    import pathlib

FACTS = {
    "topology": {
        "online": "0-3",
        "present": "0-3",
        "isolated": "",
        "cells": [{"id": 0, "cpus": "0-3", "memory_mb": 8192}],
    }
}
FLAVORS = [{"name": "f", "vcpus": 1, "ram": 512}]
SERVER = {"id": "s", "host": "a", "flavor": "f"}
LISTED = {"ID": "s", "Name": "db", "Status": "SHUTOFF", "Host": "a", "Flavor": "f"}
PINNED = SERVER | {"cells": [{"host_cell": 0, "pins": {"0": 1}}]}
HELD = {"a": {"allocations": {c: {"resources": {"PCPU": 1}} for c in ("s", "other")}}}


def sources(servers: object, **more: t.Any) -> gathering.Sources:
    named = None if "fleet" in more else {"a": FACTS}
    return gathering.Sources("34.0.0", named, **{"flavors": FLAVORS, "servers": servers, **more})


def test_servers_come_from_several_files(tmp_path: pathlib.Path) -> None:
    documents = {
        "api.json": [LISTED],
        "own.json": {"format": 1, "servers": [PINNED]},
        "p.json": HELD,
    }
    for name, document in documents.items():
        (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
    fleet = gathering.fleet(sources(list(documents), folders=("", str(tmp_path))))
    (server,) = fleet.servers
    assert (server.name, server.status, server.host) == ("db", "SHUTOFF", "a")
    assert server.flavor is fleet.flavors[0]
    assert (server.places, server.allocation) == ((CellPlace(0, {0: 1}),), {"PCPU": 1})
    assert fleet.allocations == (Allocation("other", "a", {"PCPU": 1}),)


def test_servers_may_stand_in_the_task_and_in_the_fleet_file(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "fleet.json"
    file.write_text(json.dumps({"hosts": [{"name": "a"} | FACTS], "servers": [SERVER]}))
    fleet = gathering.fleet(sources({"servers": [PINNED | {"id": "s2"}, PINNED]}, fleet=str(file)))
    assert [(one.id, one.places is None) for one in fleet.servers] == [("s", False), ("s2", False)]
    assert gathering.fleet(sources(None)).servers == ()


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        ([SERVER | {"host": "b"}], "servers: the server 's' is on the unknown host 'b'"),
        ({"b": HELD["a"]}, "the consumer 's' is on the unknown host 'b'"),
        ([{"name": "a", **HELD["a"]}] * 2, "what 's' holds on 'a' is given twice"),
        ([SERVER | {"flavor": "g"}], "servers: flavor: there is no flavor 'g'"),
        (7, "servers: 7 is out of place"),
        ("/nonexistent.json", "/nonexistent.json: no such file"),
    ],
)
def test_bad_servers_are_refused(servers: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gathering.fleet(sources(servers))
