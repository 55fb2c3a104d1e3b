# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's command line: its words, and what ``isolcpus`` isolates."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .cpu_list import CpuListError, parse_kernel
from .errors import quoted

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .files import Tree

PATH = "/proc/cmdline"

LAST = frozenset(
    {
        "default_hugepagesz",
        "irqaffinity",
        "kthread_cpus",
        "maxcpus",
        "mitigations",
        "nosmt",
        "nr_cpus",
        "rcu_nocbs",
        "systemd.cpu_affinity",
        "tuned.non_isolcpus",
    }
)
"""Arguments of which the last one counts."""
FIRST = frozenset({"isolcpus", "nohz_full"})
"""Arguments of which the first one counts: kernels since 4.15 refuse a second list."""
ALL = frozenset({"hugepages", "hugepagesz"})
"""Arguments that come in pairs, again and again: all values are returned, in order."""
BARE = frozenset({"nosmt", "rcu_nocbs"})
"""Arguments that mean something without a value; the others are passed over then."""

FLAGS = ("domain", "managed_irq", "nohz")

_WORD = re.compile(r'(?:[^\s"]|"[^"]*(?:"|$))+')
_FLAG = re.compile(r"[a-zA-Z]")
_FLAG_NAME = re.compile(r"[a-zA-Z_]+")


def words(text: str) -> Iterator[tuple[str, str | None]]:
    """Split a command line into names and values; None for a word without ``=``.

    Double quotes keep blanks together; quotes round a word or a value are dropped. What follows
    ``--`` belongs to init.

    >>> list(words('ro isolcpus=2-7 "a=b c" -- nohz_full=3'))
    [('ro', None), ('isolcpus', '2-7'), ('a', 'b c')]

    Source: kernel ``lib/cmdline.c``, ``next_arg``; ``kernel/params.c``, ``parse_args``.
    """
    for found in _WORD.finditer(text):
        word = found[0]
        quoted_word = word.startswith('"')
        if quoted_word:
            word = word[1:]
        name, equals, value = word.partition("=")
        if not equals:
            name = name[:-1] if quoted_word and name.endswith('"') else name
            if name == "--":
                return
            yield name, None
            continue
        if value.startswith('"'):
            value = value[1:]
            quoted_word = True
        yield name, value[:-1] if quoted_word and value.endswith('"') else value


def arguments(text: str) -> dict[str, str | list[str] | None]:
    """Give the allow-listed arguments of a command line, with their values as written.

    Those of :data:`ALL` have a list of values; None stands for one without value. An argument is
    recognised by its whole name, in which the kernel takes ``-`` for ``_``.
    """
    result: dict[str, str | list[str] | None] = {}
    pairs: dict[str, list[str]] = {}
    for word, value in words(text):
        name = word.replace("-", "_")
        if name in ALL and value is not None:
            pairs.setdefault(name, []).append(value)
        elif name in BARE or (value is not None and (name in LAST or name in FIRST - {*result})):
            result[name] = value
    return {**result, **pairs}


def read(tree: Tree) -> dict[str, str | list[str] | None] | None:
    """Read the allow-listed arguments of a host, or give None where no command line is there.

    Raises :class:`InputError` for a file that cannot be read.
    """
    text = tree.optional(PATH)
    return None if text is None else arguments(text)


@dataclasses.dataclass(frozen=True)
class Isolcpus:
    """What a value of ``isolcpus`` means."""

    cpus: int
    """The CPUs named (bitmask)."""
    flags: tuple[str, ...]
    """Those of :data:`FLAGS` that hold: ``domain`` where the value names none."""
    named: tuple[str, ...]
    """The flags that the value names, unknown ones too, as written."""

    @property
    def unknown(self) -> tuple[str, ...]:
        """The flags that no kernel knows; older kernels drop the whole argument for one."""
        return tuple(flag for flag in self.named if flag not in FLAGS)


def isolcpus(text: str, last: int | None = None) -> Isolcpus:
    """Read a value of ``isolcpus``: flags, each with a comma behind it, then CPUs.

    ``last`` is the highest CPU id, for which ``N`` stands. Flags without CPUs isolate nothing.

    >>> isolcpus("managed_irq,domain,2-3")
    Isolcpus(cpus=12, flags=('domain', 'managed_irq'), named=('managed_irq', 'domain'))

    Raises :class:`CpuListError` where the kernel drops the whole argument.

    Source: kernel ``kernel/sched/isolation.c``, ``housekeeping_isolcpus_setup``.
    """
    named = []
    at = 0
    while _FLAG.match(text, at):
        end = text.find(",", at)
        flag = text[at:] if end < 0 else text[at:end]
        if not _FLAG_NAME.fullmatch(flag):
            raise CpuListError(
                f"{quoted(flag)} is no flag of isolcpus", f"{', '.join(FLAGS)}, then a CPU list"
            )
        # The kernel looks for a flag with its comma: without one it is an unknown word.
        named.append(f"{flag} without a comma" if end < 0 and flag in FLAGS else flag)
        at = len(text) if end < 0 else end + 1
    flags = tuple(flag for flag in FLAGS if flag in named) or ("domain",)
    return Isolcpus(parse_kernel(text[at:], last), flags, tuple(named))
