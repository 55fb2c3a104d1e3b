# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order in which CPython's sets of small integers iterate.

Nova pins a vCPU to the first threads that a set of host CPUs happens to give. The order is fixed
by the ids, by the order of insertion and by the size of the hash table. This code runs on CPython
too and so does the same set operations instead of imitating them; a set is passed on as the tuple
of its members in that order.

Source: CPython ``Objects/setobject.c``; measured on 3.8 to 3.13, where it is one and the same.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import ids

if t.TYPE_CHECKING:
    from collections.abc import Iterable


def rebuilt(members: Iterable[int]) -> tuple[int, ...]:
    """Insert ``members`` one by one into a new set, and list it.

    >>> rebuilt([24, 4]), rebuilt([3, 11]), rebuilt([11, 3])
    ((24, 4), (11, 3), (3, 11))
    """
    return tuple(set(members))


def intersection(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """List ``left & right``: the smaller of the two is walked, the right one if they are equal.

    >>> intersection((24, 4), (0, 4, 24))
    (24, 4)
    """
    if len(right) > len(left):
        left, right = right, left
    kept = set(left)
    return tuple({member for member in right if member in kept})


def difference(left: tuple[int, ...], dropped: int) -> tuple[int, ...]:
    """List ``left`` less the members of the bitmask ``dropped``.

    >>> difference((0, 1, 2), 0b10)
    (0, 2)
    """
    return tuple(set(left) - set(ids(dropped)))
