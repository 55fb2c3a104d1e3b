# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Isolate, and every host with dedicated CPUs has SMT.

From Train on isolate means a host without SMT. On hosts with SMT and cpu_dedicated_set it is
forbidden by trait, and the fit refuses it too; only legacy hosts emulate it.

Source: ``nova/scheduler/utils.py``, ``_translate_pinning_policies``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor, new_style, no_smt
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if not flavors.isolates(case) or not case.hosts or case.refusal:
        return
    if any(outcome.boots for outcome in case.outcomes):
        return
    smt = [
        host.names[0]
        for host in case.hosts
        if host.sets and host.sets.dedicated and host.host.topology.hyperthreading
    ]
    if smt:
        yield Detail(
            f"isolate, and every host with dedicated CPUs ({smt[0]} for one) has SMT",
            "the guest fits no host: NoValidHost",
            "disable SMT on hosts for it (kernel argument nosmt), or "
            + flavors.set_command(case, {"hw:cpu_thread_policy": "require"}),
            hosts=tuple(smt),
        )


RULE = Rule(
    code="FL-20",
    severity=Severity.ERROR,
    title="Isolate, and every host with dedicated CPUs has SMT",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(new_style(), cpu_policy="dedicated", cpu_thread_policy="isolate"),
    good=lambda: a_flavor(
        new_style(), no_smt(), cpu_policy="dedicated", cpu_thread_policy="isolate"
    ),
    by_subject=True,
)
