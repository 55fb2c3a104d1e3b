# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locked memory without a page size.

From 26.0.0 on hw:locked_memory needs hw:mem_page_size; before, it is passed over.

Source: ``nova/virt/hardware.py``, ``get_locked_memory_constraint``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if case.refusal and case.refusal.name == "LockMemoryForbidden":
        yield Detail(
            case.refusal.text,
            "every boot is refused: LockMemoryForbidden",
            flavors.set_command(case, {"hw:mem_page_size": "large"}),
        )


RULE = Rule(
    code="FL-22",
    severity=Severity.ERROR,
    title="Locked memory without a page size",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(locked_memory="true"),
    good=lambda: a_flavor(locked_memory="true", mem_page_size="large"),
)
