# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Server without pinned vCPUs holds PCPU.

From Ussuri on a flavor may ask for PCPU in a group with a suffix that is no number; Nova then pins
nothing. The server floats over the shared CPUs and holds dedicated ones that stay idle, and pinned
guests that find no PCPU left land beside it with VCPU.

Source: ``nova/virt/hardware.py``, ``numa_get_constraints``; ``nova/scheduler/utils.py``.
"""

from __future__ import annotations

import typing as t

from . import servers
from .examples import a_guest, a_server, new_style
from .rule import Detail, Rule, ServerCase, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: ServerCase) -> Iterator[Detail]:
    held = servers.held(case)
    if "PCPU" in held and not case.resident.pinned:
        caused = servers.by_flavor(case)
        yield Detail(
            f"the server floats and holds {servers.told(held)}"
            + (f"; flavor {case.server.flavor.name} asks for it" if caused else ""),
            "it competes for the shared CPUs uncounted while dedicated ones idle; pinned guests "
            "that find no PCPU left land there with VCPU",
            "resize it to a flavor with hw:cpu_policy=dedicated in place of resources"
            if caused
            else "migrate it: the allocation is made anew",
        )


RULE = Rule(
    code="FU-14",
    severity=Severity.ERROR,
    title="Server without pinned vCPUs holds PCPU",
    subject=ServerCase,
    check=_check,
    bad=lambda: a_server(new_style(), a_guest(allocation={"PCPU": 2})),
    good=lambda: a_server(new_style(), a_guest(allocation={"VCPU": 2})),
)
