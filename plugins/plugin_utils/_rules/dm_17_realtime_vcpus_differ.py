# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other vCPUs are under FIFO than flavor and image ask for.

The flavor was another one when Nova wrote the domain, the image has a mask of its own, or a live
migration by a release that rewrites the scheduling of the first vCPU alone left the others.

Source: ``nova/virt/hardware.py``, ``get_realtime_cpu_constraint``; ``nova/virt/libvirt/
migration.py``, ``_update_numa_xml``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size, to_text
from .._model.guest_xml import Scheduling
from . import guests
from .examples import a_domain, a_guest_case, no_smt
from .rule import Detail, GuestCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: GuestCase) -> Iterator[Detail]:
    xml, wanted = guests.running_xml(case.domain), guests.wanted_realtime(case)
    if xml is None or wanted is None or wanted == xml.realtime:
        return
    image = case.image
    masked = image is not None and "hw_cpu_realtime_mask" in image.properties
    source = f"image {image.name}" if masked and image else "its flavor"
    cause = (
        ""
        if case.host.release.live_keeps_scheduling
        else f" (a live migration by Nova {case.host.release.name} leaves such domains)"
    )
    yield Detail(
        f"under FIFO: {_named(xml.realtime)}; {source} makes realtime {_named(wanted)}{cause}",
        "vCPUs that count on a bound have none, or ordinary ones keep emulator threads waiting",
        f"{guests.hard_reboot(case)}\n(a change of the flavor since then reaches the guest only "
        "with a resize to another flavor)",
    )


def _named(vcpus: int) -> str:
    return f"{'vCPU' if size(vcpus) == 1 else 'vCPUs'} {to_text(vcpus)}" if vcpus else "no vCPUs"


RULE = Rule(
    code="DM-17",
    severity=Severity.WARNING,
    title="Other vCPUs are under FIFO than flavor and image ask for",
    subject=GuestCase,
    check=_check,
    bad=lambda: a_guest_case(
        no_smt(),
        a_domain(
            no_smt(),
            *(1, 2, 3),
            hw={"cpu_realtime": "yes", "cpu_realtime_mask": "^0"},
            xml={"vcpu_scheduling": {1: Scheduling("fifo", 1)}},
        ),
    ),
    good=lambda: a_guest_case(
        no_smt(),
        a_domain(no_smt(), *(1, 2, 3), hw={"cpu_realtime": "yes", "cpu_realtime_mask": "^0"}),
    ),
)
