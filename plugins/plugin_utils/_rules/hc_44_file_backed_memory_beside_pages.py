# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""File-backed memory on a host that takes flavors with a page size.

With file_backed_memory above 0 all guest memory comes from files; a guest that asks for pages of a
size cannot be built.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_memory_backing_config``.
"""

from __future__ import annotations

import typing as t

from . import host_sets, hosts
from .examples import a_flavor, a_fleet, new_style, topology
from .rule import Detail, FleetCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FleetCase) -> Iterator[Detail]:
    for host, paged in host_sets.failing(case, "MemoryPagesUnsupported"):
        backed = host.host.config.file_backed_memory
        if backed and paged:
            yield Detail(
                f"{host.host.name} has file_backed_memory = {backed} MiB and takes "
                f"{hosts.named(paged)} with hw:mem_page_size",
                "the scheduler sends these guests here and none builds: MemoryPagesUnsupported",
                "keep them on other hosts by an aggregate, or\n[libvirt]\nfile_backed_memory = 0",
                host.host.config.where("file_backed_memory"),
                hosts=(host.host.name,),
            )


RULE = Rule(
    code="HC-44",
    severity=Severity.ERROR,
    title="File-backed memory beside flavors with a page size",
    subject=FleetCase,
    check=_check,
    bad=lambda: a_fleet(
        a_flavor(
            host := new_style(machine=topology(huge_pages=8192), file_backed_memory=65536),
            cpu_policy="dedicated",
            mem_page_size="large",
        ),
        hosts=(host,),
    ),
    good=lambda: a_fleet(
        a_flavor(host := new_style(file_backed_memory=65536), cpu_policy="dedicated"),
        hosts=(host,),
    ),
)
