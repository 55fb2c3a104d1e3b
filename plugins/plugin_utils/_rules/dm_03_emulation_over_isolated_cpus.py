# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Emulator threads have several CPUs, isolated ones among them.

The kernel balances nothing over isolated CPUs: the threads all stay on the one CPU where they were
first put, whatever their mask allows, and add up there.

Source: kernel ``Documentation/admin-guide/kernel-parameters.rst``, isolcpus.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size, to_text
from . import guests, hosts
from .examples import a_domain, a_guest_case, isolating
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.guest_xml import GuestXml


def _check(case: GuestCase) -> Iterator[Detail]:
    cpus, isolated = guests.emulator_cpus(case.domain), hosts.isolated(case.host)
    if size(cpus) < 2 or not cpus & isolated:
        return
    yield Detail(
        f"its emulator threads may run on {to_text(cpus)}, {_which(cpus, isolated)} isolated",
        "the kernel does not spread them over these CPUs: all of them run where the first one was "
        "put, beside one vCPU",
        _fix(case, isolated),
    )


def _which(cpus: int, isolated: int) -> str:
    struck = cpus & isolated
    if struck == cpus:
        return "all of them"
    return f"of which {to_text(struck)} {'is' if size(struck) == 1 else 'are'}"


def _fix(case: GuestCase, isolated: int) -> str:
    def mends(xml: GuestXml) -> bool:
        return size(xml.emulator or 0) == 1 or not (xml.emulator or 0) & isolated

    return guests.reboot_mends(case, mends) or guests.change_emulator_policy(case, mends)


RULE = Rule(
    code="DM-03",
    severity=Severity.WARNING,
    title="Emulator threads have several CPUs, isolated ones among them",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(isolating(), a_domain(isolating(), 1, 2)),
    good=lambda: a_guest_case(
        isolating(),
        a_domain(isolating(), 1, 2, reserved="3", hw={"emulator_threads_policy": "isolate"}),
    ),
)
