# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Realtime mask that selects nothing, too much or cannot be read.

The mask lists vCPUs of the guest, or takes some away with ^. A mask that leaves no realtime vCPU,
that names vCPUs which the flavor does not have, or that is no list is refused at boot; 20 and 21
let vCPUs pass that do not exist, and libvirt refuses the domain.

Source: ``nova/virt/hardware.py``, ``get_realtime_cpu_constraint``, ``vcpus_realtime_topology``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import flavors
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if not flavors.realtime(case):
        return
    mask = flavors.realtime_mask(case)
    if mask is None:
        if not case.release.literal_realtime_mask:
            yield _detail(case, "hw:cpu_realtime is on without hw:cpu_realtime_mask")
        return
    realtime = flavors.realtime_vcpus(case)
    if realtime is None:
        yield _detail(case, f"the realtime mask {mask!r} is no list of vCPUs")
    elif not realtime:
        yield _detail(case, f"the realtime mask {mask!r} leaves no realtime vCPU")
    elif realtime >> case.flavor.vcpus:
        yield _detail(
            case,
            f"the realtime mask {mask!r} names vCPU {to_text(realtime)}, "
            f"the flavor has 0-{case.flavor.vcpus - 1}",
        )


def _detail(case: FlavorCase, what: str) -> Detail:
    return Detail(
        what,
        "the boot fails: RealtimeMaskNotFoundOrInvalid, or libvirt refuses the domain",
        flavors.set_command(case, {"hw:cpu_realtime_mask": "^0"}),
    )


RULE = Rule(
    code="FL-03",
    severity=Severity.ERROR,
    title="Realtime mask that selects nothing, too much or cannot be read",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0-7"),
    good=lambda: a_flavor(cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0-1"),
)
