# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flavors in the forms in which clients and deployers take them."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import typing as t

from ...module_utils._read.errors import InputError
from ...module_utils._read.files import read_text
from .deployers import File
from .filling import fill, from_hcl, hcl_text

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .._model.flavor import Flavor
    from .._plan.flavor_change import Change
    from .._plan.flavor_design import Design

MARK = "pinguard.nova.render_flavors"
"""Stands in every file that is rendered."""

_REPLACES = (
    "openstack.cloud.compute_flavor deletes a flavor and makes it anew where its sizes differ, and "
    "where it is private and is_public is true, or the other way round."
)
_NOT_MERGED = (
    "Ansible does not merge lists: copy the flavors that the same variable has elsewhere into this "
    "file."
)


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """One form."""

    template: str
    path: str
    notes: tuple[str, ...] = ()


FORMS: dict[str, Form] = {
    "commands": Form(
        "flavors.sh.j2",
        "flavors.sh",
        ("To be run once: flavor create fails where there is a flavor of that name.",),
    ),
    "tasks": Form("flavor_tasks.yml.j2", "flavor_tasks.yml", (_REPLACES,)),
    "openstack_ansible": Form(
        "flavors_openstack_ansible.yml.j2",
        "user_variables_flavors.yml",
        (
            "Goes to /etc/openstack_deploy, for openstack.osa.openstack_resources.",
            _NOT_MERGED,
            _REPLACES,
        ),
    ),
    "kayobe": Form(
        "flavors_kayobe.yml.j2",
        "openstack_flavors.yml",
        ("Goes into the openstack-config of the deployment.", _NOT_MERGED, _REPLACES),
    ),
    "osism": Form(
        "flavors_osism.yml.j2",
        "flavors.yml",
        ("The definitions that openstack-flavor-manager takes as its url.",),
    ),
    "terraform": Form(
        "flavors.tf.j2",
        "flavors.tf",
        ("A flavor that leaves the file is destroyed by the next terraform apply.",),
    ),
}
"""Forms by the names that users give."""


def render(designs: Sequence[Design], changes: Sequence[Change], form: str) -> File:
    """Render flavors; ``changes`` are what becomes of each one, in their order.

    Raises ``InputError`` for what a form cannot say.
    """
    made = FORMS[form]
    if form == "osism":
        _refuse_disks(designs)
    labels = _labels(design.flavor.name for design in designs)
    text = fill(
        made.template,
        designs=designs,
        labelled=list(zip(designs, labels, strict=True)),
        commanded=[
            (design, list(_commands(design, change)))
            for design, change in zip(designs, changes, strict=True)
        ],
        attributes=lambda design: _aligned(_attributes(design)),
        specs=lambda design: _aligned(
            (hcl_text(key), hcl_text(value)) for key, value in design.flavor.extra_specs.items()
        ),
    )
    by_hand = (
        note
        for design, change, label in zip(designs, changes, labels, strict=True)
        for note in _by_hand(form, design.flavor, change, label)
    )
    return File((), made.path, text, (*made.notes, *by_hand))


def earlier(dest: str, form: str, file: File) -> tuple[str, ...]:
    """Name the flavors that the file of an earlier run keeps alive and this one does not: those
    of Terraform, which destroys what its files hold no more, or under another label or with other
    attributes than extra specs.

    Raises ``InputError`` where the file cannot be read.
    """
    path = os.path.join(os.path.expanduser(dest), file.path)
    if form != "terraform" or not os.path.isfile(path):
        return ()
    kept = set(_managed(file.text))
    return tuple(dict.fromkeys(each[1] for each in _managed(read_text(path)) if each not in kept))


def _managed(text: str) -> Iterator[tuple[str, str, str]]:
    """List label, name and the other attributes of each resource, without extra specs."""
    for label, attributes in _RESOURCE.findall(text):
        plain = " ".join(re.sub(r"(?m)^ *(\w+) *= ", r"\1 = ", attributes).splitlines())
        for name in _NAME.findall(attributes):
            yield label, from_hcl(name), plain


_RESOURCE = re.compile(r'^resource "openstack_compute_flavor_v2" "([^"]*)" \{\n((?:  .*\n)*)', re.M)
_NAME = re.compile(r'^  name += ("(?:[^"\\]|\\.)*")$', re.MULTILINE)


def _refuse_disks(designs: Iterable[Design]) -> None:
    for design in designs:
        if design.flavor.ephemeral_gb or design.flavor.swap_mb:
            raise InputError(
                "openstack-flavor-manager makes no flavor with ephemeral disk or swap",
                "another form",
                design.wish.where or design.flavor.name,
            )


def _labels(names: Iterable[str]) -> list[str]:
    """Make names of resources, each once."""
    labels: dict[str, None] = {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
        plain = plain if re.match(r"[A-Za-z_]", plain) else f"flavor_{plain}"
        label, number = plain, 2
        while label in labels:
            label, number = f"{plain}_{number}", number + 1
        labels[label] = None
    return list(labels)


def _attributes(design: Design) -> Iterator[tuple[str, str]]:
    flavor = design.flavor
    yield "name", hcl_text(flavor.name)
    if flavor.id:
        yield "flavor_id", hcl_text(flavor.id)
    yield "vcpus", str(flavor.vcpus)
    yield "ram", str(flavor.memory_mb)
    yield "disk", str(flavor.disk_gb)
    if flavor.ephemeral_gb:
        yield "ephemeral", str(flavor.ephemeral_gb)
    if flavor.swap_mb:
        yield "swap", str(flavor.swap_mb)
    yield "is_public", str(design.wish.public).lower()


def _aligned(rows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    found = list(rows)
    width = max((len(key) for key, _value in found), default=0)
    return [(key.ljust(width), value) for key, value in found]


def _commands(design: Design, change: Change) -> Iterator[str]:
    """Write the commands that take the flavor from what it is to what it is to be."""
    flavor = design.flavor
    if change.kind == "recreate":
        yield _command("delete", (), flavor.name)
    if change.kind in ("create", "recreate"):
        # The id that others know it by outlives it.
        yield _command("create", _creation(design, flavor.id or change.id), flavor.name)
    if change.kind == "update":
        yield from _unset(change)
        there = {key: flavor.extra_specs.get(key) for key in change.extra_specs}
        if given := {key: value for key, value in there.items() if value is not None}:
            yield _command("set", _properties(given), flavor.name)


def _unset(change: Change) -> Iterator[str]:
    gone = [key for key, (_before, after) in change.extra_specs.items() if after is None]
    if gone:
        yield _command("unset", [("--property", key) for key in gone], change.name)


def _creation(design: Design, identity: str) -> Iterator[tuple[str, str]]:
    flavor = design.flavor
    if identity:
        yield "--id", identity
    yield "--vcpus", str(flavor.vcpus)
    yield "--ram", str(flavor.memory_mb)
    yield "--disk", str(flavor.disk_gb)
    if flavor.ephemeral_gb:
        yield "--ephemeral", str(flavor.ephemeral_gb)
    if flavor.swap_mb:
        yield "--swap", str(flavor.swap_mb)
    yield ("--public" if design.wish.public else "--private"), ""
    yield from _properties(flavor.extra_specs)


def _properties(specs: Mapping[str, str]) -> list[tuple[str, str]]:
    return [("--property", f"{key}={value}") for key, value in specs.items()]


def _command(verb: str, options: Iterable[tuple[str, str]], name: str) -> str:
    """Write one command; what follows ``--`` is no option, whatever it begins with."""
    words = [f"openstack flavor {verb}"]
    words += [_option(option, value) for option, value in options]
    words.append(f"-- {shlex.quote(name)}" if name.startswith("-") else shlex.quote(name))
    return " \\\n  ".join(words) if len(words) > _SHORT else " ".join(words)


def _option(option: str, value: str) -> str:
    """Write an option; a value that begins as options do stands in one word with it."""
    if not value:
        return option
    return f"{option}{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"


_SHORT = 4
"""Words of a command that stand on one line."""


def _by_hand(form: str, flavor: Flavor, change: Change, label: str) -> Iterator[str]:
    """Say what the form's own tool leaves to the operator."""
    if form == "osism" and change.kind == "recreate":
        yield (
            f"{_command('delete', (), flavor.name)}  "
            "# first: openstack-flavor-manager leaves the sizes of a flavor as they are"
        )
    if form == "osism" and change.kind == "update":
        yield from _unset(change)
    if form == "terraform" and change.id and change.kind != "create":
        resource = f"openstack_compute_flavor_v2.{label} {shlex.quote(change.id)}"
        yield f"terraform import {resource}  # where Terraform does not manage it yet"
