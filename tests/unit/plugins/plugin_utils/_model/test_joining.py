# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor, Image
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host, HostClass
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.joining import (
    Guests,
    joined,
    refuse_strangers,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import (
    Allocation,
    CellPlace,
    Server,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.topology import (
    NumaCell,
    Topology,
)

FLAVOR = Flavor("f", 2, 1024, {})
PLACES = (CellPlace(0, {0: 4}),)


def server(name: str = "a", host: str = "h1", **more: t.Any) -> Server:
    return Server(name, name, host, **{"flavor": FLAVOR, **more})


def test_a_later_source_tells_what_an_earlier_leaves_open() -> None:
    image = Image("i", {})
    first = Guests((server(where="one"), server("b")))
    second = Guests((server(status="ERROR", image=image, places=PLACES, where="two"),))
    assert joined([first, second]).servers == (
        server(image=image, places=PLACES, where="one"),
        server("b"),
    )


def test_an_inferred_flavor_is_taken_only_where_no_other_is() -> None:
    inferred = Guests(
        (server(flavor=Flavor("f", 2, 1024, {"a": "b"}), places=PLACES),), (), frozenset(), True
    )
    (found,) = joined([inferred, Guests((server(),))]).servers
    assert (found.flavor, found.places) == (FLAVOR, PLACES)
    assert joined([inferred]).servers == inferred.servers


def test_allocations_go_to_the_servers_on_their_hosts() -> None:
    held = {"PCPU": 2}
    ours, elsewhere = Allocation("a", "h1", held), Allocation("a", "h2", held)
    stranger = Allocation("x", "h1", held)
    told = Guests((), (ours, elsewhere, stranger), frozenset({"h1", "h2"}))
    found = joined([Guests((server(), server("b"), server("c", "h3"))), told])
    assert [one.allocation for one in found.servers] == [held, {}, None]
    assert found.allocations == (elsewhere, stranger)


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([Guests((server(where="f: x"), server(where="f: y")))], "f: y: the server 'a' is given"),
        (
            [Guests((server(where="one"),)), Guests((server(host="h2", where="two"),))],
            "two: the server 'a' is on 'h2'; accepted: 'h1' as in one",
        ),
        ([Guests((), (Allocation("x", "h", {}),) * 2)], "what 'x' holds on 'h' is given twice"),
        (
            [Guests((server(allocation={}),), (Allocation("a", "h1", {}),))],
            "what the server 'a' holds is given twice",
        ),
    ],
)
def test_sources_that_contradict_are_refused(sources: list[Guests], message: str) -> None:
    with pytest.raises(InputError, match=message):
        joined(sources)


def test_hosts_and_cells_have_to_be_there() -> None:
    hosts = [HostClass(Host("h1", "34.0.0", Topology((NumaCell(0, (), 1),), 0, 0)), ("h1",))]
    refuse_strangers(Guests((server(places=PLACES), server("b", ""))), hosts)
    for guests, message in (
        (
            Guests((server(host="h11", where="f"),)),
            "f: the server 'a' is on the unknown host 'h11' .nearest: h1",
        ),
        (Guests((server(places=(CellPlace(1),)),)), "in cell 1; accepted: cells of h1: 0"),
        (Guests((), (Allocation("x", "h2", {}),)), "the consumer 'x' is on the unknown host 'h2'"),
    ):
        with pytest.raises(InputError, match=message):
            refuse_strangers(guests, hosts)
