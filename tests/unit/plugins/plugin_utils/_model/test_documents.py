# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import documents
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    CellUsage,
    Isolation,
    PagesInUse,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host_kernel import isolation
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import (
    Allocation,
    CellPlace,
    Server,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.topology import Cpu, PagePool

FACTS: dict[str, t.Any] = {
    "format": 1,
    "release": "27.1.0",
    "topology": {
        "online": "0-7",
        "present": "0-8",
        "isolated": "",
        "cells": [
            {"id": 0, "cpus": "0-1,4-5", "memory_mb": 1024, "pages": {"2048": 8, "4": 100}},
            {"id": 2, "cpus": "2-3,6-7", "memory_mb": 2048},
            {"id": 3, "cpus": "", "memory_mb": 512},
        ],
        "siblings": ["0,4", "1,5", "2,6"],
        "sockets": {"0": "0-1,4-5", "1": "2-3,6-7"},
    },
    "nova": {
        "options": {
            "compute.cpu_dedicated_set": {"value": "2-3", "where": "/etc/nova/nova.conf:12"},
            "reserved_host_cpus": "x",
        },
        "strays": [{"key": "cpu_dedicated_set", "section": "DEFAULT"}],
        "files": ["/etc/nova/nova.conf"],
    },
    "kernel": {"cmdline": {"isolcpus": "managed_irq,domain,2-3", "nohz_full": "2-N"}},
    "tuned": {"profile": "cpu-partitioning", "isolated_cores": "2-4,^4"},
    "data_path_cpus": "0,4",
}


def changed(path: tuple[str | int, ...], value: object) -> dict[str, t.Any]:
    """Copy the facts with one value replaced, or added."""
    facts = copy.deepcopy(FACTS)
    place: t.Any = facts
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return facts


def test_a_host_is_built_from_its_facts() -> None:
    host = documents.host(FACTS, "compute-1", "34.0.0")
    assert (host.name, host.release) == ("compute-1", "27.1.0")
    assert [cell.id for cell in host.topology.cells] == [0, 2, 3]
    first, second, third = host.topology.cells
    assert first.cpus[0] == Cpu(0, (0, 4), 0)
    assert second.cpus[1] == Cpu(3, (3,), 1)
    assert first.pages == (PagePool(4, 100), PagePool(2048, 8))
    assert (third.cpus, third.memory_mb) == ((), 512)
    assert (host.topology.online, host.topology.present) == (0xFF, 0x1FF)
    assert host.topology.isolated == 0
    assert host.config.cpu_dedicated_set == "2-3"
    assert [fault.option for fault in host.config.faults] == ["reserved_host_cpus"]
    assert host.isolation == Isolation(
        domain=0b1100, managed_irq=0b1100, nohz_full=0x1FC, tuned_isolated=0b1100
    )
    assert host.data_path_cpus == 0b10001


def test_what_may_be_left_out() -> None:
    host = documents.host({"topology": {"online": "0", "cells": []}}, "a", "30.0.0")
    assert (host.release, host.topology.present, host.topology.isolated) == ("30.0.0", 1, None)
    assert host.isolation is None


def test_yaml_spells_lists_and_releases_of_one_number_without_quotes() -> None:
    facts = {
        "release": 2025.1,
        "topology": {"online": 0, "cells": [{"id": 0, "cpus": 0, "memory_mb": 1, "pages": {4: 2}}]},
    }
    host = documents.host(facts, "a", "30.0.0")
    assert host.release == "2025.1"
    assert host.topology.cells[0].pages == (PagePool(4, 2),)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            ("topology", "cells", 0, "memory_mb"),
            "abc",
            "topology.cells[0].memory_mb: 'abc' is not of type integer; accepted: integer, at least"
            " 0 (Memory of the cell, MiB)",
        ),
        (
            ("topology", "cells", 0, "memory_mb"),
            -1,
            "topology.cells[0].memory_mb: -1 is less than 0",
        ),
        (("topology", "cells", 0, "memory_mb"), 1.0, "1.0 is not of type integer"),
        (("topology", "cells", 0, "id"), True, "True is not of type integer"),
        (
            ("topology", "cells", 0, "memry_mb"),
            1,
            "topology.cells[0].memry_mb: unknown key (nearest: memory_mb); accepted: id, cpus,",
        ),
        (
            ("topology", "cells", 1, "cpus"),
            "1-3",
            "topology.cells[1].cpus: CPU 1 is in another cell",
        ),
        (("topology", "cells", 2, "cpus"), "8", "topology.cells[2].cpus: CPU 8 is not online"),
        (("topology", "cells", 2, "cpus"), "x", "topology.cells[2].cpus: 'x'"),
        (("topology", "cells", 2, "cpus"), "0-99999999999", "topology.cells[2].cpus: "),
        (("topology", "cells", 2, "id"), 0, "topology.cells[2].id: cell 0 is given twice"),
        (("topology", "cells"), 3, "topology.cells: 3 is not of type array"),
        (("topology", "present"), "0-6", "topology.online: CPU 7 is not present"),
        (("topology", "siblings", 1), "0,5", "topology.siblings[1]: CPU 0 is in another core"),
        (("topology", "siblings", 1), "1,9", "topology.siblings[1]: CPU 9 is not online"),
        (("topology", "sockets", "1"), "0", "topology.sockets['1']: CPU 0 is in another socket"),
        (
            ("topology", "cells", 0, "pages"),
            {"4k": 1},
            "topology.cells[0].pages: '4k' is no key here",
        ),
        (("format",), 2, "format: 2 is another version; accepted: 1"),
        (("nova", "options", "cpu_dedicated_set"), "1", "(nearest: compute.cpu_dedicated_set)"),
        (("nova", "options", "vcpu_pin_set"), {"where": "a:1"}, "the key 'value' is missing"),
        (("nova", "options", "vcpu_pin_set"), {"value": None}, "nova.options.vcpu_pin_set.value: "),
        (("data_path_cpus",), "5-2", "data_path_cpus: "),
        (("topology",), None, "topology: None is not of type object"),
        (("usage",), [], "usage: unknown key"),
    ],
)
def test_bad_facts_are_refused_by_the_path_of_the_bad_key(
    path: tuple[str | int, ...], value: object, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        documents.host(changed(path, value), "compute-1", "34.0.0", "compute-1.json")
    assert str(caught.value).startswith("compute-1.json: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, Isolation()),
        ({"isolcpus": "2-3"}, Isolation(domain=0b1100)),
        ({"isolcpus": "nohz,2"}, Isolation(nohz=0b100)),
        ({"isolcpus": "managed_irq,"}, Isolation(flags_without_cpus=True)),
        ({"isolcpus": "domain,"}, Isolation(flags_without_cpus=True)),
        ({"isolcpus": ["1", "2"]}, Isolation(domain=0b10)),
        ({"isolcpus": "9-2"}, Isolation()),
        ({"isolcpus": "2-N"}, Isolation(domain=0b1100)),
        ({"nohz_full": "x"}, Isolation()),
        ({"nohz_full": None, "isolcpus": None}, Isolation()),
    ],
)
def test_isolation_by_the_kernel(arguments: dict[str, t.Any], expected: Isolation) -> None:
    assert isolation({"cmdline": arguments}, None, 3) == expected


@pytest.mark.parametrize(
    ("cores", "expected"), [("1-3,^2", 0b1010), ("0x5,1", 0b111), ("${f:x}", None), (2, 0b100)]
)
def test_isolation_by_tuned(cores: str | int, expected: int | None) -> None:
    found = isolation(None, {"isolated_cores": cores}, 3)
    assert found == Isolation(tuned_isolated=expected, arguments_known=False)


def entry(**more: object) -> dict[str, t.Any]:
    return {**FACTS, **more}


def test_a_fleet_groups_equal_hosts() -> None:
    usage = {
        "cell": 0,
        "pinned_cpus": "0,8",
        "cpu_usage": 2,
        "memory_usage_mb": 8,
        "pages": {"4": 3},
    }
    fleet = documents.fleet(
        {
            "format": 1,
            "scheduler": {"release": "34.0.0", "disable_fallback_pcpu_query": True},
            "hosts": [
                entry(name="a"),
                entry(names=["b", "c"]),
                entry(
                    name="d",
                    usage=[usage],
                    allocated={"VCPU": 4},
                    traits=["CUSTOM_A"],
                    aggregates=["pinned"],
                ),
                entry(name="e"),
            ],
            "flavors": [{"name": "f", "vcpus": 1, "ram": 2, "extra_specs": {"a": True, "b": None}}],
            "images": [{"name": "i", "properties": {"hw_numa_nodes": 2, "x": None}}],
        },
        where="fleet.yml",
    )
    assert [found.names for found in fleet.classes] == [("a", "b", "c", "e"), ("d",)]
    assert (fleet.scheduler.release, fleet.scheduler.numa_topology_filter) == ("34.0.0", True)
    assert fleet.scheduler.disable_fallback_pcpu_query
    used = fleet.classes[1].host
    assert used.usage == (CellUsage(0, 0x101, 2, 8, (PagesInUse(4, 3),)),)
    assert (used.allocated, set(used.traits)) == ({"VCPU": 4}, {"CUSTOM_A"})
    assert set(used.aggregates) == {"pinned"}
    (flavor,) = fleet.flavors
    assert (flavor.extra_specs, flavor.where) == ({"a": "True"}, "fleet.yml: flavors[0]")
    assert fleet.images[0].properties == {"hw_numa_nodes": 2}


def test_hosts_without_release_have_that_of_the_scheduler() -> None:
    bare = {key: value for key, value in FACTS.items() if key != "release"}
    document: dict[str, t.Any] = {"hosts": [{**bare, "name": "a"}]}
    assert documents.fleet(document, "31.0.0").classes[0].host.release == "31.0.0"
    document["scheduler"] = {"release": "30.0.0"}
    assert documents.fleet(document, "31.0.0").classes[0].host.release == "30.0.0"


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        ([], "hosts: the list is empty"),
        ([3], "hosts[0]: 3 is not of type object"),
        ({}, "hosts: {} is not of type array"),
        ([entry(name="a"), entry(name="a")], "hosts[1]: there are two hosts 'a'"),
        ([entry(names=["a", "a"])], "hosts[0]: there are two hosts 'a'"),
        ([entry(names=[])], "hosts[0].names: the list is empty"),
        ([entry()], "hosts[0]: one of the keys name and names"),
        (
            [entry(name="a"), entry(name="b", names=["c"])],
            "hosts[1]: one of the keys name and names",
        ),
        ([entry(name="a"), entry(name=3)], "hosts[1].name: 3 is not of type string"),
        ([entry(name="a"), entry(names="b")], "hosts[1].names: 'b' is not of type array"),
        ([entry(name="a"), entry(names=["b", ""])], "hosts[1].names[1]: the text is empty"),
        ([entry(name="a"), entry(name="b", usge=1)], "hosts[1].usge: unknown key (nearest: usage)"),
        (
            [entry(name="a"), entry(name="b", usage=[{"cell": 1}])],
            "hosts[1].usage[0].cell: the host has no cell 1; accepted: 0, 2, 3",
        ),
        (
            [entry(name="a", usage=[{"cell": 0}] * 2)],
            "hosts[0].usage[1].cell: cell 0 is given twice",
        ),
        (
            [entry(name="a", usage=[{"cell": 0, "pinned_cpus": "2"}])],
            "hosts[0].usage[0].pinned_cpus: CPU 2 is not in cell 0",
        ),
        (
            [entry(name="a", usage=[{"cell": 0, "pages": {"64": 1}}])],
            "hosts[0].usage[0].pages['64']: cell 0 has no pages of this size; accepted: 4, 2048",
        ),
        ([entry(name="a", allocated={"vcpu": 1})], "hosts[0].allocated: 'vcpu' is no key here"),
        ([entry(name="a", allocated={"VCPU": -1})], "hosts[0].allocated.VCPU: -1 is less than 0"),
        ([entry(name="a", traits=["avx"])], "hosts[0].traits[0]: 'avx' has another form"),
    ],
)
def test_a_bad_fleet_is_refused_by_the_path_of_the_bad_key(hosts: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        documents.fleet({"hosts": hosts}, "34.0.0", "fleet.yml")
    assert str(caught.value).startswith(f"fleet.yml: {message}")
    assert "\n" not in str(caught.value)


def test_a_fleet_needs_a_release() -> None:
    with pytest.raises(InputError, match="scheduler: the key 'release' is missing"):
        documents.fleet({"hosts": [entry(name="a")]})


def test_classes_of_named_facts() -> None:
    other = changed(("topology", "cells", 0, "memory_mb"), 1025)
    found = documents.classes([("a", FACTS), ("b", other), ("c", FACTS)], "34.0.0")
    assert [(each.host.name, each.names) for each in found] == [("a", ("a", "c")), ("b", ("b",))]


def test_an_empty_inventory_says_so() -> None:
    with pytest.raises(InputError, match=r"^facts: there is no host"):
        documents.classes([], "34.0.0", "facts")


def test_bad_facts_among_many_name_their_host() -> None:
    with pytest.raises(InputError, match=r"^facts: host b: topology\.online: "):
        documents.classes(
            [("a", FACTS), ("b", changed(("topology", "online"), "x"))], "34", "facts"
        )


@pytest.mark.parametrize(
    ("flavor", "message"),
    [
        ({"name": "a", "vcpus": 0, "ram": 1}, "flavors[0].vcpus: 0 is less than 1"),
        (
            {"name": "a", "vcpus": 99999999999, "ram": 1},
            "flavors[0].vcpus: 99999999999 is more than",
        ),
        ({"name": "a", "vcpus": 1}, "flavors[0]: the key 'ram' is missing; accepted: Memory, MiB"),
        ({"name": "", "vcpus": 1, "ram": 1}, "flavors[0].name: the text is empty"),
        (
            {"name": "a", "vcpus": 1, "ram": 1, "extra_spec": {}},
            "flavors[0].extra_spec: unknown key",
        ),
        (
            {"name": "a", "vcpus": 1, "ram": 1, "extra_specs": {"k": []}},
            "flavors[0].extra_specs.k: ",
        ),
    ],
)
def test_a_bad_flavor_is_refused(flavor: dict[str, t.Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        documents.flavors({"flavors": [flavor]}, "flavors.yml")
    assert str(caught.value).startswith(f"flavors.yml: {message}")


def test_names_are_given_once() -> None:
    twice = [{"name": "a", "vcpus": 1, "ram": 1}] * 2
    with pytest.raises(InputError, match="'a' is given twice"):
        documents.flavors({"flavors": twice})
    with pytest.raises(InputError, match="'i' is given twice"):
        documents.images({"images": [{"name": "i"}] * 2})


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def refusal(build: t.Callable[[], object]) -> str:
    """Give the text of the error that ``build`` raises, or "" where it raises none."""
    try:
        build()
    except InputError as problem:
        return str(problem)
    return ""


def places(node: t.Any, path: tuple[str | int, ...] = ()) -> t.Iterator[tuple[str | int, ...]]:
    """List the paths to all values of a document."""
    steps = node.items() if isinstance(node, dict) else enumerate(node)
    for step, value in steps:
        yield (*path, step)
        if isinstance(value, dict | list):
            yield from places(value, (*path, step))


@given(st.sampled_from(sorted(places(FACTS), key=str)), ANY)
def test_any_value_in_the_place_of_another_is_taken_or_refused(
    path: tuple[str | int, ...], value: object
) -> None:
    facts = changed(path, value)
    for build in (
        lambda: documents.host(facts, "a", "34.0.0"),
        lambda: documents.fleet({"hosts": [{**facts, "name": "a"}]}, "34.0.0"),
    ):
        assert "\n" not in refusal(build)


@given(ANY)
def test_any_document_is_taken_or_refused(document: object) -> None:
    for build in (
        lambda: documents.topology(document),
        lambda: documents.host(document, "a", "34.0.0"),
        lambda: documents.fleet(document, "34.0.0"),
        lambda: documents.flavors(document),
        lambda: documents.images(document),
        lambda: documents.servers(document, (), ()),
    ):
        with pytest.raises(InputError):
            build()


def test_deep_documents_are_refused() -> None:
    deep: t.Any = []
    for _rest in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match="nested too deeply"):
        documents.host(deep, "a", "34.0.0")
    with pytest.raises(InputError):
        documents.host(json.loads("[" * 800 + "]" * 800), "a", "34.0.0")


FLAVORS = documents.flavors({"flavors": [{"name": "f", "vcpus": 2, "ram": 2}]})
IMAGES = documents.images({"images": [{"name": "i", "properties": {"a": "b"}}]})


def server(**more: object) -> dict[str, t.Any]:
    return {"id": "s", "host": "a", "flavor": "f", **more}


def test_servers_are_built_from_their_document() -> None:
    own_flavor = {"name": "g", "vcpus": 4, "ram": 8, "extra_specs": {"a": 1}}
    cells: list[dict[str, t.Any]] = [
        {"host_cell": 2, "pins": {"0": 3, "1": 2}, "reserved": "6-7", "page_size_kb": 4},
        {"host_cell": 0},
    ]
    (first, second), (held,) = documents.servers(
        {
            "format": 1,
            "servers": [
                server(name="n", image="i", status="SHUTOFF", cells=cells, allocation={"PCPU": 2}),
                server(id="s2", host="", flavor=own_flavor, image={"name": "i"}),
            ],
            "allocations": [{"consumer": "c", "host": "b", "resources": {"VCPU": 1}}],
        },
        FLAVORS,
        IMAGES,
        "servers.yml",
    )
    assert first == Server(
        "s",
        "n",
        "a",
        FLAVORS[0],
        IMAGES[0],
        "SHUTOFF",
        (CellPlace(2, {0: 3, 1: 2}, 0xC0, 4), CellPlace(0)),
        {"PCPU": 2},
        "servers.yml: servers[0]",
    )
    assert (second.flavor.extra_specs, second.flavor.where) == (
        {"a": "1"},
        "servers.yml: servers[1].flavor",
    )
    assert (second.image, second.places, second.allocation) == (IMAGES[0], None, None)
    assert held == Allocation("c", "b", {"VCPU": 1})


def pinned(*pins: dict[str, int]) -> dict[str, t.Any]:
    return server(cells=[{"host_cell": 0, "pins": each} for each in pins])


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        ([server(flavor="g")], r"x: servers\[0\].flavor: there is no flavor 'g'"),
        (
            [server(image="j")],
            r"x: servers\[0\].image: there is no image 'j'; accepted: the name of a known image",
        ),
        ([server(image={})], r"x: servers\[0\].image: the key 'name' is missing"),
        ([server(flavor={"name": "g", "vcpus": 0, "ram": 1})], "flavor.vcpus: 0 is less than 1"),
        ([server(), server()], r"x: servers\[1\]: the server 's' is given twice"),
        ([pinned({"2": 4})], r"cells\[0\].pins\['2'\]: the flavor 'f' has no vCPU 2"),
        ([pinned({"0": 4}, {"0": 5})], r"cells\[1\].pins\['0'\]: vCPU 0 is pinned twice"),
        ([pinned({"0": 4, "1": 4})], r"cells\[0\].pins\['1'\]: CPU 4 is taken by two vCPUs"),
        ([pinned({"01": 4})], "'01' is no key here; accepted: numbers of vCPUs"),
        ([server(cells=[{"host_cell": 0, "reserved": "x"}])], r"reserved: 'x' is no item"),
        ([server(host=None)], "host: None is not of type string"),
        ([server(allocation={"pcpu": 1})], "allocation: 'pcpu' is no key here"),
        ([{"id": "s", "host": "a"}], "the key 'flavor' is missing"),
    ],
)
def test_bad_servers_are_refused(servers: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        documents.servers({"format": 1, "servers": servers}, FLAVORS, IMAGES, "x")


def test_a_fleet_may_hold_servers_on_its_hosts() -> None:
    document = {
        "hosts": [entry(name="a")],
        "flavors": [{"name": "f", "vcpus": 2, "ram": 2}],
        "servers": [server(), server(id="s2", image="i")],
        "allocations": [
            {"consumer": "s", "host": "a", "resources": {"VCPU": 2}},
            {"consumer": "c", "host": "a", "resources": {"VCPU": 1}},
        ],
    }
    fleet = documents.fleet(document, "34.0.0", "fleet.yml", images=IMAGES)
    assert [one.allocation for one in fleet.servers] == [{"VCPU": 2}, None]
    assert fleet.servers[0].flavor is fleet.flavors[0]
    assert fleet.allocations == (Allocation("c", "a", {"VCPU": 1}),)
    document["servers"] = [server(host="b")]
    with pytest.raises(InputError, match=r"fleet\.yml: servers\[0\]: .* unknown host 'b'"):
        documents.fleet(document, "34.0.0", "fleet.yml")
