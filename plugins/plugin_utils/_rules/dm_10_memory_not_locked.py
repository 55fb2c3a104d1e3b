# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory of a realtime guest is not locked.

Nova locks the memory of realtime guests and keeps it from being merged. Without either, or where
the process has no locked memory or has some swapped out, a realtime vCPU waits for page faults.

Source: ``nova/virt/libvirt/driver.py``, ``_get_guest_memory_backing_config``; kernel
``Documentation/filesystems/proc.rst``, VmLck and VmSwap.
"""

from __future__ import annotations

import typing as t

from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    domain, xml = case.domain, guests.running_xml(case.domain)
    if xml is None or not (xml.realtime or (case.predicted and case.predicted.realtime)):
        return
    found = [
        f"<{name}/> is missing"
        for name, there in (
            ("locked", xml.backing.locked),
            ("nosharepages", xml.backing.nosharepages),
        )
        if not there
    ]
    if domain.locked_kb == 0:
        found.append("no memory of its process is locked (VmLck 0)")
    if domain.swapped_kb:
        found.append(f"{domain.swapped_kb} KiB of its process are swapped out (VmSwap)")
    if found:
        yield Detail(
            "the guest is a realtime one, and " + ", ".join(found),
            "page faults and merged pages stop realtime vCPUs for as long as they take",
            f"{guests.hard_reboot(case)}\n(libvirt must be allowed to lock memory: HC-41)",
        )


RULE = Rule(
    code="DM-10",
    severity=Severity.WARNING,
    title="Memory of a realtime guest is not locked",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(),
        a_domain(
            no_smt(), 1, 2, hw={"cpu_realtime": "yes", "cpu_realtime_mask": "^0"}, locked_kb=0
        ),
    ),
    good=lambda: a_guest_case(
        no_smt(),
        a_domain(
            no_smt(),
            *(1, 2),
            hw={"cpu_realtime": "yes", "cpu_realtime_mask": "^0"},
            locked_kb=1048576,
            swapped_kb=0,
        ),
    ),
)
