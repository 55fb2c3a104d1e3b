# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A query that asks for no CPU.

resources:PCPU=0 or resources:VCPU=0 counts as an amount given, so that Nova adds none of its own,
and is then dropped. Every host with memory is a candidate and no CPU is allocated.

Source: ``nova/scheduler/utils.py``, ``ResourceRequest``.
"""

from __future__ import annotations

import typing as t

from .._nova import request
from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if case.refusal:
        return
    named: tuple[str, ...] = ("primary", "fallback")
    queries = request.queries(case.flavor, case.image, case.scheduler)
    for name, query in zip(named, queries, strict=True):
        if query is not None and not {"VCPU", "PCPU"} & query.resources.keys():
            zeros = [key for key in case.flavor.extra_specs if flavors.EXPLICIT.match(key)]
            yield Detail(
                f"the {name} query asks for neither VCPU nor PCPU",
                "guests take CPUs that Placement does not count",
                flavors.unset_command(case, *zeros),
            )


RULE = Rule(
    code="FL-44",
    severity=Severity.ERROR,
    title="A query that asks for no CPU",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(specs={"resources:PCPU": "0"}),
    good=lambda: a_flavor(specs={"resources:PCPU": "4"}),
)
