# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""It is not known which servers are there, or where they are pinned.

Whether nova-compute goes on with other sets hangs on the CPUs that its servers hold. Where nobody
told, nothing here says that the restart is safe. It is an info where servers are given, though none
of this host, and nothing is known to be pinned there: the host is then taken to be empty.

Source: ``nova/compute/resource_tracker.py``, ``_update_usage_from_instances``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.server import Server
from . import restarts
from .examples import a_guest, a_restart, legacy, new_style
from .rule import Detail, RestartCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

_GIVE = (
    "give them as servers: domain XML of the host (virsh dumpxml), a dump of Nova's database, or a "
    "servers document with cells"
)
_UNJUDGED = "whether the new sets have the CPUs of the servers is not known: take it for unsafe"


def _check(case: RestartCase) -> Iterator[Detail]:
    unplaced = [each for each in case.residents if each.pinned and not each.located]
    if unplaced:
        yield Detail(
            f"nobody told where {restarts.servers(unplaced, 'are', 'is')} pinned",
            _UNJUDGED,
            _GIVE,
        )
    if case.residents:
        return
    pinned = 0
    for cell in case.before.cells or ():
        pinned |= cell.pinned_cpus
    used = case.before.provider.used if case.before.provider else {}
    amounts = ", ".join(f"{used[name]} {name}" for name in ("VCPU", "PCPU") if used.get(name))
    if pinned or (amounts and not case.servers_told):
        held = f"CPU {to_text(pinned)} is pinned" if pinned else f"{amounts} are allocated"
        yield Detail(f"{held}, but no server of the host is given", _UNJUDGED, _GIVE)
    elif case.servers_told:
        yield Detail(
            "no server of the host is given, though of others",
            "the host is judged as an empty one",
            f"if it is not empty: {_GIVE}",
            severity=Severity.INFO,
        )
    else:
        yield Detail("no server is given", _UNJUDGED, _GIVE)


def _unplaced() -> Server:
    return a_guest(vcpus=2, cpu_policy="dedicated")


RULE = Rule(
    code="FU-08",
    severity=Severity.WARNING,
    title="It is not known which servers are there, or where they are pinned",
    subject=RestartCase,
    check=_check,
    bad=lambda: a_restart(legacy(), new_style(), _unplaced()),
    good=lambda: a_restart(legacy(), new_style(), a_guest(1, 2)),
)
