# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guests of one host: what libvirt says of its domains, and the kernel of their threads.

libvirt is asked through ``virsh``, or captured XML is read; of both only what :mod:`libvirt_xml`
gives is kept. Domains are asked for by their UUIDs, so that no name can be taken for anything else.
"""

from __future__ import annotations

import os
import re
import shutil
import typing as t

from . import libvirt_xml, threads
from .commands import NoAnswer, output, shown
from .errors import InputError, quoted
from .files import Tree

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FORMAT = 1
ENGINES = ("podman", "docker")
"""What runs a container, in the order in which they are looked for."""

ARGUMENTS: dict[str, dict[str, t.Any]] = {
    "root": {"type": "path", "default": "/"},
    "virsh": {"type": "list", "elements": "str", "default": ["virsh"]},
    "container": {"type": "str"},
    "uri": {"type": "str", "default": "qemu:///system"},
    "xml": {"type": "list", "elements": "path"},
    "domains": {"type": "list", "elements": "str"},
    "memory": {"type": "bool", "default": False},
    "timeout": {"type": "int", "default": 30},
}
"""What :func:`guest_facts` takes, as an argument spec of Ansible."""

_PATIENCE = 3
"""Calls that libvirt may leave without an answer until it is asked for no other domain."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_VERSION = re.compile(r"(?:libvirt|daemon:) ([0-9]+\.[0-9]+\.[0-9]+)")
_ELSEWHERE = (
    "a virsh that reaches libvirt (as root), or the container in which it does "
    "(container: nova_libvirt)"
)


def guest_facts(
    root: str = "/",
    virsh: Sequence[str] = ("virsh",),
    container: str | None = None,
    uri: str = "qemu:///system",
    xml: Sequence[str] | None = None,
    domains: Sequence[str] | None = None,
    memory: bool = False,
    timeout: int = 30,
) -> dict[str, t.Any]:
    """Read the domains of a host, in the form ``guests:1``.

    ``virsh`` is the command with its first arguments, run in the ``container`` if one is given, and
    connected to ``uri``; each call may take ``timeout`` seconds. Where ``xml`` lists files and
    folders of captured XML, no command is run. ``root`` is where these and ``/proc`` stand.
    ``domains`` limits the result to UUIDs and names. ``memory`` also reads where the memory of the
    guests is.

    Raises :class:`InputError` where there is nothing to be had; of what only a part is missing, the
    result says so in ``unread``.
    """
    if not os.path.isdir(root):
        raise InputError("no such directory", "the root of a host's files", root)
    if not 1 <= timeout <= 3600:
        raise InputError(f"{timeout} seconds are out of place", "1 to 3600", "timeout")
    tree = Tree(root)
    unread: list[str] = []
    libvirt: str | None = None
    if xml is not None:
        found = _captured(tree, xml, unread)
    elif os.path.realpath(root) != "/":
        raise InputError("virsh tells of this host alone", "xml for what was captured", "root")
    else:
        asked = Virsh(_command(virsh, container, timeout), uri, timeout)
        found = asked.domains(domains, unread)
        libvirt = asked.version(unread)
    names = set(domains or ())
    ids = {name.lower() for name in names}
    kept = [
        domain
        for domain in found
        if domains is None or domain["name"] in names or domain["id"].lower() in ids
    ]
    processes = threads.processes(tree)
    for domain in kept:
        _add_threads(domain, tree, processes, memory)
    return {
        "format": FORMAT,
        **({"libvirt": {"version": libvirt}} if libvirt else {}),
        "domains": sorted(kept, key=lambda domain: (domain["name"], domain["id"])),
        **({"unread": unread} if unread else {}),
    }


def _command(virsh: Sequence[str], container: str | None, timeout: int) -> list[str]:
    if not virsh or not all(word and "\0" not in word for word in virsh):
        raise InputError("is no command", "a command and its first arguments", "virsh")
    if container is None:
        return [*virsh]
    if not re.fullmatch(r"\w[\w.-]{0,127}", container, re.ASCII):
        raise InputError(f"{quoted(container)} is no name", "a container's name", "container")
    engines = [name for name in ENGINES if shutil.which(name)]
    if not engines:
        raise InputError(
            f"nothing that runs containers was found ({', '.join(ENGINES)})",
            "one of them, or virsh as [COMMAND, exec, CONTAINER, virsh]",
            "container",
        )
    if len(engines) > 1:
        # Some distributions bring one of them along, whichever runs the containers.
        engines = [name for name in engines if _holds(name, container, timeout)] or engines
    return [engines[0], "exec", container, *virsh]


def _holds(engine: str, container: str, timeout: int) -> bool:
    words = ("inspect", "--type", "container", "--format", "{{.Id}}", container)
    try:
        return bool(output([engine, *words], timeout).strip())
    except InputError:
        return False


class Virsh:
    """libvirt, asked by commands that only read."""

    def __init__(self, command: Sequence[str], uri: str, timeout: int) -> None:
        if not uri or uri.startswith("-") or not uri.isprintable():
            raise InputError(f"{quoted(uri)} is no URI", "qemu:///system", "uri")
        self._timeout = timeout
        self._base = [*command, "-r", "-c", uri]
        self._writable = [*command, "-c", uri]
        self._silent = 0

    def _ask(self, *words: str) -> str:
        try:
            return output([*self._base, *words], self._timeout)
        except NoAnswer:
            self._silent += 1
            raise

    def _uuids(self) -> list[str]:
        uuids = list(dict.fromkeys(self._ask("list", "--all", "--uuid").lower().split()))
        strange = next((word for word in uuids if not _UUID.fullmatch(word)), None)
        if strange is not None:
            raise InputError(f"lists {quoted(strange)}", "UUIDs of domains", shown(self._base))
        return uuids

    def _listed(self) -> list[str]:
        """List all domains, without the read-only connection where that one is refused."""
        try:
            return self._uuids()
        except NoAnswer as problem:
            raise InputError(problem.what, _ELSEWHERE, problem.where) from None
        except InputError as problem:
            self._base = self._writable
            try:
                return self._uuids()
            except InputError:
                raise InputError(problem.what, _ELSEWHERE, problem.where) from None

    def domains(self, wanted: Sequence[str] | None, unread: list[str]) -> list[dict[str, t.Any]]:
        """Read the XML of the domains, ``wanted`` being UUIDs and names, None for all of them.

        Domains of other names are left out only where ``wanted`` is all UUIDs: libvirt has to be
        asked for the others' names. Raises :class:`InputError` where libvirt cannot be asked.
        """
        uuids = self._listed()
        named = {name.lower() for name in wanted or ()}
        if wanted is not None and all(map(_UUID.fullmatch, named)):
            uuids = [uuid for uuid in uuids if uuid in named]
        found = []
        for done, uuid in enumerate(uuids):
            if self._silent >= _PATIENCE:
                left = len(uuids) - done
                unread.append(f"domains: {left} more were not asked for, libvirt does not answer")
                break
            try:
                found.append(self._domain(uuid))
            except NoAnswer as problem:
                unread.append(f"domain {uuid}: {problem}")
            except InputError as problem:
                if self._exists(uuid):
                    unread.append(f"domain {uuid}: {problem}")
        return found

    def _exists(self, uuid: str) -> bool:
        """Tell whether a domain is still there, True where libvirt does not say."""
        try:
            return uuid in self._uuids()
        except InputError:
            return True

    def _domain(self, uuid: str) -> dict[str, t.Any]:
        first = self._described(uuid)
        if not first["running"]:
            return _entry({"persistent": first})
        try:
            return _entry({"live": first, "persistent": self._described(uuid, "--inactive")})
        except InputError as problem:
            if not isinstance(problem, NoAnswer) and not self._exists(uuid):
                raise
            return _entry({"live": first}, [f"persistent: {problem}"])

    def _described(self, uuid: str, *words: str) -> dict[str, t.Any]:
        found = libvirt_xml.described(self._ask("dumpxml", uuid, *words))
        if found["id"].lower() != uuid:
            raise InputError(f"the XML is of {quoted(found['id'])}", "the domain asked for")
        return found

    def version(self, unread: list[str]) -> str | None:
        """Tell the version of the daemon, or else of virsh's own library."""
        try:
            text = self._ask("version", "--daemon")
        except InputError as problem:
            unread.append(f"libvirt: {problem}")
            return None
        found = _VERSION.findall(text)
        return found[-1] if found else None


def _entry(forms: dict[str, dict[str, t.Any]], unread: Sequence[str] = ()) -> dict[str, t.Any]:
    """Join what the ``live`` and the ``persistent`` XML of one domain say."""
    return {**libvirt_xml.joined(forms), **({"unread": [*unread]} if unread else {})}


def _captured(tree: Tree, paths: Sequence[str], unread: list[str]) -> list[dict[str, t.Any]]:
    """Read captured XML; which form a file has is told by the id that only running domains have."""
    forms: dict[str, dict[str, dict[str, t.Any]]] = {}
    for path in _files(tree, paths):
        try:
            described = libvirt_xml.described(tree.text(path), path)
        except InputError as problem:
            unread.append(str(problem))
            continue
        form = "live" if described["running"] else "persistent"
        if described["id"] in forms and form in forms[described["id"]]:
            unread.append(f"{path}: passed over, another file has the {form} XML of this domain")
        else:
            forms.setdefault(described["id"], {})[form] = described
    return [_entry(each) for each in forms.values()]


def _files(tree: Tree, paths: Sequence[str]) -> Iterator[str]:
    """List files, those of a folder by name: ``*.xml``, and all that virsh dumpxml has named."""
    for path in paths:
        if not path.startswith("/"):
            raise InputError(f"{quoted(path)} is relative", "an absolute path on the host", "xml")
        names = tree.names(path)
        if names is not None:
            inside = (f"{path.rstrip('/')}/{n}" for n in names if re.search(r"\.xml$|dumpxml", n))
            yield from (file for file in inside if not _is_folder(tree, file))
        elif tree.exists(path):
            yield path
        else:
            raise InputError("no such file or folder", "XML of virsh dumpxml", path)


def _is_folder(tree: Tree, path: str) -> bool:
    """Tell whether ``path`` is a folder; of what cannot be told, reading it says why."""
    try:
        return tree.is_directory(path)
    except InputError:
        return False


def _add_threads(
    domain: dict[str, t.Any], tree: Tree, processes: threads.Processes, cells: bool
) -> None:
    """Add what procfs shows of the process of a domain, and what of it could not be read."""
    unread: list[str] = []
    try:
        pid = threads.process_of(tree, processes, domain["id"], domain["name"])
    except InputError as problem:
        unread.append(f"threads: {problem}")
    else:
        if pid is not None:
            domain["running"] = True
            domain["pid"] = pid
            _add_process(domain, tree, processes, pid, cells, unread)
        elif domain["running"]:
            unread.append(f"threads: no process of this domain was found in {threads.PROC}")
    if unread:
        domain["unread"] = [*domain.get("unread", []), *unread]


def _add_process(
    domain: dict[str, t.Any],
    tree: Tree,
    processes: threads.Processes,
    pid: int,
    cells: bool,
    unread: list[str],
) -> None:
    try:
        read = threads.threads(tree, processes, pid)
        if any(thread["kind"] == "vcpu" for thread in read):
            domain["threads"] = read
        elif read:
            unread.append("threads: none has the name of a vCPU, so they cannot be told apart")
        else:
            unread.append("threads: the process ended while it was read")
    except InputError as problem:
        unread.append(f"threads: {problem}")
    amounts: dict[str, t.Any] = {}
    try:
        amounts.update(threads.memory(tree, pid))
        held = threads.cells(tree, pid) if cells else None
        amounts.update({"cells": held} if held is not None else {})
    except InputError as problem:
        unread.append(f"memory: {problem}")
    if amounts:
        domain["memory"] = amounts
