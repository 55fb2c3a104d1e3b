# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Isolate gets onto an SMT host through the fallback query.

hw:cpu_thread_policy=isolate forbids the trait HW_CPU_HYPERTHREADING. The fallback query drops
that trait, and brings new-style hosts with SMT back in by their VCPU inventory (Launchpad
1889633). The fit refuses them from 20.4.1, 21.1.1 and 22.0.0 on; earlier releases let the guest
land, hold VCPU and block the threads of whole cores. The guard still lets in, in every release, a
host whose sets name one thread per core of an SMT machine.

Source: Launchpad 1889633; ``nova/virt/hardware.py``, ``_pack_instance_onto_cores``.
"""

from __future__ import annotations

import typing as t

from .._nova.image_properties import HYPERTHREADING
from . import flavors
from .examples import a_flavor, new_style, no_smt
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if not flavors.isolates(case) or case.refusal:
        return
    landing = [
        host
        for host, outcome in zip(case.hosts, case.outcomes, strict=True)
        if outcome.query == "fallback"
        and host.sets
        and not host.sets.legacy
        and host.host.topology.hyperthreading
    ]
    holes = [host for host in landing if host.release.isolate_guard]
    for hosts, why in (
        ([host for host in landing if host not in holes], _UNFIXED),
        (holes, _HOLE),
    ):
        if hosts:
            yield Detail(
                f"the primary query forbids {HYPERTHREADING}, the fallback does not, and {why}",
                f"the guest lands on {hosts[0].names[0]} with VCPU {case.flavor.vcpus} and takes "
                "dedicated CPUs that Placement still offers",
                _fix(case),
                hosts=tuple(host.names[0] for host in hosts),
            )
    exposed = not case.release.isolate_guard and not case.scheduler.disable_fallback_pcpu_query
    if exposed and not case.hosts:
        yield Detail(
            f"release {case.release.name} sends the fallback query without the forbidden trait, "
            f"and {_UNFIXED}",
            "the guest can land on a new-style SMT host with VCPU",
            _fix(case),
        )


_HOLE = (
    "the host's CPU sets name one thread per core, which the guard of the fit takes for a host "
    "without SMT (in every release)"
)
_UNFIXED = "the release lacks the guard of 20.4.1, 21.1.1 and 22.0.0"


def _fix(case: FlavorCase) -> str:
    if not case.spec("hw:cpu_thread_policy") and "hw_cpu_thread_policy" in case.image.properties:
        return flavors.image_command(case)
    return (
        "[workarounds] disable_fallback_pcpu_query = true on every scheduler, once no legacy host "
        "is needed\n"
        "or an aggregate of hosts without SMT, and trait or metadata that tie the flavor to it\n"
        "or, which both queries keep (legacy hosts with SMT are then excluded too, and the API "
        "refuses images that ask for isolate themselves): "
        + flavors.unset_command(case, "hw:cpu_thread_policy")
        + " && "
        + flavors.set_command(case, {f"trait:{HYPERTHREADING}": "forbidden"})
    )


RULE = Rule(
    code="FL-49",
    severity=Severity.ERROR,
    title="Isolate gets onto an SMT host through the fallback query",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(
        new_style(release="20.4.0"),
        cpu_policy="dedicated",
        cpu_thread_policy="isolate",
        release="20.4.0",
        vcpus=2,
    ),
    good=lambda: a_flavor(
        new_style(release="20.4.1"),
        no_smt(release="20.4.1"),
        cpu_policy="dedicated",
        cpu_thread_policy="isolate",
        release="20.4.1",
        vcpus=2,
    ),
)
