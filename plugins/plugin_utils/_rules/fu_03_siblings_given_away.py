# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The siblings that a server with policy isolate keeps free are given away.

Its pins alone are not all that it holds: on a legacy host with SMT the other threads of its cores
are its own too. Where such a thread becomes shared, nova-compute runs and each of its updates
fails, with no warning in its log (unless the server's own thread is in no set either: then Nova
goes on, and counts neither); where it is left to the host, Nova goes on, and the host's own
processes run beside the server's vCPUs.

Source: ``nova/objects/numa.py``, ``NUMACell.pin_cpus_with_siblings``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import restarts
from .examples import a_guest, a_restart, legacy, new_style
from .rule import Detail, RestartCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: RestartCase) -> Iterator[Detail]:
    sets = restarts.sets(case)
    if case.start.refusal or sets is None:
        return
    lost = 0
    losers = []
    for resident in case.residents:
        outside = restarts.kept_siblings(case, resident) & ~sets.pinnable
        if outside:
            lost |= outside
            losers.append(resident)
    if not losers:
        return
    shared = lost & sets.shared
    if not shared:
        effect = "what the host runs on these CPUs slows the vCPUs down that share their cores"
    elif case.start.failure:
        effect = restarts.STALE.format(case.start.failure.name)
    else:
        effect = "nova-compute runs, and floating servers run beside the vCPUs on these cores"
    yield Detail(
        f"{restarts.servers(losers, 'keep')} CPU {to_text(lost)} "
        f"free, which would be {f'shared ({to_text(shared)})' if shared else 'left to the host'}",
        effect,
        f"{restarts.keeping(case, sets)}\n(or first: {restarts.moves(losers)})",
        restarts.where_pinned(case),
        None if shared else Severity.WARNING,
    )


RULE = Rule(
    code="FU-03",
    severity=Severity.ERROR,
    title="The siblings that a server with policy isolate keeps free are given away",
    subject=RestartCase,
    check=_check,
    bad=lambda: a_restart(
        legacy(),
        new_style(cpu_shared_set="17-20", cpu_dedicated_set="1-7"),
        a_guest(1, 2, cpu_thread_policy="isolate"),
    ),
    good=lambda: a_restart(legacy(), new_style(), a_guest(1, 2, cpu_thread_policy="isolate")),
)
