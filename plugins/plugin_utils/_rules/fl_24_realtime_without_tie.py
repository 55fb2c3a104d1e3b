# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime flavor that may land on an untuned host.

Nothing but a trait or an aggregate keeps a realtime guest on hosts that were tuned for it.

Source: Nova's real-time guide.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if not flavors.realtime(case) or case.refusal:
        return
    tied = any(
        key.startswith(("trait:CUSTOM_", "aggregate_instance_extra_specs:"))
        for key in case.flavor.extra_specs
    )
    untuned = [
        host.names[0]
        for host, outcome in zip(case.hosts, case.outcomes, strict=True)
        if outcome.boots and not (host.host.isolation and host.host.isolation.domain)
    ]
    if not tied and (untuned or not case.hosts):
        yield Detail(
            "no trait and no aggregate ties the flavor to realtime hosts",
            "the guest may land on a host that is not tuned",
            flavors.set_command(case, {"trait:CUSTOM_REALTIME": "required"}),
            hosts=tuple(untuned),
        )


RULE = Rule(
    code="FL-24",
    severity=Severity.WARNING,
    title="Realtime flavor that may land on an untuned host",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0"),
    good=lambda: a_flavor(
        cpu_policy="dedicated",
        cpu_realtime="yes",
        cpu_realtime_mask="^0",
        specs={"trait:CUSTOM_REALTIME": "required"},
    ),
)
