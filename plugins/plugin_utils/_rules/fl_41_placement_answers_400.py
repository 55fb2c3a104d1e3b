# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A query that Placement answers with 400.

Placement refuses a query as a whole: for a trait that does not exist, a trait both required and
forbidden, a group of traits without resources (traits:X is trait:X of a group named s), or a
query without resources. Nova takes that for no host, or falls over with TypeError where it also
sent the fallback query.

Source: ``nova/scheduler/manager.py``, ``select_destinations``; openstack-placement.
"""

from __future__ import annotations

import typing as t

from .._nova import candidates, request
from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if case.refusal:
        return
    for query in request.queries(case.flavor, case.image, case.scheduler):
        if query is None:
            continue
        try:
            candidates.check(query)
        except candidates.BadQuery as error:
            specs = case.flavor.extra_specs.items()
            wrong = [key for key in case.flavor.extra_specs if key.startswith("traits:")]
            right = {
                key.replace("traits:", "trait:"): value for key, value in specs if key in wrong
            }
            fix = (
                f"{flavors.unset_command(case, *wrong)}\n" + flavors.set_command(case, right)
                if wrong
                else f"openstack flavor show {case.flavor.name} -c properties  # mend trait keys"
            )
            yield Detail(str(error), "no host is found: Placement answers 400", fix)
            return


RULE = Rule(
    code="FL-41",
    severity=Severity.ERROR,
    title="A query that Placement answers with 400",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="dedicated", specs={"traits:CUSTOM_VDPA": "required"}),
    good=lambda: a_flavor(cpu_policy="dedicated", specs={"trait:CUSTOM_VDPA": "required"}),
)
