# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiver that waives nothing.

The audit runs the rule, and finds nothing of what the waiver is about. It would hide the fault if
it came back. Its scope is misspelt, the fault is mended, or the audit saw a part of the fleet only,
as under a limit.

Source: ``waivers``, the file format of this collection.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .examples import a_waiver
from .rule import Detail, Rule, Severity, WaiverCase

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: WaiverCase) -> Iterator[Detail]:
    waiver = case.waiver
    if not case.used and case.today <= waiver.expires:
        yield Detail(
            f"no finding is as the waiver of {waiver.owner} for {waiver.rule} ({waiver.scope}) "
            "says",
            "it would hide the fault if it came back",
            "delete it, or mend its scope",
        )


RULE = Rule(
    code="WV-02",
    severity=Severity.WARNING,
    title="Waiver that waives nothing",
    subject=WaiverCase,
    check=_check,
    bad=lambda: dataclasses.replace(a_waiver(), used=False),
    good=a_waiver,
)
