# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of one boot request on one host."""

from __future__ import annotations

import dataclasses
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping

Stage = t.Literal["api", "startup", "placement", "filter", "claim", "driver"]
Query = t.Literal["primary", "fallback"]


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """Where a guest lands on a host, or the stage that refuses it and why.

    A boot has ``query`` set and ``stage`` None, a refusal the other way round.
    """

    query: Query | None = None
    """The query whose candidate was used."""
    stage: Stage | None = None
    reason: str = ""
    """Why it is refused, one line."""
    error: str = ""
    """Class of Nova's exception, where there is one."""
    cells: tuple[int, ...] = ()
    """Host cell of each guest cell; empty for a guest without NUMA topology."""
    pins: Mapping[int, int] = dataclasses.field(default_factory=dict)
    """vCPU to host CPU; exact where the history of the host's books is known."""
    reserved: frozenset[int] = frozenset()
    """Host CPUs kept for emulator threads."""
    allocation: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Amounts that Placement allocates, by resource class."""

    @property
    def boots(self) -> bool:
        return self.stage is None
