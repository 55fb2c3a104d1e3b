# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Server keeps thread siblings that Placement does not count.

Under thread policy isolate a server that came while the host was a legacy one keeps the siblings of
its CPUs free. The reshape gives it PCPU for its vCPUs alone.

Source: ``nova/objects/numa.py``, ``NUMACell.pin_cpus_with_siblings``;
``nova/virt/libvirt/driver.py``, ``_update_provider_tree_for_pcpu``.
"""

from __future__ import annotations

import typing as t

from . import servers
from .examples import a_guest, a_server, new_style, no_smt
from .rule import Detail, Rule, ServerCase, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: ServerCase) -> Iterator[Detail]:
    held, due = servers.held(case), servers.due(case)
    taken = case.occupied.bit_count()
    if "PCPU" in held and "PCPU" in due and taken > due["PCPU"]:
        yield Detail(
            f"the server occupies {taken} host CPUs, siblings included, and is due "
            f"PCPU {due['PCPU']}",
            "Placement shows more free CPUs of the host than there are; guests that it sends there "
            "fail in the NUMA fit",
            "migrate it to a host without SMT",
        )


RULE = Rule(
    code="FU-12",
    severity=Severity.WARNING,
    title="Server keeps thread siblings that Placement does not count",
    subject=ServerCase,
    check=_check,
    bad=lambda: a_server(
        new_style(), a_guest(1, 2, allocation={"PCPU": 2}, cpu_thread_policy="isolate")
    ),
    good=lambda: a_server(
        no_smt(), a_guest(1, 2, allocation={"PCPU": 2}, cpu_thread_policy="isolate")
    ),
)
