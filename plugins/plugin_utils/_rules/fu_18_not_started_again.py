# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that runs could not be started again with the new sets.

Nova binds the vCPUs that float, of a server with NUMA cells, to the shared CPUs of the host cell
that it was given. Where that cell has none any more, the next start or hard reboot writes an empty
list, which libvirt refuses, and the server ends in ERROR. So does a realtime server with emulator
policy share on a host that loses ``cpu_shared_set``.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``,
``_get_guest_memory_backing_config``.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from .._nova.schedule import view
from . import restarts
from .examples import a_guest, a_host, a_restart, new_style
from .rule import Detail, RestartCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.server import Server
    from .._nova.resident import Resident


def _check(case: RestartCase) -> Iterator[Detail]:
    if case.start.refusal:
        return
    before, after = (
        view(dataclasses.replace(host, usage=(), allocated={}))
        for host in (case.before.host, case.host)
    )
    found: dict[str, list[Resident]] = collections.defaultdict(list)
    for each in case.residents:
        why = "" if after.fault else restarts.not_again(each, after)
        if why and (before.fault or not restarts.not_again(each, before)):
            found[why].append(each)
    for why, losers in found.items():
        yield Detail(
            f"{restarts.servers(losers, 'run')} on, but not again once stopped: {why}",
            "the next start, hard reboot or restart of the host leaves them in ERROR",
            f"leave each cell that they are in a shared CPU\n(or first: {restarts.moves(losers)})",
        )


def _realtime() -> Server:
    return a_guest(
        2,
        3,
        emulator_threads_policy="share",
        cpu_realtime="yes",
        cpu_realtime_mask="^0",
        allocation={"PCPU": 2},
    )


RULE = Rule(
    code="FU-18",
    severity=Severity.ERROR,
    title="A server could not be started again",
    subject=RestartCase,
    check=_check,
    bad=lambda: a_restart(new_style(), a_host(cpu_dedicated_set="1-15"), _realtime()),
    good=lambda: a_restart(new_style(), new_style(), _realtime()),
)
