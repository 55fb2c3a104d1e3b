# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import Server
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.flavor_change import (
    Change,
    changes,
    deletions,
    refusal,
)

SPECS = {"hw:cpu_policy": "dedicated", "hw:mem_page_size": "large"}
NOW = Flavor("a", 2, 1024, SPECS, 10, id="7")


def change(wanted: Flavor, *servers: Server, told: bool = True) -> Change:
    (found,) = changes([wanted], [NOW], servers if told else None)
    return found


def flavor(**other: t.Any) -> Flavor:
    given: dict[str, t.Any] = {"extra_specs": SPECS, "disk_gb": 10, **other}
    return Flavor("a", given.pop("vcpus", 2), given.pop("memory_mb", 1024), **given)


def server(name: str = "db-1", of: Flavor = NOW) -> Server:
    return Server(f"id-{name}", name, "cmp-1", of)


def test_a_flavor_that_is_not_there_is_new() -> None:
    (found,) = changes([Flavor("b", 1, 1, {})], [NOW], None)
    assert (found.kind, found.risky, found.text) == ("create", False, "b is new")


def test_an_equal_flavor_stays() -> None:
    found = change(flavor(), server(), told=False)
    assert (found.kind, found.risky, found.text) == ("keep", False, "a stays as it is")


@pytest.mark.parametrize(
    ("other", "sizes"),
    [
        ({"vcpus": 4}, {"vcpus": (2, 4)}),
        ({"memory_mb": 2048, "disk_gb": 0}, {"ram": (1024, 2048), "disk": (10, 0)}),
        ({"ephemeral_gb": 1, "swap_mb": 2}, {"ephemeral": (0, 1), "swap": (0, 2)}),
        ({"id": "8"}, {"id": ("7", "8")}),
    ],
)
def test_other_sizes_make_another_flavor(other: dict[str, t.Any], sizes: dict[str, t.Any]) -> None:
    found = change(flavor(**other))
    assert (found.kind, found.sizes, found.risky) == ("recreate", sizes, True)
    assert "is deleted and made anew" in found.text
    assert "no server runs on it" in found.text


def test_extra_specs_change_in_place() -> None:
    wanted = flavor(extra_specs={"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0"})
    found = change(wanted)
    assert (found.kind, found.risky) == ("update", False)
    assert found.extra_specs == {
        "hw:cpu_policy": ("dedicated", "mixed"),
        "hw:mem_page_size": ("large", None),
        "hw:cpu_dedicated_mask": (None, "^0"),
    }


def test_servers_on_it_are_named() -> None:
    wanted = flavor(extra_specs={})
    other = server("web", Flavor("b", 1, 1, {}))
    found = change(wanted, server(), other, *(server(f"s{number}") for number in range(7)))
    assert found.risky
    assert len(found.servers) == 8
    assert found.text.endswith(
        "servers on it keep it as it is today until they are resized: "
        "db-1 on cmp-1, s0 on cmp-1, s1 on cmp-1, s2 on cmp-1, s3 on cmp-1 and 3 more"
    )
    assert "nobody told which servers run on it" in change(wanted, told=False).text
    assert change(wanted, told=False).risky


def test_what_is_risky_has_to_be_accepted_by_name() -> None:
    found = changes([flavor(vcpus=4), Flavor("b", 1, 1, {})], [NOW], [server()])
    told = refusal(found, [])
    assert told.startswith("a is deleted and made anew (vcpus 2 -> 4); servers on it")
    assert told.endswith("Nothing is written; to go on, name in accept: a")
    assert refusal(found, ["a"]) == ""
    assert refusal(found, ["a", "b"]) == ""
    with pytest.raises(InputError, match="accept: 'c' is none of the flavors; accepted: a, b"):
        refusal(found, ["a", "c"])


def test_servers_that_were_left_out_may_run_on_it() -> None:
    (found,) = changes([flavor(extra_specs={})], [NOW], [], 3)
    assert found.risky
    assert found.text.endswith("; servers that were left out and may run on it: 3")
    (gone,) = deletions(["a"], [NOW], [server()], 3)
    assert gone.text.endswith("db-1 on cmp-1; servers that were left out and may run on it: 3")


@pytest.mark.parametrize("wanted", [Flavor("7", 1, 1, {}), Flavor("b", 1, 1, {}, id="7")])
def test_what_a_client_would_take_for_another_flavor_is_refused(wanted: Flavor) -> None:
    with pytest.raises(InputError, match="'7' names 'a' of today too"):
        changes([wanted], [NOW], [])
    with pytest.raises(InputError, match="'b': id: 'a' names 'a' of today too"):
        changes([Flavor("b", 1, 1, {}, id="a")], [NOW], [])
    assert changes([flavor(id="a")], [NOW], [])[0].kind == "recreate"


def test_deletions_are_risky() -> None:
    (found,) = deletions(["a"], [NOW], [])
    assert (found.kind, found.risky, found.id) == ("delete", True, "7")
    assert found.text == "a is deleted; no server runs on it"


def test_a_change_is_plain_data() -> None:
    found = change(flavor(vcpus=4, extra_specs={}), server()).as_dict()
    assert found["sizes"] == {"vcpus": {"before": 2, "after": 4}}
    assert found["extra_specs"]["hw:cpu_policy"] == {"before": "dedicated", "after": None}
    assert found["servers"] == [
        {"id": "id-db-1", "name": "db-1", "host": "cmp-1", "status": "ACTIVE"}
    ]
