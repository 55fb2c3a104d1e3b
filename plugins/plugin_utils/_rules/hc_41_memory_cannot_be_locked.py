# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""libvirt may not lock the memory of guests.

Nova locks the memory of every realtime guest and of those with hw:locked_memory. libvirt raises
QEMU's limit for that, which takes CAP_SYS_RESOURCE where its own limit is finite. A container often
lacks it.

Source: libvirt ``src/util/virprocess.c``, ``virProcessSetMaxMemLock``;
``nova/virt/libvirt/driver.py``, ``_get_guest_memory_backing_config``.
"""

from __future__ import annotations

import typing as t

from .._model.kernel import Libvirt
from . import flavors, host_sets, hosts
from .examples import a_fleet, new_style
from .rule import Detail, FleetCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FleetCase) -> Iterator[Detail]:
    for host, landing in host_sets.served(case):
        libvirt = host.host.libvirt
        if libvirt is None or libvirt.lock_capable is not False:
            continue
        if libvirt.memlock_unlimited is not False:
            continue
        locked = tuple(filter(flavors.locks_memory, landing))
        if locked or hosts.realtime(host):
            yield Detail(
                f"{host.host.name}: the libvirt daemon lacks CAP_SYS_RESOURCE, and its limit of "
                "locked memory is finite",
                f"{hosts.named(locked) if locked else 'realtime guests'}: "
                'no start, "cannot limit locked memory: Operation not permitted"',
                "systemctl edit libvirtd (or virtqemud)\n[Service]\nLimitMEMLOCK=infinity\n"
                "(in a container: --ulimit memlock=-1 or --cap-add SYS_RESOURCE)",
                hosts=(host.host.name,),
            )


def _fleet(*, lock_capable: bool) -> FleetCase:
    libvirt = Libvirt(lock_capable=lock_capable, memlock_unlimited=False)
    return a_fleet(hosts=(new_style(intent="realtime", libvirt=libvirt),))


RULE = Rule(
    code="HC-41",
    severity=Severity.ERROR,
    title="libvirt may not lock the memory of guests",
    subject=FleetCase,
    check=_check,
    bad=lambda: _fleet(lock_capable=False),
    good=lambda: _fleet(lock_capable=True),
)
