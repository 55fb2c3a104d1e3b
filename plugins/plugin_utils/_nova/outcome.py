# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of one boot request on one host."""

from __future__ import annotations

import dataclasses
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .fit import Fitted

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
    fitted: Fitted | None = None
    """The guest's place on the host; None for a guest without NUMA topology."""
    allocation: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Amounts that Placement allocates, by resource class."""

    @property
    def boots(self) -> bool:
        return self.stage is None

    @property
    def cells(self) -> tuple[int, ...]:
        """Host cell of each guest cell; empty for a guest without NUMA topology."""
        return self.fitted.cells if self.fitted else ()

    @property
    def pins(self) -> dict[int, int]:
        """vCPU to host CPU; exact where the history of the host's books is known."""
        return self.fitted.pins if self.fitted else {}

    @property
    def reserved(self) -> frozenset[int]:
        """Host CPUs kept for emulator threads."""
        return self.fitted.reserved if self.fitted else frozenset()
