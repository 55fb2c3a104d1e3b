# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Isolated CPUs are in no set.

Neither guests nor the kernel's scheduler use them. That is right for a data path that polls, if
``data_path_cpus`` tells of it.

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
    if case.sets is None or case.sets.legacy:
        return
    used = case.sets.shared | case.sets.dedicated | case.host.data_path_cpus
    idle = hosts.isolated(case) & ~used
    if idle:
        yield Detail(
            f"isolated CPUs {to_text(idle)} are in no set",
            "neither guests nor the kernel's scheduler use them; fine for a data path",
            "add them to cpu_dedicated_set, isolate them no more, or tell of the data path in "
            "data_path_cpus",
            "kernel command line",
        )


RULE = Rule(
    code="HC-10",
    severity=Severity.INFO,
    title="Isolated CPUs are in no set",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(cpu_dedicated_set="1-6", isolation=Isolation(domain=0xFE)),
    good=lambda: new_style(cpu_dedicated_set="1-7", isolation=Isolation(domain=0xFE)),
)
