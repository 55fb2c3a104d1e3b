# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Emulator threads may run on other host cells than the guest.

Its memory is tied to some cells of the host, and the threads that work on it run elsewhere too.
With policy ``share`` Nova gives them the whole shared set, whatever cell the guest is on.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_numa_config``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size, to_text
from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.guest_xml import GuestXml


def _check(case: GuestCase) -> Iterator[Detail]:
    xml = guests.running_xml(case.domain)
    if xml is None or not xml.host_cells:
        return
    known = 0
    for cell in case.host.host.topology.cells:
        known |= cell.cpuset
    local = case.host.host.topology.cpus_of(xml.host_cells)
    cpus = guests.emulator_cpus(case.domain)
    remote = cpus & known & ~local
    if remote and local:
        cells = "cell" if size(xml.host_cells) == 1 else "cells"
        yield Detail(
            f"its memory is on host {cells} {to_text(xml.host_cells)}, and its emulator threads "
            f"may run on {guests.told_cpus(remote)} of other cells",
            "device emulation reads and writes the guest's memory from afar",
            _fix(case),
        )


def _fix(case: GuestCase) -> str:
    def mends(xml: GuestXml) -> bool:
        local = case.host.host.topology.cpus_of(xml.host_cells)
        return not (xml.emulator or 0) & ~local

    return guests.reboot_mends(case, mends) or guests.change_emulator_policy(case, mends)


RULE = Rule(
    code="DM-04",
    severity=Severity.WARNING,
    title="Emulator threads may run on other host cells than the guest",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(), a_domain(no_smt(), 1, 2, hw={"emulator_threads_policy": "share"})
    ),
    good=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2)),
)
