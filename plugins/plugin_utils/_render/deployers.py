# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts for each deployer's own input, and the paths that they have there."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import typing as t

from ...module_utils._read.errors import InputError, quoted
from ...module_utils._read.files import read_text
from .._plan.proposal import propose
from .._rules.hosts import CPU_OPTIONS
from .contents import Contents, contents, removed
from .filling import fill

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .._model.host import Fleet
    from .._model.server import Server
    from .._plan.proposal import Proposal, Target

_MARK = "pinguard.nova.render_config"
"""Stands in every file that is rendered."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9])?")
_OBJECT_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,200}[a-z0-9])?")


@dataclasses.dataclass(frozen=True, slots=True)
class File:
    """One rendered file."""

    hosts: tuple[str, ...]
    path: str
    """Relative to the folder that the deployer keeps its input in."""
    text: str
    notes: tuple[str, ...]
    """What is left to the operator."""

    def as_dict(self) -> dict[str, t.Any]:
        """Show it as plain data."""
        return {
            "hosts": list(self.hosts),
            "path": self.path,
            "text": self.text,
            "notes": list(self.notes),
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """One file that a deployer takes."""

    template: str
    path: str
    """With ``{name}``, and ``{profile}`` of tuned, in it."""
    wanted: Callable[[Contents], bool]
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Deployer:
    """How a deployer takes its input."""

    parts: tuple[Part, ...]
    by_class: bool = False
    """Hosts of the same contents share a file named after the first of them."""
    names: re.Pattern[str] = _NAME


_REBOOT = "Takes a reboot: the kernel reads its arguments when it starts."
_TUNED = Part(
    "tuned.conf.j2",
    "kernel/{name}/{profile}-variables.conf",
    lambda given: bool(given.isolated),
    ("Goes to /etc/tuned; then: tuned-adm profile {profile}", _REBOOT),
)
_GRUB = Part(
    "grub.cfg.j2",
    "kernel/{name}/50-pinguard.cfg",
    lambda given: bool(given.kernel),
    (
        "Goes to /etc/default/grub.d; then: update-grub",
        "What the tuned profile adds to the arguments names the same CPUs.",
        _REBOOT,
    ),
)


def _conf(path: str, *notes: str) -> Deployer:
    return Deployer((Part("nova.conf.j2", path, _options, notes), _TUNED, _GRUB))


def _options(given: Contents) -> bool:
    return bool(given.sections)


DEPLOYERS: dict[str, Deployer] = {
    "nova_conf_d": _conf("{name}/nova.conf.d/50-pinguard.conf", "Goes to /etc/nova/nova.conf.d."),
    "nova_conf": _conf("{name}/nova.conf", "Goes into /etc/nova/nova.conf."),
    "kolla_ansible": _conf("nova/{name}/nova.conf"),
    "kayobe": _conf("kolla/config/nova/{name}/nova.conf"),
    "openstack_ansible": Deployer(
        (
            Part(
                "openstack_ansible.yml.j2",
                "host_vars/{name}/pinguard.yml",
                _options,
                (
                    "Ansible merges neither mappings nor lists: where a group or another file of "
                    "the host sets these variables too, copy what it says into this file.",
                    "Move a file host_vars/{name}, with .yml, .yaml, .json or no ending, that the "
                    "inventory has beside this folder into it: Ansible would not read it any more.",
                ),
            ),
            _TUNED,
        )
    ),
    "edpm": Deployer(
        (
            Part(
                "edpm_config_map.yaml.j2",
                "{name}/nova-cpu-pinning.yaml",
                _options,
                ("Name the ConfigMap in the custom nova service of the node set of these hosts.",),
            ),
            Part(
                "edpm_node_set.yaml.j2",
                "{name}/node-set.yaml",
                lambda given: bool(given.isolated),
                ("To be merged into the node set of these hosts.", _REBOOT),
            ),
            Part(
                "edpm_kernel.yaml.j2",
                "{name}/kernel-args.yaml",
                lambda given: bool(given.kernel),
                (
                    "To be merged into the node set of these hosts; add the arguments that "
                    "edpm_kernel_args has there today.",
                ),
            ),
        ),
        by_class=True,
        names=_OBJECT_NAME,
    ),
    "charm": Deployer(
        (
            Part(
                "charm.yaml.j2",
                "{name}/nova-compute.yaml",
                _options,
                (
                    "An application has the same options on all of its units: name the one of "
                    "these hosts in place of nova-compute.",
                ),
            ),
            _TUNED,
            _GRUB,
        ),
        by_class=True,
    ),
}
"""Deployers by the names that users give."""


def render(fleet: Fleet, target: Target, deployer: str) -> tuple[File, ...]:
    """Render the files of all hosts for a deployer.

    Raises ``InputError`` for what :func:`propose` refuses, and for the name of a host that cannot
    be part of a path.
    """
    layout = DEPLOYERS[deployer]
    servers: dict[str, list[Server]] = {}
    for server in fleet.servers:
        servers.setdefault(server.host, []).append(server)
    merged: dict[t.Any, tuple[Contents, list[str], list[str]]] = {}
    for index, each in enumerate(fleet.classes):
        for name in each.names:
            _check_name(name, layout.names)
        proposal = propose(each, target, servers)
        given = contents(proposal)
        key = given if layout.by_class else index
        _given, names, notes = merged.setdefault(key, (given, [], []))
        names.extend(each.names)
        notes.extend(note for note in _left(proposal, deployer) if note not in notes)
    return tuple(
        file
        for given, names, notes in merged.values()
        for group in ([names] if layout.by_class else [[name] for name in names])
        for file in _files(layout, given, group, notes)
    )


def _files(layout: Deployer, given: Contents, hosts: list[str], notes: list[str]) -> Iterator[File]:
    for index, part in enumerate(layout.parts):
        if part.wanted(given):
            words = {"name": hosts[0], "profile": given.tuned_profile}
            own = tuple(note.format_map(words) for note in part.notes)
            text = fill(part.template, contents=given, **words)
            yield File(
                tuple(hosts),
                part.path.format_map(words),
                text,
                own if index else (*notes, *own),
            )


def _left(proposal: Proposal, deployer: str) -> Iterator[str]:
    """Say what is to be taken away by hand: no file that is merged with others can unset it."""
    gone = removed(proposal.now.config, proposal.then.config)
    for name, where in gone.items():
        yield f"Take out {name} ({' '.join(where.split())}): a merged file cannot unset it."
    options = [name.replace("_", "-") for name in CPU_OPTIONS if name in gone]
    if deployer == "charm" and options:
        yield f"juju config nova-compute --reset {','.join(options)}"
    if deployer == "charm" and proposal.now.config.reserved_host_cpus:
        yield "Take reserved_host_cpus out of the option config-flags."


def refuse_harm(files: Iterable[File], dest: str, mark: str = _MARK) -> None:
    """Refuse to replace a file of the operator's own, without ``mark``, or to hide one from
    Ansible.

    Raises ``InputError``.
    """
    for file in files:
        path = pathlib.Path(os.path.expanduser(dest), file.path)
        if os.path.isfile(path) and mark not in read_text(str(path)):
            raise InputError(
                "the file was not written by this action, which would replace all of it",
                "its contents moved to another file",
                str(path),
            )
        for hidden in _hidden(path.parent):
            raise InputError(
                "Ansible would read the folder of this name in place of the file",
                "its contents moved to a file in that folder",
                str(hidden),
            )


def _hidden(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """List the files of variables that Ansible passes over where there is such a folder.

    Source: ansible-core ``parsing/dataloader.py``, ``DataLoader.find_vars_files``.
    """
    if folder.parent.name == "host_vars":
        for ending in ("", ".yml", ".yaml", ".json"):
            file = folder.with_name(folder.name + ending)
            if os.path.lexists(file) and not file.is_dir():
                yield file


def _check_name(name: str, form: re.Pattern[str]) -> None:
    if not form.fullmatch(name):
        raise InputError(
            f"the name of host {quoted(name)} cannot stand in a path",
            "letters and digits, with . _ - between them"
            if form is _NAME
            else "small letters and digits, with . - between them",
        )
