# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All facts of one host, from its own files or from a captured tree of them."""

from __future__ import annotations

import os
import re
import typing as t

from . import (
    cgroups,
    cmdline,
    cpu_list,
    evidence,
    kernel,
    libvirt_daemon,
    nova_options,
    sysfs,
    tuned,
)
from .errors import InputError, quoted
from .files import Tree

if t.TYPE_CHECKING:
    from collections.abc import Sequence

FORMAT = 1
PAGE_SIZES_KB = (4, 8, 16, 64)
"""Small pages of the kernels that Nova runs on."""

INTENTS = ("realtime", "pinned", "shared")
"""What an operator may say that a host is for."""

ARGUMENTS: dict[str, dict[str, t.Any]] = {
    "nova_conf": {"type": "list", "elements": "str"},
    "release": {"type": "str"},
    "data_path_cpus": {"type": "str"},
    "page_kb": {"type": "int", "choices": list(PAGE_SIZES_KB)},
    "intent": {"type": "str", "choices": list(INTENTS)},
}
"""What :func:`host_facts` takes besides ``root``, as an argument spec of Ansible."""

NO_FILE = "no nova.conf was found: Nova's defaults are taken for the options of this host"
"""What to warn of where the facts name no file."""

_MACHINE = re.compile(r"\.(x86_64|aarch64|ppc64le|s390x)(?:\+\w+)?$")
_RELEASE = re.compile(r"[\w.-]{1,64}")


def host_facts(
    root: str = "/",
    nova_conf: Sequence[str] | None = None,
    release: str | None = None,
    data_path_cpus: str | None = None,
    page_kb: int | None = None,
    intent: str | None = None,
) -> dict[str, t.Any]:
    """Read the facts of the host whose files stand below ``root``.

    ``nova_conf`` lists files and ``conf.d`` directories in their order, as paths on the host; None
    stands for the first of :data:`nova_options.PLACES` that exists, and for no file if none does.
    ``data_path_cpus`` is a list of CPUs, or a mask that starts with ``0x``. ``page_kb`` is the size
    of small pages: by default this kernel's if ``root`` is ``/``, else 4 KiB. ``intent`` is one of
    :data:`INTENTS`.

    Raises :class:`InputError` for topology, configuration, command line or tuned that cannot be
    read or understood. Of the running kernel, control groups and libvirt that is left out.
    """
    if not os.path.isdir(root):
        raise InputError("no such directory", "the root of a host's files", root)
    if page_kb is not None and page_kb not in PAGE_SIZES_KB:
        raise InputError(
            f"no kernel has small pages of {page_kb} KiB",
            ", ".join(map(str, PAGE_SIZES_KB)),
            "page_kb",
        )
    if intent is not None and intent not in INTENTS:
        raise InputError(
            f"{quoted(intent)} is nothing that a host is for", ", ".join(INTENTS), "intent"
        )
    tree = Tree(root)
    topology = sysfs.topology(tree, page_kb or _page_kb(root))
    paths = nova_options.default_paths(tree) if nova_conf is None else nova_conf
    arguments = cmdline.read(tree)
    present = cpu_list.parse_kernel(topology["present"])
    isolated = cpu_list.parse_kernel(topology["isolated"] or "")
    processes = evidence.processes(tree)
    running = kernel.kernel(tree, arguments, present, isolated, processes)
    facts = {
        "format": FORMAT,
        "release": _release(release),
        "topology": topology,
        "nova": nova_options.nova_facts(paths, tree),
        "kernel": {
            **({} if arguments is None else {"cmdline": arguments}),
            **running,
        }
        or None,
        "cgroups": cgroups.cgroups(tree, arguments, present),
        "libvirt": libvirt_daemon.libvirt(tree, processes),
        "tuned": tuned.tuned(tree),
        "data_path_cpus": _data_path(data_path_cpus),
        "architecture": _architecture(root, running.get("release", "")),
        "intent": intent,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _page_kb(root: str) -> int:
    return os.sysconf("SC_PAGE_SIZE") // 1024 if os.path.realpath(root) == "/" else 4


def _architecture(root: str, release: str) -> str | None:
    """Tell the machine: some distributions have it at the end of the kernel's release."""
    if os.path.realpath(root) == "/":
        return os.uname().machine
    found = _MACHINE.search(release)
    return found[1] if found else None


def _release(release: str | None) -> str | None:
    if release is not None and not _RELEASE.fullmatch(release):
        raise InputError(
            f"{quoted(release)} is no Nova release",
            "a point release or a series (27.1.0, 2023.1)",
            "release",
        )
    return release


def _data_path(text: str | None) -> str | None:
    if text is None:
        return None
    reader = cpu_list.parse_hex if text.strip().lower().startswith("0x") else cpu_list.parse_kernel
    try:
        return cpu_list.to_text(reader(text))
    except cpu_list.CpuListError as error:
        raise error.at("data_path_cpus") from None
