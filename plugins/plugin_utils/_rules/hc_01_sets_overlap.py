# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""cpu_shared_set and cpu_dedicated_set share CPUs.

nova-compute compares both sets when it starts and refuses any CPU that is in both. With
vcpu_pin_set it does not compare them; HC-03 speaks there.

Source: ``nova/virt/libvirt/driver.py``, ``_check_cpu_set_configuration``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from . import host_sets, hosts, shared_cpus
from .examples import a_host, new_style
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    config = case.host.config
    shared = hosts.listed(case, "cpu_shared_set")
    dedicated = hosts.listed(case, "cpu_dedicated_set")
    both = shared & dedicated
    if not both or config.vcpu_pin_set:
        return
    yield Detail(
        f"CPU {to_text(both)} is in cpu_shared_set ({to_text(shared)}) and in "
        f"cpu_dedicated_set ({to_text(dedicated)})",
        "nova-compute does not start: InvalidConfiguration",
        _fix(case, shared, dedicated),
        config.where("cpu_shared_set"),
    )


def _fix(case: HostCase, shared: int, dedicated: int) -> str:
    """Leave the CPUs of both sets dedicated; shared where nothing else would be shared."""
    known, both = case.host.topology.present, shared & dedicated
    if shared & ~both & known:
        return host_sets.snippet(cpu_shared_set=shared & ~both & known)
    if dedicated & ~both & known:
        return host_sets.snippet(cpu_dedicated_set=dedicated & ~both & known)
    return shared_cpus.split(case, both & known) or "list CPUs in both sets that exist"


RULE = Rule(
    code="HC-01",
    severity=Severity.ERROR,
    title="cpu_shared_set and cpu_dedicated_set share CPUs",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(cpu_shared_set="0-3", cpu_dedicated_set="2-7"),
    good=new_style,
)
