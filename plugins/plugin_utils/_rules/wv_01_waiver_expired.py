# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiver that has expired.

Its last day is past, so what it waived counts again. A day at which somebody looks anew is what
tells a waiver from a rule that is turned off.

Source: ``waivers``, the file format of this collection.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .examples import TODAY, a_waiver
from .rule import Detail, Rule, Severity, WaiverCase

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: WaiverCase) -> Iterator[Detail]:
    waiver = case.waiver
    if case.today > waiver.expires:
        yield Detail(
            f"the waiver of {waiver.owner} for {waiver.rule} ({waiver.scope}) expired on "
            f"{waiver.expires.isoformat()}",
            "what it waived counts again" if case.used else "it waives nothing any more",
            "mend what it waived and delete it, or let its owner set a later day"
            if case.used
            else "delete it: no finding is as it says",
        )


RULE = Rule(
    code="WV-01",
    severity=Severity.WARNING,
    title="Waiver that has expired",
    subject=WaiverCase,
    check=_check,
    bad=lambda: dataclasses.replace(a_waiver(), today=TODAY.replace(year=TODAY.year + 1)),
    good=a_waiver,
)
