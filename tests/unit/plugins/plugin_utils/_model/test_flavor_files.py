# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pathlib
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import flavor_files

FIXTURES = pathlib.Path(__file__).parents[3] / "fixtures"
FLAVOR_FILES = sorted((FIXTURES / "flavors").iterdir())
IMAGE_FILES = sorted((FIXTURES / "images").iterdir())


def test_there_is_a_file_of_each_shape() -> None:
    assert len(FLAVOR_FILES) == 14
    assert len(IMAGE_FILES) == 6


@pytest.mark.parametrize("path", FLAVOR_FILES, ids=lambda path: path.name)
def test_every_shape_gives_the_same_flavors(path: pathlib.Path) -> None:
    pinned, plain = flavor_files.read_flavors(str(path))
    assert (pinned.name, pinned.vcpus, pinned.memory_mb) == ("pinned", 4, 4096)
    assert (pinned.disk_gb, pinned.ephemeral_gb, pinned.swap_mb, pinned.id) == (20, 0, 0, "7")
    assert list(pinned.extra_specs.items()) == [
        ("hw:cpu_policy", "dedicated"),
        ("hw:numa_nodes", "1"),
    ]
    assert (plain.name, plain.vcpus, plain.memory_mb, plain.extra_specs) == ("plain", 1, 512, {})
    assert pinned.where.startswith(str(path))


@pytest.mark.parametrize("path", IMAGE_FILES, ids=lambda path: path.name)
def test_every_shape_gives_the_same_images(path: pathlib.Path) -> None:
    pinned, plain = flavor_files.read_images(str(path))
    assert (pinned.name, plain.name) == ("pinned", "plain")
    assert pinned.properties == {"hw_cpu_policy": "dedicated", "hw_numa_nodes": 1}
    assert "hw_cpu_policy" not in plain.properties
    assert pinned.where.startswith(str(path))


def test_where_names_file_and_key() -> None:
    (found,) = flavor_files.flavors(
        {"openstack_user_compute": {"flavors": [{"specs": [SIZE]}]}}, "vars.yml"
    )
    assert found.where == "vars.yml: openstack_user_compute.flavors[0].specs[0]"
    (found,) = flavor_files.flavors(SIZE, "one.yml")
    assert found.where == "one.yml"


SIZE: dict[str, t.Any] = {"name": "a", "vcpus": 1, "ram": 2}


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1"), (True, "True"), (1.5, "1.5"), ("", ""), ("x", "x")],
)
def test_values_of_extra_specs_become_text(value: object, text: str) -> None:
    for document in (
        {"flavors": [{**SIZE, "extra_specs": {"k": value, "gone": None}}]},
        {"format": 1, "flavors": [{**SIZE, "extra_specs": {"k": value, "gone": None}}]},
    ):
        (found,) = flavor_files.flavors(document)
        assert found.extra_specs == {"k": text}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ("", {}),
        ("a='1'", {"a": "1"}),
        ("a='1', b='2', ", {"a": "1", "b": "2"}),
        ("hw:numa_cpus.0='0,1', b='it's', c=''", {"hw:numa_cpus.0": "0,1", "b": "it's", "c": ""}),
        ("a='x=', b='2'", {"a": "x=", "b": "2"}),
    ],
)
def test_properties_as_text(properties: str, expected: dict[str, str]) -> None:
    (found,) = flavor_files.flavors([{"Name": "a", "VCPUs": 1, "RAM": 2, "Properties": properties}])
    assert found.extra_specs == expected


def test_a_group_gives_its_extra_specs_to_all_its_sizes() -> None:
    group = {
        "specs": [SIZE, {**SIZE, "name": "b", "extra_specs": {"y": 2}}],
        "extra_specs": {"x": 1},
    }
    first, second = flavor_files.flavors({"openstack_resources_compute": {"flavors": [group]}})
    assert (first.extra_specs, second.extra_specs) == ({"x": "1"}, {"y": "2"})


def test_defaults_of_the_reference_apply() -> None:
    (found,) = flavor_files.flavors(
        {
            "reference": [{"field": "disk", "default": 7}, {"field": "name"}],
            "mandatory": [{"name": "a", "cpus": 1, "ram": 2}],
        }
    )
    assert found.disk_gb == 7


def test_several_shapes_in_one_document() -> None:
    found = flavor_files.flavors(
        {"openstack_flavors": [SIZE], "os_flavors": [{**SIZE, "name": "b"}], "other": 1}
    )
    assert [flavor.name for flavor in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (3, "f.yml: 3 has no known shape; accepted: {flavors: [...]} of this collection; or"),
        ("x", "f.yml: 'x' has no known shape"),
        ({}, "f.yml: {} has no known shape"),
        ({"openstack_flavor": []}, "f.yml: {'openstack_flavor': []} has no known shape"),
        ([], "f.yml: no flavor is in it; accepted: "),
        ({"flavors": []}, "f.yml: no flavor is in it"),
        ({"format": 1, "flavors": []}, "f.yml: no flavor is in it"),
        ({"format": 2, "flavors": []}, "f.yml: format: 2 is another version"),
        ({"flavors": 3}, "f.yml: flavors: 3 is no list"),
        ({"flavors": [3]}, "f.yml: flavors[0]: 3 is no mapping"),
        ([SIZE, {"name": "b"}], "f.yml: [1]: the flavor has no vcpus"),
        ([SIZE, SIZE], "f.yml: [1]: 'a' is given twice, first at f.yml: [0]"),
        ([{**SIZE, "vcpu": 1}], "f.yml: [0].vcpu: unknown key (nearest: vcpus)"),
        ([{**SIZE, "extra_spec": {}}], "f.yml: [0].extra_spec: unknown key (nearest: extra_specs)"),
        ([{**SIZE, "vcpus": 0}], "f.yml: [0]: vcpus 0 is out of place; accepted: 1 to"),
        ([{**SIZE, "ram": True}], "f.yml: [0]: ram True is out of place"),
        ([{**SIZE, "ram": "4 GB"}], "f.yml: [0]: ram '4 GB' is out of place"),
        ([{**SIZE, "name": ""}], "f.yml: [0]: '' is no name"),
        ([{**SIZE, "name": "{{ item.name }}"}], "f.yml: [0]: '{{ item.name }}' is a template"),
        ([{**SIZE, "extra_specs": "{{ x }}"}], "f.yml: [0].extra_specs: '{{ x }}' is a template"),
        ([{**SIZE, "extra_specs": {"a": "{{ x }}"}}], "f.yml: [0].extra_specs.a: '{{ x }}' is a"),
        ([{**SIZE, "extra_specs": {"a": [1]}}], "f.yml: [0].extra_specs.a: [1] is no value"),
        ([{**SIZE, "extra_specs": 3}], "f.yml: [0].extra_specs: 3 is no mapping"),
        ([{"Name": "a", "RAM": 1, "VCPUs": 1}], "f.yml: [0]: there are no Properties; accepted: "),
        ([{**SIZE, "os-flavor-access:is_public": True}], "f.yml: [0]: there are no extra_specs"),
        ([{**SIZE, "properties": "a=1"}], "f.yml: [0].extra_specs: 'a=1' is no property"),
        ({"openstack_user_compute": {"flavors": [{"specs": 3}]}}, "specs: 3 is no list"),
        (
            {"openstack_user_compute": {"flavors": [{"specs": [SIZE], "extra_spec": {}}]}},
            "f.yml: openstack_user_compute.flavors[0].extra_spec: unknown key (nearest: extra_spec",
        ),
        ({"mandatory": [{"name": "a", "cpus": 1}]}, "f.yml: mandatory[0]: the flavor has no ram"),
        ({"format_version": "1", "values": {}}, "f.yml: no flavor is in it"),
        ({"format_version": "1", "values": 3}, "f.yml: values: 3 is no mapping"),
    ],
)
def test_what_cannot_be_read_is_refused_by_file_and_key(document: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        flavor_files.flavors(document, "f.yml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("f.yml: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (3, "i.yml: 3 has no known shape; accepted: {images: [...]}"),
        ({"name": "a"}, "i.yml: {'name': 'a'} has no known shape"),
        ({"images": []}, "i.yml: no image is in it"),
        (
            [{"ID": "1", "Name": "a"}],
            "i.yml: [0]: there are no Properties; accepted: openstack image",
        ),
        ([{"id": "1", "name": 3}], "i.yml: [0]: 3 is no name"),
        ({"images": [{"name": "a", "propertys": {}}]}, "i.yml: images[0].propertys: unknown key"),
        ({"images": [{"name": "a", "properties": {"hw_x": []}}]}, "images[0].hw_x: [] is no value"),
        ({"images": [{"name": "a", "properties": {"x": "{{ y }}"}}]}, "'{{ y }}' is a template"),
        ({"format": 1, "images": [{"name": "a", "x": 1}]}, "i.yml: images[0].x: unknown key"),
    ],
)
def test_images_that_cannot_be_read_are_refused(document: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        flavor_files.images(document, "i.yml")
    assert message in str(caught.value)


def test_an_empty_file_is_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "empty.yml"
    path.write_text("---\n", encoding="utf-8")
    for read in (flavor_files.read_flavors, flavor_files.read_images):
        with pytest.raises(InputError, match=r"empty\.yml: the file is empty"):
            read(str(path))


def test_a_name_in_two_documents_of_a_file_is_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "two.yml"
    path.write_text("---\n{name: a, vcpus: 1, ram: 1}\n" * 2, encoding="utf-8")
    with pytest.raises(InputError, match="'a' is given twice"):
        flavor_files.read_flavors(str(path))


KEYS = st.sampled_from(
    [
        "name",
        "Name",
        "vcpus",
        "VCPUs",
        "cpus",
        "ram",
        "RAM",
        "flavors",
        "openstack_flavors",
        "flavor",
        "mandatory",
        "reference",
        "values",
        "planned_values",
        "root_module",
        "resources",
        "child_modules",
        "format_version",
        "type",
        "specs",
        "extra_specs",
        "properties",
        "Properties",
        "openstack_resources_compute",
        "tasks",
        "block",
        "state",
        "images",
        "image",
        "openstack.cloud.compute_flavor",
        "hw_cpu_policy",
        "disk",
        "id",
        "field",
        "default",
    ]
) | st.text(max_size=4)
ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 5)
    | st.floats()
    | st.sampled_from(["a", "", "4", "a='1'", "openstack_compute_flavor_v2", "{{ x }}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=15,
)


@given(ANY)
def test_any_document_gives_values_or_is_refused_on_one_line(document: object) -> None:
    for read in (flavor_files.flavors, flavor_files.images):
        try:
            found: tuple[object, ...] = read(document, "f.yml")
        except InputError as problem:
            text = str(problem)
        else:
            text = ""
            assert found
        assert "\n" not in text
