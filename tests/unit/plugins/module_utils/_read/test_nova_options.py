# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.nova_options import (
    OPTIONS,
    PLACES,
    default_paths,
    nova_facts,
)

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree

    Attempt = Callable[..., t.Any]
    Plant = Callable[[Mapping[str, str]], Tree]

CONF = "/etc/nova/nova.conf"


def facts(plant: Plant, text: str) -> dict[str, t.Any]:
    return nova_facts([CONF], plant({CONF[1:]: text}))


def values(plant: Plant, text: str) -> dict[str, t.Any]:
    return {name: each["value"] for name, each in facts(plant, text)["options"].items()}


def test_options_have_value_and_place(plant: Plant) -> None:
    text = "[DEFAULT]\nreserved_host_cpus=2\n[COMPUTE]\ncpu_dedicated_set = 1\n# c\n[compute]\n"
    assert facts(plant, text + 'cpu_dedicated_set: "2-7"\n') == {
        "options": {
            "reserved_host_cpus": {"value": "2", "where": f"{CONF}:2"},
            "compute.cpu_dedicated_set": {"value": "2-7", "where": f"{CONF}:7"},
        },
        "strays": [],
        "files": [CONF],
    }


def test_the_last_file_wins(plant: Plant) -> None:
    tree = plant(
        {
            "etc/nova/nova.conf": "[compute]\ncpu_shared_set=0\ncpu_dedicated_set=1\n",
            "etc/nova/d/1.conf": "[compute]\ncpu_shared_set=2\n",
            "etc/nova/d/2.conf": "[Compute]\ncpu_shared_set=\n",
        }
    )
    assert nova_facts([CONF, "/etc/nova/d"], tree) == {
        "options": {
            "compute.cpu_shared_set": {"value": "", "where": "/etc/nova/d/2.conf:2"},
            "compute.cpu_dedicated_set": {"value": "1", "where": f"{CONF}:3"},
        },
        "strays": [],
        "files": [CONF, "/etc/nova/d/1.conf", "/etc/nova/d/2.conf"],
    }


def test_all_values_of_reserved_huge_pages_count(plant: Plant) -> None:
    text = (
        "[DEFAULT]\nreserved_huge_pages = node:0,size:2048,count:64\n"
        "reserved_huge_pages = node:1,\n size:1GB,\n count:1\n"
    )
    assert facts(plant, text)["options"] == {
        "reserved_huge_pages": {
            "value": ["node:0,size:2048,count:64", "node:1,\nsize:1GB,\ncount:1"],
            "where": f"{CONF}:3",
        }
    }


def test_no_file_gives_no_option(plant: Plant) -> None:
    assert nova_facts([], plant({})) == {"options": {}, "strays": [], "files": []}


@pytest.mark.parametrize(
    ("section", "key", "belongs"),
    [
        ("compute", "vcpu_pin_set", "[DEFAULT] vcpu_pin_set"),
        ("DEFAULT", "cpu_dedicated_set", "[compute] cpu_dedicated_set"),
        ("libvirt", "cpu_dedicated_set", "[compute] cpu_dedicated_set"),
        ("Default", "vcpu_pin_set", "[DEFAULT] vcpu_pin_set"),
        (" compute", "cpu_shared_set", "[compute] cpu_shared_set"),
        ("compute", "cpu_dedicated_sets", "[compute] cpu_dedicated_set"),
        ("compute", "cpu_dedicate_set", "[compute] cpu_dedicated_set"),
        ("compute", "compute_cpu_dedicated_set", "[compute] cpu_dedicated_set"),
        ("compute", "compute_cpu_dedicate_set", "[compute] cpu_dedicated_set"),
        ("compute", "dedicated_cpu_set", "[compute] cpu_dedicated_set"),
        ("compute", "CPU_shared_set", "[compute] cpu_shared_set"),
        ("compute", "cpu-shared-set", "[compute] cpu_shared_set"),
        ("libvirt", "libvirt_virt_type", "[libvirt] virt_type"),
        ("DEFAULT", "vcpu_pinset", "[DEFAULT] vcpu_pin_set"),
        ("DEFAULT", "reserved_hugepages", "[DEFAULT] reserved_huge_pages"),
        ("DEFAULT", "scheduler_default_filters", "[filter_scheduler] enabled_filters"),
    ],
)
def test_a_key_that_was_meant_to_be_ours(
    plant: Plant, section: str, key: str, belongs: str
) -> None:
    read = facts(plant, f"[{section}]\n{key} = secret\n")
    assert read["options"] == {}
    assert read["strays"] == [
        {"key": key, "section": section, "where": f"{CONF}:2", "belongs": belongs}
    ]
    assert "secret" not in json.dumps(read)


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ("DEFAULT", "disk_allocation_ratio"),
        ("DEFAULT", "initial_disk_allocation_ratio"),
        ("DEFAULT", "reserved_host_disk_mb"),
        ("filter_scheduler", "available_filters"),
        ("libvirt", "cpu_model_extra_flags"),
        ("libvirt", "images_type"),
        ("compute", "max_concurrent_disk_ops"),
        ("database", "connection"),
        ("workarounds", "disable_rootwrap"),
        ("x", "k" * 100_000),
    ],
)
def test_other_keys_are_passed_over(plant: Plant, section: str, key: str) -> None:
    read = facts(plant, f"[{section}]\n{key} = secret\n")
    assert (read["options"], read["strays"]) == ({}, [])


@pytest.mark.parametrize(
    "text",
    [
        "[compute]\ncpu_shared_set = 0-1\n [database]\n password =\n  hunter2\n",
        "[compute]\ncpu_shared_set = 0-1,\n\thunter2\n",
        "[DEFAULT]\nreserved_huge_pages = node:0,size:4,count:1\n"
        " size = hunter2\n url=rabbit://a:hunter2@h\n   hunter2@h2/\n",
        "[compute]\ncpu_shared_set = 0-1\n password =\n  123456\n",
    ],
)
def test_no_line_that_was_swallowed_leaves_the_file(plant: Plant, text: str) -> None:
    shown = str(values(plant, text))
    assert "hunter2" not in shown
    assert "123456" not in shown
    assert "***" in shown


def test_a_swallowed_line_keeps_its_key_and_loses_its_value(plant: Plant) -> None:
    text = (
        "[compute]\ncpu_shared_set = 0,1\n  cpu_dedicated_set = 2-11\n"
        "  connection = mysql://nova:secret@db/nova\n  # note\n  # rabbit: secret\n"
    )
    assert values(plant, text) == {
        "compute.cpu_shared_set": ("0,1\ncpu_dedicated_set = 2-11\nconnection = ***\n***\n***")
    }


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("[DEFAULT]\nvcpu_pin_set = 4-$", "vcpu_pin_set", "4-$"),
        ("[DEFAULT]\nvcpu_pin_set = $$1", "vcpu_pin_set", "$1"),
        ("[DEFAULT]\nvcpu_pin_set = \\$1", "vcpu_pin_set", "$1"),
        ("[DEFAULT]\nvcpu_pin_set = $cpu_model", "vcpu_pin_set", "$cpu_model"),
        ("[DEFAULT]\nvcpu_pin_set = $vcpu_pin_set", "vcpu_pin_set", "$vcpu_pin_set"),
        ("[DEFAULT]\nvcpu_pin_set = $compute.cpu_shared_set", "vcpu_pin_set", ""),
        (
            "[compute]\ncpu_shared_set = 0\ncpu_dedicated_set = ${cpu_shared_set},2",
            "compute.cpu_dedicated_set",
            "0,2",
        ),
        (
            "[DEFAULT]\nvcpu_pin_set = 5\n[compute]\ncpu_shared_set = $vcpu_pin_set",
            "compute.cpu_shared_set",
            "5",
        ),
        (
            "[DEFAULT]\nvcpu_pin_set = 5\n[compute]\ncpu_shared_set = $DEFAULT.vcpu_pin_set",
            "compute.cpu_shared_set",
            "$DEFAULT.vcpu_pin_set",
        ),
    ],
)
def test_references(plant: Plant, text: str, name: str, value: str) -> None:
    assert values(plant, text)[name] == value


def test_a_reference_to_a_secret_stays_a_reference(plant: Plant) -> None:
    text = "[DEFAULT]\ntransport_url = rabbit://secret\nvcpu_pin_set = $transport_url\n"
    assert values(plant, text) == {"vcpu_pin_set": "$transport_url"}


def test_references_do_not_fill_the_memory(plant: Plant) -> None:
    text = (
        f"[DEFAULT]\nvcpu_pin_set = {'${compute.cpu_shared_set}' * 10_000}\n"
        f"[compute]\ncpu_shared_set = {'0,' * 100_000}\n"
    )
    with pytest.raises(InputError, match=f"^{CONF}:2: references make the value too long"):
        facts(plant, text)


def test_many_near_keys_take_no_minutes(plant: Plant) -> None:
    text = "[compute]\n" + "".join(f"cpu_se{i}=\n" for i in range(60_000))
    assert facts(plant, text)["options"] == {}


@pytest.mark.parametrize(
    ("there", "found"),
    [
        ([], []),
        (["etc/nova/nova.conf"], ["/etc/nova/nova.conf"]),
        (
            ["etc/nova/nova.conf.d/1.conf", "etc/nova/nova-compute.conf", "etc/nova/nova.conf"],
            ["/etc/nova/nova.conf", "/etc/nova/nova-compute.conf", "/etc/nova/nova.conf.d"],
        ),
        (["etc/nova/nova.conf", "etc/nova/nova-cpu.conf"], ["/etc/nova/nova-cpu.conf"]),
        (
            ["etc/nova/nova.conf", "etc/kolla/nova-compute/nova.conf"],
            ["/etc/kolla/nova-compute/nova.conf"],
        ),
        (["var/lib/openstack/nova/01-nova.conf"], ["/var/lib/openstack/nova"]),
    ],
)
def test_the_usual_places(plant: Plant, there: list[str], found: list[str]) -> None:
    assert default_paths(plant(dict.fromkeys(there, ""))) == found


def test_every_place_is_an_absolute_path() -> None:
    assert all(path.startswith("/") for place in PLACES for path in place)


KEYS = [name for _rest, name in OPTIONS] + ["password", "cpu_dedicated_sets", "Vcpu_pin_set"]
ASSIGNMENTS = st.builds(
    "{}{} {}\n".format,
    st.sampled_from(KEYS),
    st.sampled_from("=:"),
    st.one_of(
        st.sampled_from(["2-7", "$vcpu_pin_set", "$compute.cpu_shared_set", "$$", "${", "'1'"]),
        st.text("0123456789,-^$ '\"#", max_size=8),
    ),
)
SECTIONS = st.sampled_from(["[DEFAULT]\n", "[compute]\n", "[Compute]\n", "[libvirt]\n", "[a]\n"])
SECRETS = st.sampled_from(["password = s3cret\n", " password = s3cret\n", "# password: s3cret\n"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(ASSIGNMENTS, SECTIONS, SECRETS), max_size=12).map("".join))
def test_any_file_gives_allow_listed_options_or_a_refusal_of_one_line(
    attempt: Attempt, plant: Plant, text: str
) -> None:
    read = attempt(facts, plant, text)
    if read is not None:
        names = {name if group == "DEFAULT" else f"{group}.{name}" for group, name in OPTIONS}
        assert set(read["options"]) <= names
        assert all(stray["key"] != "password" for stray in read["strays"])
        assert "s3cret" not in json.dumps(read)
