# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Server holds another amount of CPUs than it should.

The reshape takes over the amount of VCPU: a server with a CPU of its own for emulator threads holds
one PCPU too few, and one with policy mixed is left out.

Source: ``nova/virt/libvirt/driver.py``, ``_update_provider_tree_for_pcpu``;
``nova/scheduler/utils.py``, ``_translate_pinning_policies``.
"""

from __future__ import annotations

import typing as t

from . import servers
from .examples import a_guest, a_server, new_style
from .rule import Detail, Rule, ServerCase, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: ServerCase) -> Iterator[Detail]:
    held, due = servers.held(case), servers.due(case)
    if not held or held == due or held.keys() - due.keys():
        return
    less = any(held.get(name, 0) < amount for name, amount in due.items())
    yield Detail(
        f"the server holds {servers.told(held)}, where {servers.told(due)} is right"
        + (", as a reshape would leave it" if _reshaped(case, held) else ""),
        f"Placement shows {'more' if less else 'fewer'} free CPUs of the host than there are"
        + ("; guests that it sends there fail in the NUMA fit" if less else ""),
        "migrate it: the allocation is made anew",
    )


def _reshaped(case: ServerCase, held: dict[str, int]) -> bool:
    guest = case.resident.guest
    reserves = guest is not None and guest.emulator_threads_policy == "isolate"
    return reserves and held == {"PCPU": case.server.flavor.vcpus}


RULE = Rule(
    code="FU-11",
    severity=Severity.WARNING,
    title="Server holds another amount of CPUs than it should",
    subject=ServerCase,
    check=_check,
    bad=lambda: a_server(
        new_style(),
        a_guest(1, 2, reserved="3", allocation={"PCPU": 2}, emulator_threads_policy="isolate"),
    ),
    good=lambda: a_server(
        new_style(),
        a_guest(1, 2, reserved="3", allocation={"PCPU": 3}, emulator_threads_policy="isolate"),
    ),
)
