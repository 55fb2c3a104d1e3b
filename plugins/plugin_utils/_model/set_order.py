# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order in which CPython's sets of small integers iterate.

Nova pins a vCPU to the first threads that a set of host CPUs happens to give. The order is fixed
by the ids, by the order of insertion and by the size of the hash table. This code runs on CPython
too and so does the same set operations instead of imitating them; a set is passed on as the tuple
of its members in that order. What differs on older Pythons, the hash of a tuple, is written out.

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


def narrowed(core: tuple[int, ...], order: tuple[int, ...], members: int) -> tuple[int, ...]:
    """List ``core & order``, where the bitmask ``members`` has what is in ``order``.

    >>> narrowed((24, 4), (0, 4, 24), 1 << 24 | 1 << 4 | 1)
    (24, 4)
    """
    if len(order) > len(core):
        return tuple({member for member in core if members >> member & 1})
    return intersection(core, order)


def difference(left: tuple[int, ...], dropped: int) -> tuple[int, ...]:
    """List a set, inserted in the order ``left``, less the members of the bitmask ``dropped``.

    >>> difference((0, 1, 2), 0b10)
    (0, 2)
    """
    return tuple(set(left) - set(ids(dropped)))


def listed(cores: Iterable[tuple[int, ...]], *, old_hash: bool) -> tuple[tuple[int, ...], ...]:
    """Insert tuples of ints one by one into a new set, and list it.

    ``old_hash`` lists it as CPython 3.7 and older would.

    >>> listed([(0, 4), (1, 5), (2, 6), (3, 7)], old_hash=True)
    ((1, 5), (2, 6), (3, 7), (0, 4))

    Source: CPython ``Objects/tupleobject.c``, ``tuplehash``, as of 3.7.
    """
    if not old_hash:
        return tuple(set(cores))
    table: list[tuple[int, tuple[int, ...]] | None] = [None] * 8
    for used, core in enumerate(dict.fromkeys(cores), start=1):
        _insert(table, _old_hash(core), core)
        if used * 3 >= (len(table) - 1) * 2:
            entries = [entry for entry in table if entry]
            table = [None] * _grown(used * 4)
            for hashed, member in entries:
                _insert(table, hashed, member)
    return tuple(entry[1] for entry in table if entry)


_WORD = (1 << 64) - 1
_LINEAR_PROBES = 9


def _old_hash(members: tuple[int, ...]) -> int:
    value, factor = 0x345678, 1000003
    for left in range(len(members) - 1, -1, -1):
        value = (value ^ members[len(members) - 1 - left]) * factor & _WORD
        factor += 82520 + 2 * left
    value = value + 97531 & _WORD
    return value if value != _WORD else _WORD - 1


def _grown(least: int) -> int:
    size = 8
    while size <= least:
        size *= 2
    return size


def _insert(
    table: list[tuple[int, tuple[int, ...]] | None], hashed: int, member: tuple[int, ...]
) -> None:
    last = len(table) - 1
    slot, perturb = hashed & last, hashed
    while True:
        probes = _LINEAR_PROBES if slot + _LINEAR_PROBES <= last else 0
        for place in range(slot, slot + probes + 1):
            if table[place] is None:
                table[place] = hashed, member
                return
        perturb >>= 5
        slot = slot * 5 + 1 + perturb & last
