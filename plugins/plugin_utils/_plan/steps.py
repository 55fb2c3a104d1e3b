# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan is made of: steps that were simulated one after the other, and what forbids more."""

from __future__ import annotations

import dataclasses
import enum
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .._model.config import HostConfig
    from .._nova.releases import Release
    from .advisories import Advisory


class Kind(enum.StrEnum):
    """What a step does."""

    CONTROL = "upgrade the control services"
    UPGRADE = "upgrade nova-compute"
    RECONFIGURE = "reconfigure"
    FLIP = "turn the fallback query off"
    CLEAN = "clean up"


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """One server that is migrated off a host before its turn."""

    server: str
    name: str
    source: str
    target: str
    allocation: Mapping[str, int]
    """What it holds on the target, by CPU resource class."""
    live: bool = False
    """Whether it keeps running."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostTurn:
    """One host in a step: what is done with it, and what is true thereafter."""

    host: str
    moves: tuple[Move, ...] = ()
    config: HostConfig | None = None
    """The options to set; None where they stay."""
    inventory: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Totals that it reports, by CPU resource class."""
    reshaped: int = 0
    """Servers whose allocation moves from VCPU to PCPU."""
    short: tuple[str, ...] = ()
    """Servers that hold more CPUs than the reshape allocates to them."""
    reboots: tuple[str, ...] = ()
    """Ids of the servers that float over the old CPUs until they are rebooted hard."""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One step, simulated on everything before it."""

    number: int
    kind: Kind
    turns: tuple[HostTurn, ...] = ()
    release: str = ""
    """The release that services run thereafter, where that changes."""
    room: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Hosts that take one more guest of each flavor in use while the step's hosts are out."""
    note: str = ""

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(turn.host for turn in self.turns)


@dataclasses.dataclass(frozen=True, slots=True)
class Blocker:
    """What forbids to go on, and for which hosts."""

    constraint: str
    """``spare``, ``flavor``, ``class``, ``server``, ``start``, ``release`` or ``fallback``."""
    text: str
    hosts: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """Steps in order, as far as they are safe."""

    steps: tuple[Step, ...]
    blockers: tuple[Blocker, ...]
    """What keeps the plan from its end; none where it gets there."""
    advisories: tuple[Advisory, ...]
    current: Release
    target: Release
    legacy_before: int
    legacy_after: int
    """Hosts that pin to VCPU inventory."""
    flavors: tuple[str, ...]
    """The flavors that are kept schedulable."""
    lost: tuple[str, ...] = ()
    """Flavors that nobody uses, and that boot somewhere today and nowhere in the end."""
    unschedulable: tuple[str, ...] = ()
    """Flavors in use that no host takes as it is, before anything is done."""

    @property
    def complete(self) -> bool:
        return not self.blockers
