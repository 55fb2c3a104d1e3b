# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network worker runs on realtime CPUs or beside the emulator threads' own.

The kernel's vhost threads carry the packets of the guest. They start as children of the emulator
threads and have their mask of that moment; a later change of ``emulatorpin`` need not reach them.

Source: kernel ``drivers/vhost/vhost.c``, ``vhost_task_create``; libvirt
``docs/formatdomain.rst``, CPU Tuning, emulatorpin.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    live, realtime = case.domain.live, 0
    for cpus in case.realtime.values():
        realtime |= cpus
    pinned = (live.emulator or 0) if live else 0
    # A worker that is where Nova would have it is not what is wrong.
    meant = (case.predicted.emulator or 0) if case.predicted else 0
    allowed = pinned | meant if pinned else 0
    seen = guests.threads(case.domain, "vhost")
    struck = [thread for thread in seen if thread.cpus & realtime]
    astray = [thread for thread in seen if allowed and thread.cpus & ~allowed]
    found = list(dict.fromkeys((*struck, *astray)))
    if not found:
        return
    wanted = pinned & ~realtime
    parts = [guests.told_threads(found)]
    if pinned:
        parts.append(f"emulatorpin is {to_text(pinned)}")
    if struck:
        cpus = 0
        for thread in struck:
            cpus |= thread.cpus & realtime
        parts.append(f"realtime vCPUs have {to_text(cpus)}")
    commands = [f"taskset -p -c {to_text(wanted)} {each.id}" for each in found if wanted]
    yield Detail(
        "; ".join(parts),
        "the guest's packets are carried on CPUs that are meant for others"
        + (", realtime vCPUs among them" if struck else ""),
        "\n".join((*commands[:8], "(or, for the whole guest)", guests.hard_reboot(case)))
        if commands and not guests.edited(case)
        else guests.reboot_alone(case),
    )


RULE = Rule(
    code="DM-19",
    severity=Severity.WARNING,
    title="Network worker runs on realtime CPUs or beside the emulator threads' own",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(), a_domain(no_smt(), 1, 2, moved={"vhost-1000": {"cpus": 0xFF}})
    ),
    good=lambda: a_guest_case(no_smt(), a_domain(no_smt(), 1, 2)),
)
