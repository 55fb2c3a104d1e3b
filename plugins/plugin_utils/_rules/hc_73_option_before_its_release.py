# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set that the host's release does not know.

Nova passes unknown keys over. cpu_shared_set came with 18.0.0, for emulator threads alone;
cpu_dedicated_set came with 20.0.0, and since then the shared set bounds floating guests.

Source: ``nova/conf/compute.py``; Train release notes, ``cpu-resources``.
"""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import size
from .examples import a_host
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: HostCase) -> Iterator[Detail]:
    config, release = case.host.config, case.release
    if release.dedicated_set or config.vcpu_pin_set:
        return
    said = []
    if config.cpu_dedicated_set:
        said.append("cpu_dedicated_set is unknown before 20.0.0")
    if config.cpu_shared_set:
        said.append(
            "cpu_shared_set is for emulator threads alone before 20.0.0"
            if release.shared_set
            else "cpu_shared_set is unknown before 18.0.0"
        )
    if said:
        yield Detail(
            f"Nova {release.name} runs here: {'; '.join(said)}",
            f"guests are not bounded: they may use all {size(case.host.topology.online)} CPUs",
            f"[DEFAULT]\nvcpu_pin_set = {config.cpu_dedicated_set or config.cpu_shared_set}\n"
            "(until the host runs 20.0.0; drop it in the step that brings cpu_dedicated_set)",
            config.where("cpu_dedicated_set" if config.cpu_dedicated_set else "cpu_shared_set"),
        )


RULE = Rule(
    code="HC-73",
    severity=Severity.ERROR,
    title="Set that the host's release does not know",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(release="19.0.0", cpu_shared_set="0-1", cpu_dedicated_set="2-7"),
    good=lambda: a_host(release="19.0.0", vcpu_pin_set="2-7", cpu_dedicated_set="2-7"),
)
