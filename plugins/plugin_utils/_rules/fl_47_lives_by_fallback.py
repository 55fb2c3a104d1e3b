# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flavor that boots by the fallback query alone.

The scheduler asks for PCPU, then again for VCPU. Hosts without cpu_dedicated_set are found by the
second query only; [workarounds] disable_fallback_pcpu_query turns it off.

Source: ``nova/scheduler/manager.py``, ``select_destinations``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor, legacy, new_style
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    booting = [outcome for outcome in case.outcomes if outcome.boots]
    legacy = [
        host.names[0]
        for host, outcome in zip(case.hosts, case.outcomes, strict=True)
        if outcome.query == "fallback" and host.sets and host.sets.legacy
    ]
    if legacy and all(outcome.query == "fallback" for outcome in booting):
        yield Detail(
            "no host takes it by the PCPU query; "
            f"{len(legacy)} legacy host class{'es' if len(legacy) > 1 else ''} by the fallback",
            "it boots nowhere once disable_fallback_pcpu_query is on or the last of them is moved",
            "move a host that suits it to cpu_dedicated_set"
            + (" (without SMT, for isolate)" if flavors.isolates(case) else "")
            + " before the fallback goes",
            hosts=tuple(legacy),
        )


RULE = Rule(
    code="FL-47",
    severity=Severity.WARNING,
    title="Flavor that boots by the fallback query alone",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(legacy(), cpu_policy="dedicated"),
    good=lambda: a_flavor(legacy(), new_style(), cpu_policy="dedicated"),
)
