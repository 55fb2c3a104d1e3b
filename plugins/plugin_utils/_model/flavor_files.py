# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flavors and images in the shapes in which clients print them and deployers keep them.

The shape is told by the contents, not by the name of the file; a file may hold several documents,
and a document several shapes. Hand-written shapes may have keys that only their own tool reads;
a key that resembles one that is read here is refused, since it is most likely a slip.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ...module_utils._read.errors import InputError, quoted
from . import documents, loading
from .flavor import Flavor, Image
from .schema import Path, as_list, as_mapping, nearest, path_text, plain, unknown_key, within

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FLAVOR_SHAPES = (
    "{flavors: [...]} of this collection",
    "openstack flavor list --long -f json or flavor show -f json",
    "the result of openstack.cloud.compute_flavor_info",
    "tasks or arguments of openstack.cloud.compute_flavor",
    "openstack_resources_compute or openstack_user_compute of OpenStack-Ansible",
    "openstack_flavors of kayobe, os_flavors of its role",
    "reference, mandatory and recommended of OSISM and SCS",
    "terraform show -json",
)
"""The shapes of files of flavors, in the words of error messages."""

IMAGE_SHAPES = (
    "{images: [...]} of this collection",
    "openstack image show -f json or a list of such",
    "the result of openstack.cloud.image_info",
    "openstack_resources_image or openstack_user_image of OpenStack-Ansible",
    "openstack_images of kayobe",
)
"""The shapes of files of images, in the words of error messages."""

_Found = tuple[Path, dict[str, t.Any]]
"""An item of a document, by the keys of our own shape, and the path that leads to it."""

_INTEGER = re.compile(r"[0-9]{1,10}")
_PROPERTY = re.compile(
    r"([^=\s,][^=]{0,254})='(.*?)'(?:, (?=[^=\s,][^=]{0,254}=')|,?\s*\Z)", re.DOTALL
)
_MODULES = {
    f"{prefix}{name}"
    for prefix in ("", "openstack.cloud.")
    for name in ("compute_flavor", "os_nova_flavor")
}
_TASKS = ("tasks", "pre_tasks", "post_tasks", "block", "rescue", "always")


@dataclasses.dataclass(frozen=True, slots=True)
class _Shape:
    """How the items of one shape spell the keys of our own."""

    keys: dict[str, str]
    """Our key to theirs."""
    others: frozenset[str] = frozenset()
    """Keys that they may have besides and that do not matter here."""


_LISTED = _Shape(
    {
        "name": "Name",
        "id": "ID",
        "vcpus": "VCPUs",
        "ram": "RAM",
        "disk": "Disk",
        "ephemeral": "Ephemeral",
        "swap": "Swap",
        "extra_specs": "Properties",
    },
    frozenset({"Is Public", "RXTX Factor", "Description", "Access Project IDs"}),
)
_IGNORED = frozenset(
    {
        "access",
        "access_project_ids",
        "description",
        "flavor_id",
        "id",
        "is_disabled",
        "is_public",
        "links",
        "location",
        "original_name",
        "project",
        "public",
        "rxtx_factor",
        "state",
        "auth",
        "cloud",
        "region_name",
        "wait",
    }
)
_SHOWN = _Shape(
    {
        "name": "name",
        "id": "id",
        "vcpus": "vcpus",
        "ram": "ram",
        "disk": "disk",
        "ephemeral": "OS-FLV-EXT-DATA:ephemeral",
        "swap": "swap",
        "extra_specs": "properties",
    },
    _IGNORED | {"ephemeral"},
)
_WRITTEN = _Shape(
    {
        "name": "name",
        "id": "flavorid",
        "vcpus": "vcpus",
        "ram": "ram",
        "disk": "disk",
        "ephemeral": "ephemeral",
        "swap": "swap",
        "extra_specs": "extra_specs",
    },
    _IGNORED,
)
_STANDARD = _Shape(
    {
        "name": "name",
        "id": "id",
        "vcpus": "cpus",
        "ram": "ram",
        "disk": "disk",
        "ephemeral": "ephemeral",
        "swap": "swap",
    },
    _IGNORED | {"disabled"},
)
_STATE = _Shape(dict(_WRITTEN.keys, id="flavor_id"))
"""A resource in Terraform's state; its keys are its provider's, so none is refused."""


def read_flavors(path: str) -> tuple[Flavor, ...]:
    """Read every flavor of a file.

    Raises ``InputError`` where the file cannot be read, its shape is unknown, it holds no flavor,
    or one is incomplete or given twice.
    """
    return _read(path, flavors)


def read_images(path: str) -> tuple[Image, ...]:
    """Read every image of a file. Raises as :func:`read_flavors` does."""
    return _read(path, images)


def flavors(document: object, where: str = "") -> tuple[Flavor, ...]:
    """Take the flavors from one document; ``where`` says what it was read from.

    Raises ``InputError`` as :func:`read_flavors` does.
    """
    with within(where):
        given = plain(document)
        ours = isinstance(given, dict) and {"format", "flavors"} <= given.keys()
        items = () if ours else _flavor_items(given, ())
        found = tuple(_flavor(item, path, where) for path, item in items)
    if ours:
        found = documents.flavors(given, where)
    return _some(found, "flavor", FLAVOR_SHAPES, where)


def images(document: object, where: str = "") -> tuple[Image, ...]:
    """Take the images from one document; ``where`` says what it was read from.

    Raises ``InputError`` as :func:`read_flavors` does.
    """
    with within(where):
        given = plain(document)
        ours = isinstance(given, dict) and {"format", "images"} <= given.keys()
        items = () if ours else _image_items(given, ())
        found = tuple(_image(item, path, where) for path, item in items)
    if ours:
        found = documents.images(given, where)
    return _some(found, "image", IMAGE_SHAPES, where)


_Value = t.TypeVar("_Value", Flavor, Image)


def _read(path: str, reader: Callable[[object, str], tuple[_Value, ...]]) -> tuple[_Value, ...]:
    parts = loading.load_all(path)
    if not parts:
        raise InputError("the file is empty", "at least one document", path)
    found = [value for part in parts for value in reader(part, path)]
    documents.refuse_twins(found, path)
    return tuple(found)


def _some(
    found: tuple[_Value, ...], kind: str, shapes: tuple[str, ...], where: str
) -> tuple[_Value, ...]:
    if not found:
        raise InputError(f"no {kind} is in it", "; or ".join(shapes), where)
    documents.refuse_twins(found, where)
    return found


def _unknown(given: object, shapes: tuple[str, ...], path: Path) -> InputError:
    return InputError(f"{quoted(given)} has no known shape", "; or ".join(shapes), path_text(path))


def _flavor_items(given: t.Any, path: Path) -> Iterator[_Found]:
    """Find the flavors of a document, whatever its shape."""
    if isinstance(given, list):
        read = _flavor_item if any(map(_is_flavor, given)) else _flavor_items
        for index, item in enumerate(given):
            yield from read(item, (*path, index))
        return
    if not isinstance(given, dict):
        raise _unknown(given, FLAVOR_SHAPES, path)
    known = False
    for key, value in given.items():
        at = (*path, key)
        if key in ("flavors", "openstack_flavors", "os_flavors") or key in _MODULES:
            items = [value] if key in _MODULES else as_list(value, at)
            steps = [at] if key in _MODULES else [(*at, i) for i in range(len(items))]
            for step, item in zip(steps, items, strict=True):
                yield from _flavor_item(item, step)
        elif key == "flavor" and isinstance(value, dict):
            yield from _flavor_item(value, at)
        elif key in ("openstack_resources_compute", "openstack_user_compute"):
            yield from _grouped(value, at)
        elif key in ("mandatory", "recommended"):
            yield from _standard(value, given.get("reference"), at)
        elif key in ("values", "planned_values") and _is_state(given):
            # A plan holds what will be under planned_values; a state has values alone.
            yield from _module(as_mapping(value, at).get("root_module", {}), (*at, "root_module"))
        elif key in _TASKS and isinstance(value, list):
            for index, task in enumerate(value):
                if isinstance(task, dict):
                    yield from _flavor_items(task, (*at, index))
        else:
            continue
        known = True
    if known:
        return
    if _is_flavor(given):
        yield from _flavor_item(given, path)
    elif not ({"name", "hosts"} & given.keys() and path):
        # Other tasks and plays of a playbook are passed over.
        raise _unknown(given, FLAVOR_SHAPES, path)


def _is_flavor(given: t.Any) -> bool:
    return isinstance(given, dict) and bool({"vcpus", "VCPUs", "ram", "RAM"} & given.keys())


def _is_state(given: dict[str, t.Any]) -> bool:
    return "format_version" in given or "terraform_version" in given


def _flavor_item(given: t.Any, path: Path) -> Iterator[_Found]:
    """Read one flavor, spelled as a client prints it or as a task has it."""
    item = as_mapping(given, path)
    if "Name" in item:
        if "Properties" not in item:
            raise InputError(
                "there are no Properties", "openstack flavor list --long", path_text(path)
            )
        yield path, _spelled(item, _LISTED, path)
    elif "properties" in item and "extra_specs" not in item:
        yield path, _spelled(item, _SHOWN, path)
    elif "os-flavor-access:is_public" in item and "extra_specs" not in item:
        accepted = "compute API of microversion 2.61 or newer"
        raise InputError("there are no extra_specs", accepted, path_text(path))
    elif item.get("state") != "absent":
        own = {
            ours: item[key]
            for ours, key in (("id", "id"), ("ephemeral", "OS-FLV-EXT-DATA:ephemeral"))
            if item.get(key) is not None
        }
        yield path, own | _spelled(item, _WRITTEN, path)


def _spelled(item: dict[str, t.Any], shape: _Shape, path: Path) -> dict[str, t.Any]:
    """Take the keys of ``shape`` from an item; refuse a key that is a slip for one of them."""
    theirs = list(shape.keys.values())
    for key in item:
        if (
            key not in theirs
            and key not in shape.others
            and ":" not in key
            and nearest(key, theirs)
        ):
            raise unknown_key(key, theirs, path)
    return {ours: item[key] for ours, key in shape.keys.items() if item.get(key) is not None}


def _is_slip(key: str, meant: Iterable[str]) -> bool:
    return bool(nearest(key, meant, 0.75))


def _grouped(given: t.Any, path: Path) -> Iterator[_Found]:
    """Read groups of sizes with extra specs in common.

    Source: OpenStack-Ansible ``roles/openstack_resources``.
    """
    at = (*path, "flavors")
    for index, group in enumerate(as_list(as_mapping(given, path).get("flavors", []), at)):
        here = (*at, index)
        common = as_mapping(group, here).get("extra_specs") or {}
        for key in group:
            if key not in ("specs", "extra_specs", "access") and _is_slip(
                key, ("specs", "extra_specs")
            ):
                raise unknown_key(key, ("specs", "extra_specs", "access"), here)
        for number, size in enumerate(as_list(group.get("specs"), (*here, "specs"))):
            for step, item in _flavor_item(size, (*here, "specs", number)):
                yield step, {"extra_specs": common} | item


def _standard(given: t.Any, reference: t.Any, path: Path) -> Iterator[_Found]:
    """Read a list of flavors in which every key with a colon is an extra spec.

    Source: OSISM ``openstack-flavor-manager``.
    """
    fields = (
        [field for field in reference or () if isinstance(field, dict)]
        if isinstance(reference, list)
        else []
    )
    defaults = {
        field["field"]: field["default"]
        for field in fields
        if isinstance(field.get("field"), str) and "default" in field
    }
    for index, entry in enumerate(as_list(given, path)):
        at = (*path, index)
        item = defaults | as_mapping(entry, at)
        specs = {key: value for key, value in item.items() if ":" in key}
        yield at, _spelled(item, _STANDARD, at) | {"extra_specs": specs}


def _module(given: t.Any, path: Path) -> Iterator[_Found]:
    """Read the flavors of a module of Terraform's state or plan, and of those below it."""
    module = as_mapping(given, path)
    for index, resource in enumerate(as_list(module.get("resources", []), (*path, "resources"))):
        at = (*path, "resources", index)
        kind = as_mapping(resource, at).get("type")
        if kind == "openstack_compute_flavor_v2" and resource.get("mode") != "data":
            values = as_mapping(resource.get("values"), (*at, "values"))
            yield (
                (*at, "values"),
                {k: values[v] for k, v in _STATE.keys.items() if values.get(v) is not None},
            )
    below = (*path, "child_modules")
    for index, child in enumerate(as_list(module.get("child_modules", []), below)):
        yield from _module(child, (*below, index))


def _flavor(item: dict[str, t.Any], path: Path, where: str) -> Flavor:
    for key in ("name", "vcpus", "ram"):
        if key not in item:
            raise InputError(f"the flavor has no {key}", "name, vcpus and ram", path_text(path))
    name = item["name"]
    if isinstance(name, bool) or not isinstance(name, str | int) or not 0 < len(str(name)) < 256:
        raise InputError(f"{quoted(name)} is no name", "a text", path_text(path))
    _refuse_template(name, path)
    return Flavor(
        str(name),
        _amount(item, "vcpus", path, 1, 65536),
        _amount(item, "ram", path, 1),
        _extra_specs(item.get("extra_specs"), path),
        _amount(item, "disk", path),
        _amount(item, "ephemeral", path),
        _amount(item, "swap", path),
        str(item.get("id", "")),
        documents.origin(where, path),
    )


def _amount(
    item: dict[str, t.Any], key: str, path: Path, least: int = 0, most: int = 2147483647
) -> int:
    """Read a size. Clients print an empty text where there is no swap."""
    value = item.get(key, 0)
    if value == "" and not least:
        return 0
    _refuse_template(value, path)
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(
            f"{key} {quoted(value)} is out of place", f"{least} to {most}", path_text(path)
        )
    return value


def _refuse_template(value: t.Any, path: Path) -> None:
    if isinstance(value, str) and ("{{" in value or "{%" in value):
        raise InputError(
            f"{quoted(value)} is a template", "values, or the output of a client", path_text(path)
        )


_MOST_SPECS = 1000
"""Extra specs of one flavor, many more than any flavor has."""


def _extra_specs(given: t.Any, path: Path) -> dict[str, str]:
    at = (*path, "extra_specs")
    _refuse_template(given, at)
    result = {}
    for key, value in _properties(given, at).items():
        if isinstance(value, dict | list):
            what = f"{quoted(value)} is no value of an extra spec"
            raise InputError(what, "a text", path_text((*at, key)))
        _refuse_template(value, (*at, key))
        if value is not None:
            result[key] = documents.extra_spec(value)
    if len(result) > _MOST_SPECS:
        raise InputError(f"{len(result)} extra specs", f"{_MOST_SPECS} at most", path_text(at))
    return result


def _properties(given: t.Any, path: Path) -> dict[str, t.Any]:
    """Read properties that are a mapping, or text as older clients print it: ``a='1', b='2'``.

    Source: osc-lib ``utils/__init__.py``, ``format_dict``.
    """
    if given is None:
        return {}
    if not isinstance(given, str):
        return as_mapping(given, path)
    result: dict[str, t.Any] = {}
    position, text = 0, given.strip()
    while position < len(text):
        found = _PROPERTY.match(text, position)
        if not found:
            rest = quoted(text[position:])
            raise InputError(f"{rest} is no property", "key='value', ...", path_text(path))
        result[found[1]] = found[2]
        position = found.end()
    return result


_HOISTED = re.compile(r"(?:hw|os|img)_|(?:trait|hw|os):")
_NO_PROPERTY = frozenset({"os_hash_algo", "os_hash_value", "os_hidden"})
_IMAGE_LISTS = ("images", "openstack_images", "openstack_image")
_IMAGE_ROLES = ("openstack_resources_image", "openstack_user_image")
_IMAGE_KEYS = frozenset({"id", "properties", "disk_format", "container_format", "min_ram", "url"})


def _image_items(given: t.Any, path: Path) -> Iterator[_Found]:
    """Find the images of a document, whatever its shape."""
    if isinstance(given, list):
        for index, item in enumerate(given):
            yield from _image_items(item, (*path, index))
        return
    if not isinstance(given, dict):
        raise _unknown(given, IMAGE_SHAPES, path)
    known = False
    for key, value in given.items():
        at = (*path, key)
        if key in _IMAGE_ROLES:
            value, at = as_mapping(value, at).get("images", []), (*at, "images")
        elif key not in _IMAGE_LISTS and not (key == "image" and isinstance(value, dict)):
            continue
        known = True
        items = value if isinstance(value, list) else [value]
        for index, item in enumerate(items):
            step = (*at, index) if isinstance(value, list) else at
            yield step, as_mapping(item, step)
    if known:
        return
    names = {"name", "Name"} & given.keys()
    if not names or not (
        _IMAGE_KEYS & {key.lower() for key in given} or any(map(_HOISTED.match, given))
    ):
        raise _unknown(given, IMAGE_SHAPES, path)
    yield path, given


def _image(item: dict[str, t.Any], path: Path, where: str) -> Image:
    name = item.get("name", item.get("Name"))
    if not isinstance(name, str) or not 0 < len(name) < 256:
        raise InputError(f"{quoted(name)} is no name", "an image with a name", path_text(path))
    if "Name" in item and "Properties" not in item:
        accepted = "openstack image show -f json of each image"
        raise InputError("there are no Properties", accepted, path_text(path))
    if near := [key for key in item if key not in _NAMES and _is_slip(key, ("properties",))]:
        raise unknown_key(near[0], ("name", "properties"), path)
    given = _properties(item.get("properties", item.get("Properties")), (*path, "properties"))
    # The SDK and Glance itself show properties that they know beside the image's own keys.
    properties = {
        key: value for key, value in item.items() if _HOISTED.match(key) and key not in _NO_PROPERTY
    } | given
    for key, value in properties.items():
        _refuse_template(value, (*path, key))
        if isinstance(value, dict | list) and key in given and _HOISTED.match(key):
            what = f"{quoted(value)} is no value of an image property"
            raise InputError(what, "a text, a number or a boolean", path_text((*path, key)))
    return Image(
        name,
        {k: v for k, v in properties.items() if v is not None and not isinstance(v, dict | list)},
        documents.origin(where, path),
    )


_NAMES = frozenset({"properties", "Properties"})
