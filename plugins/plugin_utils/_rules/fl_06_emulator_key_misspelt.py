# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Emulator threads policy under a name that Nova does not read.

The key is hw:emulator_threads_policy, and only a flavor has it. Nova's own guides misspell it,
and an image property of that name does not exist.

Source: ``nova/api/validation/extra_specs/hw.py``.
"""

from __future__ import annotations

import typing as t

from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    for key in ("hw:emulator_thread_policy", "hw:emulator_treads_policy"):
        value = case.flavor.extra_specs.get(key)
        if value:
            yield Detail(
                f"{key}={value} is not read",
                "emulator threads run where they would without it",
                flavors.set_command(case, {"hw:emulator_threads_policy": value}),
            )
    if "hw_emulator_threads_policy" in case.image.properties:
        yield Detail(
            "hw_emulator_threads_policy is no image property",
            "emulator threads run where they would without it",
            flavors.set_command(case, {"hw:emulator_threads_policy": "share"}),
        )


RULE = Rule(
    code="FL-06",
    severity=Severity.WARNING,
    title="Emulator threads policy under a name that Nova does not read",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="dedicated", emulator_thread_policy="share"),
    good=lambda: a_flavor(cpu_policy="dedicated", emulator_threads_policy="share"),
)
