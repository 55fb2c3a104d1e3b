# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Floating servers go on over CPUs that become dedicated.

The CPUs that a floating vCPU runs on are written when its domain is defined. A restart of
nova-compute changes no domain: until a hard reboot or a move the server shares CPUs with those that
are promised to pinned ones.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import typing as t

from ...module_utils._read.cpu_list import to_text
from .._nova.schedule import view
from . import restarts
from .examples import a_guest, a_restart, legacy, new_style
from .rule import Detail, RestartCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: RestartCase) -> Iterator[Detail]:
    if case.start.refusal:
        return
    after = view(dataclasses.replace(case.host, usage=(), allocated={}))
    crossing = {
        each.consumer: cpus
        for each in case.residents
        if (cpus := restarts.floats_anew(each, case.before, after))
        and not restarts.not_again(each, after)
    }
    found = [each for each in case.residents if each.consumer in crossing]
    if not found:
        return
    crossed = functools.reduce(operator.or_, crossing.values())
    yield Detail(
        f"{restarts.servers(found, 'float', 'floats')}, or their emulator threads do, over CPU "
        f"{to_text(crossed)}, which become{'s' if crossed.bit_count() == 1 else ''} dedicated",
        "until a hard reboot or a move they take time from the servers that are pinned there",
        restarts.commands("reboot --hard", found) + "\n(after the restart)",
    )


RULE = Rule(
    code="FU-06",
    severity=Severity.WARNING,
    title="Floating servers go on over CPUs that become dedicated",
    subject=RestartCase,
    check=_check,
    bad=lambda: a_restart(legacy(), new_style(), a_guest()),
    good=lambda: a_restart(new_style(), new_style(cpu_dedicated_set="1-7"), a_guest()),
)
