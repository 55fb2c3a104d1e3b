# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets of CPUs: Nova's lists, the kernel's lists and hex masks.

In the engine a set of CPUs is an ``int`` whose bit *n* stands for CPU *n*; at every border it is
the text that :func:`to_text` writes. Nothing else converts between the two.
"""

from __future__ import annotations

import re
import typing as t

from .errors import InputError, quoted

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LIMIT = 1 << 16
"""CPU ids from here on are refused. No kernel has as many (8192); without a limit one mistyped
range would fill the memory (Nova itself has none and does just that)."""

_NOVA = "ids and rising ranges with commas between them, each with an optional ^ (0-7,^3)"
_KERNEL = "ids and rising ranges with commas between them, A-B:used/group, N, all (0-7,16-31:2/8)"
_HEX = "hexadecimal digits, optionally with 0x in front and commas between groups (0xff,00000003)"
_KERNEL_ITEM = re.compile(r"([0-9]{1,10}|N)(?:-([0-9]{1,10}|N)(?::([0-9]{1,10})/([0-9]{1,10}))?)?")
_DIGITS = 4300
"""Characters that a number may have: what Python's ``int`` takes by default."""
_HEX_MASK = re.compile(r"(?:0[xX])?([0-9a-fA-F]+(?:,[0-9a-fA-F]+)*)")


class CpuListError(InputError):
    """A list of CPUs that its reader refuses (in Nova: ``Invalid``)."""


def mask(cpus: Iterable[int]) -> int:
    """Make the set of ``cpus``.

    >>> mask([0, 3])
    9
    """
    result = 0
    for cpu in cpus:
        result |= 1 << cpu
    return result


def ids(cpus: int) -> Iterator[int]:
    """List the members of a set, ascending.

    >>> list(ids(9))
    [0, 3]
    """
    while cpus:
        low = cpus & -cpus
        yield low.bit_length() - 1
        cpus ^= low


def size(cpus: int) -> int:
    """Count the members of a set.

    >>> size(9)
    2
    """
    return bin(cpus).count("1")


def to_text(cpus: int) -> str:
    """Write a set as the shortest list of ids and ranges, ascending; the empty set as ``""``.

    >>> to_text(0b100000111)
    '0-2,8'

    Source: ``nova/virt/hardware.py``, ``format_cpu_spec``.
    """
    runs = []
    while cpus:
        low = (cpus & -cpus).bit_length() - 1
        run = (~(cpus >> low) & ((cpus >> low) + 1)).bit_length() - 1
        runs.append(str(low) if run == 1 else f"{low}-{low + run - 1}")
        cpus = cpus >> (low + run) << (low + run)
    return ",".join(runs)


def _range(first: int, last: int, item: str, accepted: str) -> int:
    if first > last:
        raise CpuListError(f"the range {quoted(item)} falls", accepted)
    if last >= LIMIT:
        raise CpuListError(f"{quoted(item)} is beyond any host's CPUs", f"ids below {LIMIT}")
    return (1 << (last + 1)) - (1 << first)


def _nova_item(item: str) -> int:
    first, dash, last = item.partition("-")
    try:
        if len(item) > _DIGITS:
            raise ValueError
        low, high = int(first), int(last if dash else first)
    except ValueError:
        raise CpuListError(f"{quoted(item)} is neither a CPU id nor a range", _NOVA) from None
    return _range(low, high, item, _NOVA)


def parse_nova(text: str) -> int:
    """Read a list as Nova's options, extra specs and image properties spell it.

    Items stand between commas; empty ones are passed over. An item that starts with ``^`` is taken
    out of the whole list, wherever it stands. Numbers are what Python's ``int`` reads.

    >>> to_text(parse_nova("^2, 0 - 4"))
    '0-1,3-4'

    Raises :class:`CpuListError` where Nova raises ``Invalid``, and for ids from :data:`LIMIT` on.

    Source: ``nova/virt/hardware.py``, ``parse_cpu_spec``.
    """
    included = excluded = 0
    for item in filter(None, map(str.strip, text.split(","))):
        if item.startswith("^"):
            excluded |= _nova_item(item[1:])
        else:
            included |= _nova_item(item)
    return included & ~excluded


def parse_kernel(text: str, last: int | None = None) -> int:
    """Read a list as sysfs and the kernel's command line spell it.

    Items stand between commas or blanks: ``A``, ``A-B``, ``A-B:used/group`` (of every ``group``
    CPUs the first ``used``), ``all``. ``N`` stands for the id ``last``; where ``last`` is unknown,
    ``N`` and ``all`` are refused.

    >>> to_text(parse_kernel("0-7:2/4,N", last=15))
    '0-1,4-5,15'

    Raises :class:`CpuListError` for anything else.

    Source: kernel ``lib/bitmap-str.c``, ``bitmap_parselist``;
    ``Documentation/admin-guide/kernel-parameters.rst``.
    """
    result = 0
    for item in filter(None, re.split(r"[\s,]+", text)):
        if item.lower() == "all" and last is not None:
            result |= _range(0, last, item, _KERNEL)
            continue
        found = _KERNEL_ITEM.fullmatch(item)
        if not found or ("N" in item and last is None):
            raise CpuListError(f"{quoted(item)} is no item of a kernel CPU list", _KERNEL)
        first, end, used, group = found.groups()
        low, high = (_kernel_id(part, last) for part in (first, end or first))
        span = _range(low, high, item, _KERNEL)
        if group is not None:
            span &= _pattern(low, high, int(used), int(group), item)
        result |= span
    return result


def _kernel_id(text: str, last: int | None) -> int:
    return last if text == "N" and last is not None else int(text)


def _pattern(low: int, high: int, used: int, group: int, item: str) -> int:
    if not 0 < used <= group:
        raise CpuListError(f"{quoted(item)} takes {used} of every {group} CPUs", _KERNEL)
    # A group longer than the range is used once; without the cut its size could be anything.
    group = min(group, high - low + 1)
    groups = (high - low) // group + 1
    starts = ((1 << group * groups) - 1) // ((1 << group) - 1)
    return starts * ((1 << min(used, group)) - 1) << low


def parse_hex(text: str) -> int:
    """Read a hex mask, as OVS, tuned and procfs spell it.

    ``0x`` may stand in front. Commas, if any, stand between groups of 32 bits, highest first.

    >>> to_text(parse_hex("00000001,00000003"))
    '0-1,32'

    Raises :class:`CpuListError` for anything else.

    Source: kernel ``lib/bitmap-str.c``, ``bitmap_parse``; OVS ``other_config:pmd-cpu-mask``.
    """
    found = _HEX_MASK.fullmatch(text.strip())
    groups = found[1].split(",") if found else []
    if not found or (len(groups) > 1 and any(len(group) > 8 for group in groups)):
        raise CpuListError(f"{quoted(text)} is no CPU mask", _HEX)
    if len(found[1]) > LIMIT // 4:
        raise CpuListError(f"{quoted(text)} is beyond any host's CPUs", f"ids below {LIMIT}")
    return int("".join(group.zfill(8) for group in groups), 16)
