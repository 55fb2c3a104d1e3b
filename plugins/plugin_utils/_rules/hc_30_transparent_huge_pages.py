# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime host makes huge pages by itself.

With transparent huge pages for all memory the kernel compacts memory, and splits and joins pages,
under tasks that run. Guests with pages of their own do not need it.

Source: kernel ``Documentation/admin-guide/mm/transhuge.rst``.
"""

from __future__ import annotations

import typing as t

from .._model.kernel import Kernel
from . import hosts, tuning
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


_FILE = "/sys/kernel/mm/transparent_hugepage/enabled"


def _check(case: HostCase) -> Iterator[Detail]:
    kernel = case.host.kernel
    if hosts.realtime(case) and kernel is not None and kernel.huge_pages == "always":
        yield Detail(
            "transparent huge pages are on for all memory (always)",
            "compaction and splitting of pages stall tasks, vCPUs too",
            f"echo madvise > {_FILE}\n{tuning.argument(transparent_hugepage='madvise')}",
            _FILE,
        )


RULE = Rule(
    code="HC-30",
    severity=Severity.WARNING,
    title="Realtime host makes huge pages by itself",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(intent="realtime", kernel=Kernel(huge_pages="always")),
    good=lambda: new_style(intent="realtime", kernel=Kernel(huge_pages="madvise")),
)
