# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Extra spec that Nova does not read.

A key that Nova does not know is stored by clients that use a microversion before 2.86, and passed
over at every boot. Where the right key would set a policy, the guest does not get it.

Source: ``nova/api/validation/extra_specs/hw.py``.
"""

from __future__ import annotations

import difflib
import re
import typing as t

from .._nova import extra_specs
from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    known = extra_specs.known_keys(case.release)
    for key, value in case.flavor.extra_specs.items():
        namespace, colon, name = key.partition(":")
        plain = re.sub(r"\.\d+$", "", name)
        if namespace != "hw" or not colon or plain in known or key in _ELSEWHERE:
            continue
        near = difflib.get_close_matches(plain, known, 1, 0.6)
        if near:
            policy = near[0] in _POLICIES and f"hw:{near[0]}" not in case.flavor.extra_specs
            yield Detail(
                f"{key}={value} is not read; the nearest key is hw:{near[0]}",
                "the guest gets Nova's default instead",
                f"{flavors.unset_command(case, key)}\n"
                + flavors.set_command(case, {f"hw:{near[0]}": value}),
                severity=Severity.ERROR if policy else None,
            )
        else:
            yield Detail(
                f"{key}={value} is not read",
                "the key has no effect",
                flavors.unset_command(case, key),
            )


_ELSEWHERE = ("hw:emulator_thread_policy", "hw:emulator_treads_policy", "hw:cpu_dedicated_mask")
_POLICIES = (
    "cpu_policy",
    "cpu_thread_policy",
    "cpu_realtime",
    "cpu_realtime_mask",
    "cpu_dedicated_mask",
)


RULE = Rule(
    code="FL-40",
    severity=Severity.WARNING,
    title="Extra spec that Nova does not read",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="dedicated", cpu_threads_policy="isolate"),
    good=lambda: a_flavor(cpu_policy="dedicated", cpu_thread_policy="prefer"),
)
