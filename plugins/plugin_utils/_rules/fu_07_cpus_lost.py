# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPUs that guests may use now are in no set thereafter.

What stands in neither set is the host's. That may be the aim; where it is a slip the capacity is
lost in silence. CPUs of a poll-mode data path do not count; those that servers hold are told of by
FU-02 and FU-03.

Source: ``nova/virt/libvirt/driver.py``, ``_get_vcpu_available``, ``_get_pcpu_available``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import restarts
from .examples import a_restart, legacy, new_style
from .rule import Detail, RestartCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: RestartCase) -> Iterator[Detail]:
    sets, before = restarts.sets(case), case.before.sets
    if case.start.refusal or sets is None or before is None:
        return
    host = case.host
    gone = (before.shared | before.dedicated) & host.topology.online & ~host.data_path_cpus
    lost = gone & ~(sets.shared | sets.dedicated | restarts.held(case))
    if lost:
        count = lost.bit_count()
        yield Detail(
            f"{count} CPU{'' if count == 1 else 's'} ({to_text(lost)}) "
            f"{'is' if count == 1 else 'are'} in neither set, and served guests before",
            "the host has them for itself: that much capacity less",
            "put them in cpu_shared_set or cpu_dedicated_set, unless the host is to have them",
        )


RULE = Rule(
    code="FU-07",
    severity=Severity.INFO,
    title="CPUs that guests may use now are in no set thereafter",
    subject=RestartCase,
    check=_check,
    bad=lambda: a_restart(legacy(), new_style(cpu_dedicated_set="1-7")),
    good=lambda: a_restart(legacy(), new_style()),
)
