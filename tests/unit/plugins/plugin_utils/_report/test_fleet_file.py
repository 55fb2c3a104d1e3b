# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
import json
import pathlib
import re
import typing as t
import urllib.parse

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read import files
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import documents
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.cloud_api import NEEDS
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.fleet_file import (
    Wish,
    fleet_info,
)

if t.TYPE_CHECKING:
    from collections.abc import Callable

FACTS = {
    "topology": {"online": "0-7", "cells": [{"id": 0, "cpus": "0-7", "memory_mb": 4096}]},
    "nova": {
        "options": {
            "compute.cpu_shared_set": {"value": "0-3", "where": "nova.conf:2"},
            "compute.cpu_dedicated_set": {"value": "4-7", "where": "nova.conf:3"},
        }
    },
}
KEYS = {name: f"00000000-0000-4000-8000-00000000000{i}" for i, name in enumerate("abc")}
PINNED = {"hw:cpu_policy": "dedicated"}
SIZE = {"vcpus": 2, "ram": 512, "disk": 1, "swap": ""}
FLAVOR = {
    "id": "a flavor",
    "name": "pinned",
    **SIZE,
    "OS-FLV-EXT-DATA:ephemeral": 0,
    "extra_specs": PINNED,
    "description": "secret",
}
EMBEDDED = {"original_name": "pinned", **SIZE, "swap": 0, "ephemeral": 0, "extra_specs": PINNED}


def server(key: str, host: str | None, **more: t.Any) -> dict[str, t.Any]:
    """Make a server as the compute API shows it."""
    return {
        "id": key,
        "name": f"server {key}",
        "status": "ACTIVE",
        "flavor": EMBEDDED,
        "image": {"id": "i1", "links": []},
        "OS-EXT-SRV-ATTR:host": host,
        "OS-EXT-SRV-ATTR:user_data": "secret",
        "metadata": {"a": "secret"},
        "addresses": {"net": [{"addr": "secret"}]},
        "tenant_id": "secret",
        **more,
    }


def inventory(total: int) -> dict[str, t.Any]:
    return {"total": total, "reserved": 0, "allocation_ratio": 1.0}


def provider(key: str, **held: dict[str, int]) -> dict[str, t.Any]:
    """Make what Placement answers of a provider."""
    path = f"placement/resource_providers/{key}"
    return {
        f"{path}/inventories": {"inventories": {"VCPU": inventory(4), "PCPU": inventory(4)}},
        f"{path}/usages": {"usages": {"PCPU": 2, "VCPU": 0}},
        f"{path}/traits": {"traits": ["HW_CPU_X86_VMX", "CUSTOM_A"]},
        f"{path}/aggregates": {"aggregates": ["g1"]},
        f"{path}/allocations": {
            "allocations": {name: {"resources": amounts} for name, amounts in held.items()}
        },
    }


ANSWERS: dict[str, t.Any] = {
    "compute/os-hypervisors/detail": {
        "hypervisors": [
            {
                "id": KEYS[name],
                "hypervisor_hostname": f"{name}.example.org",
                "hypervisor_type": "QEMU",
                "state": "up",
                "status": "enabled",
                "service": {"host": name},
                "cpu_info": "secret",
            }
            for name in KEYS
        ]
    },
    "compute/os-services": {
        "services": [{"host": name, "state": "up", "status": "enabled"} for name in KEYS]
    },
    "compute/os-aggregates": {
        "aggregates": [
            {"uuid": "g1", "name": "fast", "hosts": ["a", "b"], "metadata": {"a": "secret"}}
        ]
    },
    "compute/flavors/detail": {"flavors": [FLAVOR, {**FLAVOR, "id": "2", "name": "another"}]},
    "compute/servers/detail": {
        "servers": [server("s1", "a"), server("s2", "b"), server("s3", "c"), server("s4", None)]
    },
    "image/images": {
        "images": [
            {"id": "i1", "name": "special", "status": "active", "hw_cpu_policy": "dedicated"},
            {
                "id": "i2",
                "name": "special",
                "status": "active",
                "hw_rng_model": "virtio",
                "x": "secret",
            },
            {"id": "i3", "name": "plain", "status": "active", "os_admin_user": "secret"},
            {"id": "i4", "name": "queued", "status": "queued", "hw_cpu_policy": "shared"},
        ]
    },
    "placement/resource_providers": {
        "resource_providers": [
            {"uuid": key, "root_provider_uuid": key, "name": f"{name}.example.org"}
            for name, key in KEYS.items()
        ]
    },
    **provider(KEYS["a"], s1={"PCPU": 2}, gone={"PCPU": 1}),
    **provider(KEYS["b"]),
    **provider(KEYS["c"]),
}


class Recorded:
    """Answers as a cloud did, in pages of ``page`` items."""

    def __init__(self, page: int = 1000, **newest: t.Any) -> None:
        self.answers = copy.deepcopy(ANSWERS)
        self.asked: list[str] = []
        self._page = page
        self._newest: dict[str, tuple[int, int]] = {
            "compute": (2, 100),
            "placement": (1, 39),
            **newest,
        }

    def newest(self, service: str) -> tuple[int, int]:
        return self._newest[service]

    def get(self, service: str, path: str, version: str) -> tuple[int, str]:
        self.asked.append(f"{service} {version} {path}")
        place, _mark, query = path.partition("?")
        answer = self.answers[service + place]
        if isinstance(answer, int):
            return answer, "Forbidden\nby policy"
        if isinstance(answer, str):
            return 200, answer
        fields = dict(urllib.parse.parse_qsl(query))
        if fields.get("os_hidden") == "true":
            answer = {"images": []}
        if "limit" in fields and isinstance(next(iter(answer.values())), list):
            answer = self._paged(dict(answer), fields.get("marker"))
        return 200, json.dumps(answer)

    def _paged(self, answer: dict[str, t.Any], marker: str | None) -> dict[str, t.Any]:
        ((name, items),) = answer.items()
        start = 0
        if marker is not None:
            start = [item["id"] for item in items].index(marker) + 1
        page = {name: items[start : start + self._page]}
        if start + self._page < len(items):
            page |= {f"{name}_links": [{"rel": "next"}], "next": "/v2/images"}
        return page


@pytest.fixture
def read(tmp_path: pathlib.Path) -> Callable[..., tuple[dict[str, t.Any], dict[str, t.Any]]]:
    """Give a function that reads a cloud, and gives the result and the document of the fleet."""

    def run(
        api: Recorded, facts: t.Any = None, **more: t.Any
    ) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
        path = tmp_path / "fleet.json"
        facts = {"a": FACTS, "b": FACTS} if facts is None else facts
        result = fleet_info(facts, api, Wish(str(path), **more), lambda _line: None)
        return result, json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    return run


Read = t.Callable[..., tuple[dict[str, t.Any], dict[str, t.Any]]]


def test_a_cloud_becomes_a_file_that_is_read_as_a_fleet(read: Read) -> None:
    result, found = read(Recorded())
    assert result["unread"] == []
    assert result["summary"] == {
        "hosts": 2, "flavors": 2, "images": 2, "servers": 3, "allocations": 1,
    }  # fmt: skip
    assert found["hosts"] == [
        {
            "names": ["a", "b"],
            **FACTS,
            "traits": ["CUSTOM_A", "HW_CPU_X86_VMX"],
            "aggregates": ["fast"],
        }
    ]
    assert [flavor["name"] for flavor in found["flavors"]] == ["another", "pinned"]
    assert found["allocations"] == [{"consumer": "gone", "host": "a", "resources": {"PCPU": 1}}]
    fleet = documents.fleet(found)
    assert [(each.id, each.host, each.allocation) for each in fleet.servers] == [
        ("s1", "a", {"PCPU": 2}),
        ("s2", "b", {}),
        ("s4", "", None),
    ]
    assert fleet.servers[0].image.properties == {"hw_cpu_policy": "dedicated"}
    assert fleet.servers[0].flavor == fleet.flavors[1]


def test_nothing_but_what_is_named_gets_into_the_file(read: Read) -> None:
    result, found = read(Recorded())
    assert "secret" not in json.dumps([result, found])


def test_what_is_left_out_is_told(read: Read) -> None:
    result, found = read(Recorded(), {"a": FACTS, "x": FACTS})
    assert result["hosts_without_facts"] == ["b", "c"]
    assert result["hosts_unknown"] == ["x"]
    assert result["servers_elsewhere"] == {"b": 1, "c": 1}
    assert documents.fleet(found).servers_left_out == 2
    for text in ("hosts of the cloud without facts: b, c", "1 server on c, of which"):
        assert text in result["report"]


@pytest.mark.parametrize("page", [1, 2, 3, 4])
def test_every_page_is_read(read: Read, page: int) -> None:
    result, _found = read(Recorded(page))
    assert (result["summary"]["servers"], result["summary"]["flavors"]) == (3, 2)


def test_a_page_without_end_is_told(read: Read) -> None:
    api = Recorded()
    api.answers["compute/servers/detail"] |= {"servers_links": [{"rel": "next"}]}
    api._paged = lambda answer, marker: answer  # type: ignore[method-assign]
    assert "servers: a page comes again" in read(api)[0]["unread"][0].replace(
        "Nova, GET /servers/detail: ", ""
    )


def test_the_file_is_private_and_written_once(read: Read, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "fleet.json"
    assert read(Recorded(), check=True)[0]["changed"]
    assert not path.exists()
    first, _found = read(Recorded(), diff=True)
    assert (first["changed"], first["diff"][0]["before"]) == (True, "")
    assert path.stat().st_mode & 0o777 == 0o600
    again = Recorded()
    for name in ("servers", "flavors"):
        again.answers[f"compute/{name}/detail"][name].reverse()
    assert read(again)[0]["changed"] is False


def test_a_file_that_nothing_could_read_is_not_written(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", 1000)
    with pytest.raises(InputError, match=r"fleet.json: the file would have \d+ bytes"):
        read(Recorded())


FORBIDDEN = {
    "compute/os-hypervisors/detail": ("hypervisors", "Nova, GET /os-hypervisors/detail"),
    "compute/os-services": ("services", "Nova, GET /os-services"),
    "compute/os-aggregates": ("aggregates", "Nova, GET /os-aggregates"),
    "compute/flavors/detail": ("flavors", "Nova, GET /flavors/detail"),
    "compute/servers/detail": ("servers", "Nova, GET /servers/detail"),
    "image/images": ("images", "Glance, GET /images"),
    "placement/resource_providers": ("providers", "Placement, GET /resource_providers"),
}


@pytest.mark.parametrize("path", FORBIDDEN)
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (403, "the user may not read this (status 403); accepted: "),
        (404, "there is no such API (status 404)"),
        (503, "it failed (status 503)"),
        ("<html>", "the answer is not "),
        ("[" * 100_000, "the answer is not "),
        ("[1]", "the answer is not "),
    ],
)
def test_what_cannot_be_read_is_one_line_and_the_rest_goes_on(
    read: Read, path: str, answer: t.Any, reason: str
) -> None:
    api = Recorded()
    api.answers[path] = answer
    result, found = read(api)
    part, where = FORBIDDEN[path]
    (line,) = [line for line in result["unread"] if line.startswith(part)]
    assert line.startswith(f"{part}: {where}: {reason}")
    assert "\n" not in line
    assert len(line) < 400
    assert documents.fleet(found).classes


@pytest.mark.parametrize(
    ("path", "change", "reason"),
    [
        (
            "compute/flavors/detail",
            {"flavors": [{"id": "1", "name": "x", "vcpus": "2", "ram": 1}]},
            "vcpus",
        ),
        ("compute/flavors/detail", {"flavors": {"a": 1}}, "flavors: "),
        ("compute/servers/detail", {"servers": [{"id": "../x", "flavor": {}}]}, "servers"),
        ("compute/servers/detail", {"servers": [server("s1", "a", status="\x1b[2J")]}, "no status"),
        ("compute/servers/detail", {"servers": [5]}, "5 is no mapping"),
        ("compute/os-hypervisors/detail", {"hypervisors": [{"id": "1"}]}, "service"),
        ("image/images", {"images": [{"id": "i1", "status": "active", "hw_x": {}}]}, "hw_x"),
        ("placement/resource_providers", {"resource_providers": [{"name": "a"}]}, "uuid"),
    ],
)
def test_a_malformed_item_is_one_line(read: Read, path: str, change: t.Any, reason: str) -> None:
    api = Recorded()
    api.answers[path] = change
    result, _found = read(api)
    assert reason in result["unread"][0]
    assert result["unread"][0].isprintable()


def test_hostile_names_stay_names(read: Read) -> None:
    api = Recorded()
    name = "\ud800\x1b[2J\n{{ x }}"
    api.answers["compute/servers/detail"]["servers"][0]["name"] = name
    api.answers["compute/os-aggregates"]["aggregates"][0] |= {"name": name, "uuid": "g2"}
    api.answers["image/images"]["images"][0]["name"] = name * 100
    result, found = read(api)
    assert result["unread"] == []
    assert documents.fleet(found).servers[0].name == name
    assert "??[2J {{ x }} there" in result["report"]
    assert "\x1b" not in result["report"]


def test_extra_specs_that_are_withheld_are_told(read: Read) -> None:
    api = Recorded()
    for flavor in api.answers["compute/flavors/detail"]["flavors"]:
        del flavor["extra_specs"]
    for each in api.answers["compute/servers/detail"]["servers"]:
        each["flavor"] = {k: v for k, v in EMBEDDED.items() if k != "extra_specs"}
    result, found = read(api)
    assert "flavors" not in found
    assert found["servers"] == []
    assert result["unread"][0].startswith("flavors: Nova: the user may not read extra specs")
    assert "nothing tells the extra specs of 3" in result["unread"][1]
    assert [each["consumer"] for each in found["allocations"]] == ["gone"]


def test_hosts_of_servers_that_are_withheld_are_told(read: Read) -> None:
    api = Recorded()
    del api.answers["compute/servers/detail"]["servers"][0]["OS-EXT-SRV-ATTR:host"]
    result, found = read(api)
    assert "may not read the hosts of servers" in result["unread"][0]
    assert "allocations: left out" in result["unread"][1]
    assert not {"servers", "allocations"} & found.keys()


def test_servers_in_cells_that_do_not_answer_are_counted(read: Read) -> None:
    api = Recorded()
    dark = {"id": "s9", "status": "UNKNOWN", "tenant_id": "x", "created": "x", "links": []}
    api.answers["compute/servers/detail"]["servers"].append(dark)
    result, found = read(api)
    assert result["unread"][0].startswith("servers: 1 are in cells that do not answer")
    assert "allocations" not in found


def test_what_a_server_elsewhere_holds_is_no_leak(read: Read) -> None:
    api = Recorded()
    path = f"placement/resource_providers/{KEYS['a']}/allocations"
    api.answers[path]["allocations"]["s3"] = {"resources": {"PCPU": 2}}
    result, found = read(api)
    assert [each["consumer"] for each in found["allocations"]] == ["gone"]
    assert result["unread"] == [
        "allocations: left out what 1 server on hosts without facts hold here, on the move as it "
        "seems: s3"
    ]


def test_a_provider_that_fails_leaves_its_host_untold(read: Read) -> None:
    api = Recorded()
    api.answers[f"placement/resource_providers/{KEYS['b']}/usages"] = 404
    result, found = read(api)
    assert f"{KEYS['b']}/usages: there is no such API" in result["unread"][0]
    assert [("traits" in host) for host in found["hosts"]] == [True, False]
    assert ["allocation" in each for each in found["servers"]] == [True, False, False]


def test_providers_that_all_fail_are_not_asked_for_one_by_one(read: Read) -> None:
    api = Recorded()
    shown = api.answers["compute/os-hypervisors/detail"]["hypervisors"][0]
    roots = api.answers["placement/resource_providers"]["resource_providers"]
    names = [f"h{number}" for number in range(9)]
    for name in names:
        service = {"hypervisor_hostname": name, "service": {"host": name}, "id": name}
        api.answers["compute/os-hypervisors/detail"]["hypervisors"].append({**shown, **service})
        roots.append({"uuid": name, "root_provider_uuid": name, "name": name})
        api.answers[f"placement/resource_providers/{name}/inventories"] = 403
    result, _found = read(api, dict.fromkeys(names, FACTS))
    assert len(result["unread"]) == 6
    assert result["unread"][-1] == "providers: 4 more hosts were not asked for"


def test_a_host_that_placement_lacks_is_told(read: Read) -> None:
    api = Recorded()
    del api.answers["placement/resource_providers"]["resource_providers"][1]
    assert read(api)[0]["unread"] == ["providers: Placement has none of host b"]


@pytest.mark.parametrize(
    ("newest", "line"),
    [
        ({"compute": (2, 60)}, "flavors: Nova knows microversions up to 2.60; accepted: 2.61"),
        (
            {"placement": (1, 10)},
            "providers: Placement knows microversions up to 1.10; accepted: 1.17",
        ),
    ],
)
def test_a_microversion_that_is_missing_is_told(
    read: Read, newest: dict[str, t.Any], line: str
) -> None:
    result, _found = read(Recorded(**newest), release="20.0.0")
    assert result["unread"][0].startswith(line)


def test_what_is_asked_for_is_what_is_known_here(read: Read) -> None:
    api = Recorded(compute=(2, 999), placement=(1, 999))
    read(api, release="34.0.0")
    assert {line.rsplit(" ", 1)[0] for line in api.asked} == {
        "compute 2.53", "compute 2.41", "compute 2.98", "image ", "placement 1.36",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("newest", "given", "release", "note"),
    [
        ((2, 100), None, "31.0.0", "as of Nova 31.0.0 and 32.0.0; 31.0.0 is taken"),
        ((2, 100), "32.1.0", "32.1.0", ""),
        ((2, 100), "2024.1", "29.0.0", "but release is 29.0.0"),
        ((2, 101), "34.0.0", "34.0.0", ""),
    ],
)
def test_the_release_is_held_against_the_microversion(
    read: Read, newest: tuple[int, int], given: str | None, release: str, note: str
) -> None:
    result, found = read(Recorded(compute=newest), release=given)
    assert found["scheduler"] == {"release": release}
    assert note in " ".join(result["notes"])
    assert bool(note) == bool(result["notes"])


def test_what_no_api_tells_comes_from_the_wish(read: Read) -> None:
    _result, found = read(
        Recorded(), disable_fallback_pcpu_query=True, numa_topology_filter=False, allocated=True
    )
    assert found["scheduler"] == {
        "release": "31.0.0", "disable_fallback_pcpu_query": True, "numa_topology_filter": False,
    }  # fmt: skip
    assert found["hosts"][0]["allocated"] == {"PCPU": 2}


def test_a_server_keeps_the_flavor_and_image_that_it_was_booted_with(read: Read) -> None:
    api = Recorded()
    old = {**EMBEDDED, "extra_specs": {**PINNED, "hw:numa_nodes": "1"}}
    image = {"id": "deleted", "properties": {"hw_cpu_policy": "shared", "base": "secret"}}
    api.answers["compute/servers/detail"]["servers"] = [
        server("s1", "a", flavor=old, image=image),
        server("s2", "a", image=""),
        server("s3", "a", image={"id": "i3"}),
    ]
    _result, found = read(api)
    first, volume, plain = found["servers"]
    assert first["flavor"]["extra_specs"] == old["extra_specs"]
    assert first["image"] == {"name": "deleted", "properties": {"hw_cpu_policy": "shared"}}
    assert "image" not in volume
    assert plain["image"] == {"name": "plain"}


def test_placement_is_held_against_the_facts(read: Read) -> None:
    api = Recorded()
    path = f"placement/resource_providers/{KEYS['b']}"
    api.answers[f"{path}/inventories"]["inventories"]["PCPU"]["total"] = 2
    api.answers[f"{path}/aggregates"]["aggregates"] = []
    api.answers["compute/os-services"]["services"][1] |= {"state": "down"}
    result, _found = read(api)
    assert result["deviations"] == [
        {
            "host": "b",
            "differences": [
                "PCPU has total 2, predicted is 4",
                "it is not in aggregate fast there",
            ],
        }
    ]
    assert result["hosts_not_up"] == {"b": "down"}


@pytest.mark.parametrize(
    ("facts", "names", "message"),
    [
        (
            {"x": FACTS},
            {},
            "no host with facts is in the cloud; accepted: hosts of the cloud .a, b",
        ),
        ({"a": FACTS, "a.example.org": FACTS}, {}, "'a' is the nova-compute of a too"),
        ({"a": {"topology": {}}}, {}, "host a: "),
        ({}, {}, "there is no host"),
    ],
)
def test_facts_that_cannot_be_used_are_refused(
    read: Read, facts: t.Any, names: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(Recorded(), facts, names=names)


def test_hosts_may_have_other_names(read: Read) -> None:
    _result, found = read(Recorded(), {"rack1": FACTS}, names={"rack1": "B.example.org"})
    assert found["hosts"][0]["name"] == "rack1"
    assert [each["id"] for each in found["servers"]] == ["s2", "s4"]


def test_a_short_name_of_several_hosts_is_refused(read: Read) -> None:
    api = Recorded()
    for index, each in enumerate(api.answers["compute/os-hypervisors/detail"]["hypervisors"]):
        each["hypervisor_hostname"] = each["service"]["host"] = f"a.site{index}"
    with pytest.raises(InputError, match="'a' stands for several hypervisors"):
        read(api, {"a": FACTS})


def test_bare_metal_is_passed_over(read: Read) -> None:
    api = Recorded()
    node = {**api.answers["compute/os-hypervisors/detail"]["hypervisors"][2]}
    node |= {"hypervisor_type": "ironic", "service": {"host": "a"}}
    api.answers["compute/os-hypervisors/detail"]["hypervisors"][2] = node
    assert read(api)[0]["hosts_without_facts"] == []


def test_the_guide_tells_the_microversions() -> None:
    guide = pathlib.Path(__file__).parents[5] / "docs" / "live-cloud.md"
    rows = re.findall(
        r"(?m)^\| `(\w+)` \|.*?\| ([\d.]*) ?\| ([\d.]*) ?\|", guide.read_text("utf-8")
    )
    told = {part: (least, newest) for part, least, newest in rows if part in NEEDS}
    assert told == {
        part: tuple(
            ".".join(map(str, version)) if any(version) else ""
            for version in (need.oldest, need.best)
        )
        for part, need in NEEDS.items()
    }


def test_a_place_that_cannot_be_is_refused_before_anything_is_asked(
    tmp_path: pathlib.Path,
) -> None:
    api = Recorded()
    with pytest.raises(InputError, match=r"path: .*the folder does not exist"):
        fleet_info({"a": FACTS}, api, Wish(str(tmp_path / "no" / "fleet.json")), print)
    assert api.asked == []
