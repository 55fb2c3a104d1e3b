# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several descriptions of one domain side by side."""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import mask, to_text
from .._rules.guests import drift

if t.TYPE_CHECKING:
    from .._model.guest_xml import GuestXml
    from .._rules.guests import Difference

_LARGEST = 1 << 16
"""Numbers from which on none is taken for that of a vCPU, thread or cell."""


class Line(t.NamedTuple):
    """One element, as each of the descriptions has it."""

    element: str
    """Such as ``emulatorpin``, or ``vcpusched of vCPU 1-3``."""
    texts: tuple[str, ...]
    """What it is, one for each description: ``none`` where it is absent, "" where there is no such
    description."""


def compared(xmls: tuple[GuestXml | None, ...]) -> tuple[Line, ...]:
    """List the elements in which descriptions differ; what is None takes no part.

    Elements of one kind with the same texts stand together.
    """
    first = next((xml for xml in xmls if xml), None)
    if first is None:
        return ()
    found: list[dict[tuple[str, str], Difference] | None] = [
        None if xml is None else {(each.element, each.at): each for each in drift(first, xml)}
        for xml in xmls
    ]
    plain = {key: each.predicted for told in found if told for key, each in told.items()}
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for key, text in plain.items():
        texts = tuple(
            "" if told is None else told[key].live if key in told else text for told in found
        )
        groups.setdefault((key[0], texts), []).append(key[1])
    return tuple(Line(_named(name, at), texts) for (name, texts), at in groups.items())


def _named(element: str, owners: list[str]) -> str:
    """Name an element with all of its owners.

    >>> _named("vcpusched", ["vCPU 1", "vCPU 2", "vCPU 3"]), _named("locked", [""])
    ('vcpusched of vCPU 1-3', 'locked')
    """
    kinds: dict[str, list[int]] = {}
    for owner in owners:
        kind, _blank, number = owner.rpartition(" ")
        if number.isdecimal() and len(number) < len(str(_LARGEST)):
            kinds.setdefault(kind, []).append(int(number))
    named = ", ".join(f"{kind} {to_text(mask(numbers))}" for kind, numbers in kinds.items())
    return f"{element} of {named}" if named else element
