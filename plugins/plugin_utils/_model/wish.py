# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an operator wishes for the CPUs of a host."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read import cpu_list
from ...module_utils._read.errors import InputError
from .schema import check, path_text, plain, within

if t.TYPE_CHECKING:
    from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class Wish:
    """How the cores of each NUMA cell are to be shared out; all of it in whole cores."""

    housekeeping_cores: int = 1
    """Cores of a cell that are kept for the host itself."""
    housekeeping_in_each_cell: bool = True
    """Or in the cell of CPU 0 alone."""
    shared_fraction: float = 0.0
    """The part of a cell's other cores that is for floating vCPUs, 0 to 1."""
    shared_cores: int | None = None
    """The number of these cores instead."""
    leave_out: int = 0
    """CPUs that stay out of it, with their thread siblings (bitmask)."""


@dataclasses.dataclass(frozen=True, slots=True)
class ExplicitSets:
    """Both sets as an operator spells them; None for a set that there is not to be."""

    cpu_shared_set: str | None = None
    cpu_dedicated_set: str | None = None


def wish(document: object, where: str = "wish") -> Wish:
    """Build a wish from its document.

    Raises ``InputError`` that names the key.
    """
    with within(where):
        given = _checked(document, "wish:1")
        if "shared_cores" in given and "shared_fraction" in given:
            raise InputError(
                "shared_cores and shared_fraction exclude one another", "one of them", ""
            )
        leave_out = str(given.pop("leave_out", ""))
        try:
            return Wish(**given, leave_out=cpu_list.parse_kernel(leave_out))
        except cpu_list.CpuListError as problem:
            raise problem.at(path_text(("leave_out",))) from None


def explicit_sets(document: object, where: str = "sets") -> ExplicitSets:
    """Build explicit sets from their document.

    Raises ``InputError`` that names the key.
    """
    with within(where):
        given = _checked(document, "wish:1#/$defs/sets")
        return ExplicitSets(**{name: str(text) for name, text in given.items()})


def _checked(document: object, reference: str) -> dict[str, t.Any]:
    given: Mapping[str, t.Any] = plain(document)
    check(given, reference)
    return {name: value for name, value in given.items() if name != "format"}
