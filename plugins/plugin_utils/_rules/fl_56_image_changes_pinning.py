# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image changes how the guest is pinned.

A server of the flavor has another NUMA topology with this image than without. A rebuild from one
image to the other is refused on the same host (20.1.0 and later), since it makes no new claim.

Source: Launchpad 1763766; ``nova/compute/api.py``, ``_validate_numa_rebuild``.
"""

from __future__ import annotations

import typing as t

from .._model.flavor import NO_IMAGE
from .cases import flavor_case
from .examples import a_flavor
from .rule import Detail, FlavorCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator


def _check(case: FlavorCase) -> Iterator[Detail]:
    if not case.image.name or case.refusal:
        return
    alone = flavor_case(case.flavor, NO_IMAGE, case.scheduler)
    if alone.refusal is None and alone.guest != case.guest:
        yield Detail(
            f"image {case.image.name} changes the guest's NUMA topology",
            "a rebuild between this and a plain image is refused: ImageNUMATopologyRebuildConflict",
            f"openstack image show {case.image.name} -c properties  # or use the flavor for it",
        )


RULE = Rule(
    code="FL-56",
    severity=Severity.WARNING,
    title="An image changes how the guest is pinned",
    subject=FlavorCase,
    check=_check,
    bad=lambda: a_flavor(image={"hw_cpu_policy": "dedicated"}),
    good=lambda: a_flavor(cpu_policy="dedicated", image={"hw_cpu_policy": "dedicated"}),
)
