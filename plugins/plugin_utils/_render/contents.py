# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the texts of a host say: its options, and what isolates its CPUs."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.cpu_list import parse_nova, to_text
from .._plan.cpu_sets import REPLACED
from .._rules.hosts import CPU_OPTIONS

if t.TYPE_CHECKING:
    from .._model.config import HostConfig
    from .._plan.proposal import Proposal

Options = tuple[tuple[str, str], ...]
"""Names and values."""


@dataclasses.dataclass(frozen=True, slots=True)
class Contents:
    """What templates are filled with; equal hosts have equal contents.

    Lists of CPUs are canonical; nothing in here is free text.
    """

    sections: tuple[tuple[str, Options], ...]
    """Sections of ``nova.conf`` with their options, none of them empty."""
    absent: tuple[str, ...]
    """Options that no other file may set: one that is merged cannot unset them."""
    isolated: str
    """CPUs that tuned isolates; "" for none."""
    tuned_profile: str
    kernel: Options
    """Arguments of the kernel."""


def contents(proposal: Proposal) -> Contents:
    """Work out what the texts of a class of hosts say."""
    now, then = proposal.now.config, proposal.then.config
    sections = {"DEFAULT": _default(now, then), "compute": _sets(then)}
    isolated = to_text(proposal.isolated)
    return Contents(
        tuple((name, options) for name, options in sections.items() if options),
        tuple(name for name in CPU_OPTIONS if not getattr(then, name)),
        isolated,
        "realtime-virtual-host" if proposal.realtime else "cpu-partitioning",
        _kernel(proposal) if proposal.realtime else (),
    )


def removed(now: HostConfig, then: HostConfig) -> dict[str, str]:
    """List the options that are set now and no more then, with where they stand."""
    gone = {
        name: now.where(name)
        for name in CPU_OPTIONS
        if getattr(now, name) and not getattr(then, name)
    }
    misplaced = {
        f"{name} where Nova does not read it": stray.where
        for stray in now.strays
        for name in REPLACED
        if stray not in then.strays and stray.belongs.endswith(name)
    }
    return {**gone, **misplaced}


def _default(now: HostConfig, then: HostConfig) -> Options:
    options = []
    if then.vcpu_pin_set:
        options.append(("vcpu_pin_set", to_text(parse_nova(then.vcpu_pin_set))))
    written = now.reserved_host_cpus or "reserved_host_cpus" in now.origins
    if written and not then.reserved_host_cpus:
        # The default, written out: it wins over what the files merged before it say.
        options.append(("reserved_host_cpus", "0"))
    return tuple(options)


def _sets(then: HostConfig) -> Options:
    return tuple(
        (name, to_text(parse_nova(value)))
        for name in ("cpu_shared_set", "cpu_dedicated_set")
        if (value := getattr(then, name))
    )


def _kernel(proposal: Proposal) -> Options:
    isolated = to_text(proposal.isolated)
    others = to_text(proposal.then.topology.online & ~proposal.isolated)
    return (
        ("isolcpus", f"managed_irq,domain,{isolated}"),
        ("nohz_full", isolated),
        ("rcu_nocbs", isolated),
        ("irqaffinity", others),
    )
