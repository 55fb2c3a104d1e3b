# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flavor that never gets the fallback query.

Only policy dedicated is asked for a second time with VCPU. Mixed guests and explicit
resources:PCPU are not, and so never reach a host without cpu_dedicated_set.

Source: ``nova/scheduler/utils.py``, ``_translate_pinning_policies``.
"""

from __future__ import annotations

import typing as t

from .._nova import request
from .._nova.image_properties import HYPERTHREADING
from . import flavors
from .examples import a_flavor, legacy, new_style
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if case.refusal or not flavors.pinned(case) or case.scheduler.disable_fallback_pcpu_query:
        return
    primary, fallback = request.queries(case.flavor, case.image, case.scheduler)
    legacy = [host.names[0] for host in case.hosts if host.sets and host.sets.legacy]
    if fallback is None and "PCPU" in primary.resources and legacy:
        yield Detail(
            f"asks for PCPU {primary.resources['PCPU']} and is not asked for again with VCPU",
            f"{len(legacy)} legacy host class{'es' if len(legacy) > 1 else ''} cannot serve it",
            "move hosts to cpu_dedicated_set first"
            if case.spec("hw:cpu_policy") == "mixed"
            else _fix(case),
            hosts=tuple(legacy),
        )


def _fix(case: FlavorCase) -> str:
    """Ask by policy; what the trait meant too, which both queries would keep."""
    specs = case.flavor.extra_specs
    explicit = [key for key in specs if flavors.EXPLICIT.match(key)]
    policies = {"hw:cpu_policy": "dedicated"}
    if _TRAIT in specs:
        explicit.append(_TRAIT)
        if specs[_TRAIT] == "forbidden":
            policies["hw:cpu_thread_policy"] = "isolate"
    return flavors.unset_command(case, *explicit) + "\n" + flavors.set_command(case, policies)


_TRAIT = f"trait:{HYPERTHREADING}"

RULE = Rule(
    code="FL-48",
    severity=Severity.WARNING,
    title="Flavor that never gets the fallback query",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(legacy(), new_style(), specs={"resources:PCPU": "4"}),
    good=lambda: a_flavor(legacy(), new_style(), cpu_policy="dedicated"),
)
