# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pinned CPUs and isolated CPUs differ.

Guests of one flavor then run undisturbed or beside the host's own tasks, as luck has it; a thread
that is not isolated disturbs its sibling that is. HC-09 speaks of realtime hosts that isolate none,
HC-10 of isolated CPUs in no set.

Source: kernel ``Documentation/admin-guide/kernel-parameters.txt``, ``isolcpus``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.host import Isolation
from . import hosts
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    isolated = hosts.isolated(case)
    if case.sets is None or hosts.unconfigured(case) or not isolated:
        return
    pinned = case.sets.pinnable
    loose = pinned & ~isolated
    siblings = sum(core for core in case.host.topology.cores if core & loose)
    beside = isolated & siblings
    if loose and (beside or isolated & pinned):
        yield Detail(
            f"pinned CPUs {to_text(loose)} are not isolated, "
            + (f"their siblings {to_text(beside)} are" if beside else "the others are"),
            "host tasks run on them, beside guests that count on isolation",
            f"isolcpus={to_text(isolated | loose)} on the kernel's command line",
            case.host.config.where("vcpu_pin_set" if case.sets.legacy else "cpu_dedicated_set"),
        )


RULE = Rule(
    code="HC-68",
    severity=Severity.ERROR,
    title="Pinned CPUs and isolated CPUs differ",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(isolation=Isolation(domain=0xFEFE)),
    good=lambda: new_style(isolation=Isolation(domain=0xFEFEFEFE)),
)
