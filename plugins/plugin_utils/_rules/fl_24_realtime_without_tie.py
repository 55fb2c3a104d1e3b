# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime flavor that may land on an untuned host.

Nothing but a trait or an aggregate keeps a realtime guest on hosts that were tuned for it. A trait
does so only where tuned hosts carry it and others do not.

Source: Nova's real-time guide.
"""

from __future__ import annotations

import typing as t

from . import flavors, hosts
from .examples import a_flavor
from .host_sets import lands
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .rule import HostCase


def _check(case: FlavorCase) -> Iterator[Detail]:
    specs = case.flavor.extra_specs
    if not flavors.realtime(case) or case.refusal:
        return
    if any(key.startswith("aggregate_instance_extra_specs:") for key in specs):
        return
    asked = [key.removeprefix("trait:") for key in specs if _ties(key, specs[key])]
    landing = [
        host for host, outcome in zip(case.hosts, case.outcomes, strict=True) if lands(outcome)
    ]
    told = [host for host in landing if host.view.known_traits]
    untuned = [host for host in (told if asked else landing) if not _tuned(host)]
    if untuned or (not asked and not case.hosts):
        yield Detail(
            f"untuned hosts carry {', '.join(asked)} too"
            if asked
            else "no trait and no aggregate ties the flavor to realtime hosts",
            "the guest may land on a host that is not tuned",
            _fix(case),
            hosts=tuple(host.names[0] for host in untuned),
        )
    elif asked and landing and not told:
        yield Detail(
            f"nobody told whether a host carries {', '.join(asked)}",
            "without a host that does, every boot ends with No valid host",
            "openstack --os-placement-api-version 1.6 resource provider trait list UUID"
            "  # of each host; keep them as traits of the hosts in a fleet file",
            severity=Severity.INFO,
            hosts=tuple(host.names[0] for host in landing),
        )


def _ties(key: str, value: str) -> bool:
    return key.startswith("trait:CUSTOM_") and value == "required"


def _tuned(host: HostCase) -> bool:
    return hosts.realtime(host) or hosts.isolated(host) != 0


def _fix(case: FlavorCase) -> str:
    """Make the trait, give it to the tuned hosts, and then ask for it."""
    tuned = hosts.few([name for host in case.hosts if _tuned(host) for name in host.names])
    placement = "openstack --os-placement-api-version 1.6"
    return (
        f"{placement} trait create {TRAIT}\n"
        f"{placement} resource provider trait set --trait {TRAIT} UUID"
        f"  # of each realtime host{f' ({tuned})' if tuned else ''}; name its other traits too, "
        "set replaces them (or an aggregate, or provider.yaml from 23.0.0 on)\n"
        + flavors.set_command(case, {f"trait:{TRAIT}": "required"})
    )


TRAIT = "CUSTOM_REALTIME"

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
