# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Legacy host with SMT has less room for isolate guests than Placement shows.

Each vCPU of such a guest takes a core and holds the sibling back. Placement counts the vCPU alone;
a core of which vcpu_pin_set lists one thread only gives nothing.

Source: ``nova/virt/hardware.py``, ``_pack_instance_onto_cores``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size
from . import flavors, hosts
from .examples import a_flavor, a_fleet, legacy, new_style
from .rule import Detail, FleetCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FleetCase) -> Iterator[Detail]:
    wishes = tuple(filter(flavors.isolates, case.flavors))
    if not wishes:
        return
    for host in case.hosts:
        if host.sets is None or not host.sets.legacy or hosts.unconfigured(host):
            continue
        usable = host.sets.pinnable
        cores = [core for core in host.host.topology.cores if core & usable and size(core) > 1]
        whole = sum(core & ~usable == 0 for core in cores)
        split = len(cores) - whole
        if not cores:
            continue
        yield Detail(
            f"vcpu_pin_set of {host.host.name}: {size(usable)} CPUs, whole cores: {whole}"
            + (f", cores without one of their threads: {split}" if split else ""),
            f"room for isolate guests ({hosts.named(wishes)}) ends at vCPU {whole}, "
            f"Placement shows VCPU {size(usable)}",
            "list both threads of each core" if split else "count cores, not VCPU, for them",
            host.host.config.where("vcpu_pin_set"),
            None if split else Severity.INFO,
            (host.host.name,),
        )


RULE = Rule(
    code="HC-77",
    severity=Severity.WARNING,
    title="Legacy host with SMT has less room for isolate guests than Placement shows",
    subject=FleetCase,
    check=_check,
    bad=lambda: a_fleet(
        a_flavor(cpu_policy="dedicated", cpu_thread_policy="isolate"),
        hosts=(legacy(vcpu_pin_set="2-7,18"),),
    ),
    good=lambda: a_fleet(
        a_flavor(cpu_policy="dedicated", cpu_thread_policy="isolate"), hosts=(new_style(),)
    ),
)
