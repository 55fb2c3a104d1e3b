# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host's options will report to Placement, and how far its provider is from that."""

from __future__ import annotations

import typing as t

from ...module_utils._read.errors import InputError
from .._model.schema import within
from .._nova import startup
from .._nova.errors import NovaError
from .._nova.image_properties import HYPERTHREADING
from .._nova.inventory import inventories, traits
from .._nova.releases import release as release_of

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .._model.host import Host

CPU_CLASSES = ("VCPU", "PCPU")


def predicted(host: Host) -> dict[str, t.Any]:
    """Predict inventories and traits of a host's provider, as far as they concern CPUs.

    The ratio of VCPU is left out where no option sets it: a provider keeps the one that it has.

    Raises ``InputError`` for an unknown release and for options that nova-compute fails with.
    """
    with within("release"):
        release = release_of(host.release, host=True)
    try:
        startup.check(host.config, release)
        reported = inventories(host, release)
    except NovaError as error:
        raise InputError(f"nova-compute would fail: {error}", "", f"host {host.name}") from None
    found: dict[str, dict[str, t.Any]] = {
        name: {
            "total": reported[name].total,
            "reserved": reported[name].reserved,
            "allocation_ratio": reported[name].ratio,
        }
        for name in CPU_CLASSES
        if name in reported
    }
    if "VCPU" in found and not host.config.cpu_allocation_ratio:
        del found["VCPU"]["allocation_ratio"]
    return {"inventories": found, "traits": sorted(traits(host, release) & {HYPERTHREADING})}


def deviations(provider: Mapping[str, t.Any], wanted: Mapping[str, t.Any]) -> tuple[str, ...]:
    """Tell in short texts where a provider differs from what was predicted of it."""
    found = []
    for name in CPU_CLASSES:
        has, should = (each["inventories"].get(name) for each in (provider, wanted))
        if has and should:
            found += [
                f"{name} has {key} {has.get(key)}, predicted is {value}"
                for key, value in should.items()
                if has.get(key) != value
            ]
        elif has:
            found.append(f"there is {name} (total {has['total']}), predicted is none")
        elif should:
            found.append(f"there is no {name}, predicted is total {should['total']}")
    has, should = (HYPERTHREADING in each["traits"] for each in (provider, wanted))
    if has != should:
        told = ("is missing", "is there")
        found.append(f"the trait {HYPERTHREADING} {told[has]}, predicted otherwise")
    return tuple(found)
