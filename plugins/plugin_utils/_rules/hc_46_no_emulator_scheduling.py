# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""libvirt is too old for emulatorsched.

Nova writes no ``<emulatorsched>`` in any release, so nothing fails. Who adds it to the domain of a
realtime guest by hand needs libvirt 5.3.0: an older one refuses the element or drops it.

Source: libvirt, domain XML format, ``emulatorsched``.
"""

from __future__ import annotations

import re
import typing as t

from .._model.kernel import Libvirt
from . import hosts
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


_FIRST = (5, 3)
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")


def _check(case: HostCase) -> Iterator[Detail]:
    libvirt = case.host.libvirt
    found = _VERSION.match((libvirt.version if libvirt else None) or "")
    if libvirt is None or found is None or not hosts.realtime(case):
        return
    if (int(found[1]), int(found[2])) < _FIRST:
        yield Detail(
            f"libvirt {libvirt.version} does not know <emulatorsched>",
            "emulator threads of realtime guests cannot get a realtime policy through libvirt",
            "libvirt 5.3.0 or newer, if that is wished; hw:emulator_threads_policy does without",
        )


RULE = Rule(
    code="HC-46",
    severity=Severity.INFO,
    title="libvirt is too old for emulatorsched",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(intent="realtime", libvirt=Libvirt(version="5.2.0")),
    good=lambda: new_style(intent="realtime", libvirt=Libvirt(version="5.3.0")),
)
