# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Extra spec that microversion 2.86 would have refused.

Clients that speak an older microversion (openstacksdk, Terraform) store extra specs unchecked.
The value works today and is refused the next time the flavor is made by a newer client.

Source: ``nova/api/validation/extra_specs``.
"""

from __future__ import annotations

import typing as t

from .._nova import extra_specs
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if case.refusal or not case.release.extra_spec_validation:
        return
    for key, value in case.flavor.extra_specs.items():
        known = key.partition(":")[2].split(".")[0] in extra_specs.known_keys(case.release)
        problem = extra_specs.check(key, value, case.release) if known else None
        if problem:
            yield Detail(
                problem,
                "the flavor cannot be made again with microversion 2.86 or newer (400)",
                f"openstack flavor show {case.flavor.name} -c properties  # respell {key}",
            )


RULE = Rule(
    code="FL-55",
    severity=Severity.INFO,
    title="Extra spec that microversion 2.86 would have refused",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_realtime="banana"),
    good=lambda: a_flavor(cpu_realtime="no"),
)
