# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel does not know kthread_cpus.

The argument belongs to the kernels of some distributions for telecommunication; others pass it over
without an error, and their threads run where they like.

Source: kernel ``Documentation/admin-guide/kernel-parameters.txt``, which does not have it.
"""

from __future__ import annotations

import typing as t

from .._model.kernel import Kernel
from . import hosts, tuning
from .examples import new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    kernel = case.host.kernel
    if kernel is None or not kernel.kthread_cpus or kernel.kthread_cpus_known is not False:
        return
    cpus = hosts.isolated(case) or (case.sets.dedicated if case.sets else 0)
    yield Detail(
        "kthread_cpus is given, and "
        f"{f'kernel {kernel.release}' if kernel.release else 'the kernel'} does not know it",
        "no thread of the kernel is kept off any CPU by it",
        f"{tuning.argument(nohz_full=cpus or 'CPUs')} (keeps unbound threads off too), or an "
        "isolated cpuset partition",
        "kernel command line",
    )


RULE = Rule(
    code="HC-24",
    severity=Severity.WARNING,
    title="The kernel does not know kthread_cpus",
    subject=HostCase,
    check=_check,
    bad=lambda: new_style(kernel=Kernel(kthread_cpus=True, kthread_cpus_known=False)),
    good=lambda: new_style(kernel=Kernel(kthread_cpus=True, kthread_cpus_known=True)),
)
