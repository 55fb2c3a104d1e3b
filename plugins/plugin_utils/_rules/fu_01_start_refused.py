# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nova-compute does not start, or runs and reports nothing.

It refuses options that exclude one another, lists that it cannot read, floating servers where no
CPU is shared and pinned ones where none is dedicated. That a CPU is not online it finds only when
it reports: it runs on then, and whatever is known of the host grows old.

Source: ``nova/virt/libvirt/driver.py``, ``_check_cpu_set_configuration``;
``nova/compute/manager.py``, ``_validate_pinning_configuration``;
``nova/compute/resource_tracker.py``, ``_update_available_resource``.
"""

from __future__ import annotations

import typing as t

from .._nova import compute
from .._nova.errors import NovaError
from .._nova.releases import release as release_of
from . import (
    hc_01_sets_overlap,
    hc_02_reserved_cpus_beside_sets,
    hc_03_pin_set_beside_dedicated_set,
    hc_06_cpu_not_there,
    hc_07_list_unreadable,
    hc_62_value_refused,
    hc_72_power_without_dedicated,
    restarts,
)
from .cases import host_case
from .examples import a_guest, a_host, a_restart, legacy, new_style
from .rule import Detail, RestartCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._nova.resident import Resident

_OF_OPTIONS = (
    hc_01_sets_overlap.RULE,
    hc_02_reserved_cpus_beside_sets.RULE,
    hc_03_pin_set_beside_dedicated_set.RULE,
    hc_06_cpu_not_there.RULE,
    hc_07_list_unreadable.RULE,
    hc_62_value_refused.RULE,
    hc_72_power_without_dedicated.RULE,
)
"""What is wrong with the options alone, and how it is mended."""

_CRASHED = "gather the facts of the host anew, with its memory pages: pinguard.nova.host_facts"
_OTHERWISE = "correct the option that this speaks of"


def _check(case: RestartCase) -> Iterator[Detail]:
    fault = case.start.refusal or case.start.failure
    if fault is None or fault.name in (*restarts.PIN_ERRORS, *restarts.INVENTORY_ERRORS):
        return
    effect = (
        f"nova-compute does not start: {fault.name}"
        if case.start.refusal
        else f"nova-compute runs, but each of its updates fails: {fault.name}; scheduler and "
        "Placement keep what they knew of the host before"
    )
    found = [*_of_servers(case, effect)] or [*_of_options(case, effect)]
    yield from found or [Detail(fault.text, effect, _CRASHED if fault.crash else _OTHERWISE)]


def _of_options(case: RestartCase, effect: str) -> Iterator[Detail]:
    proposed = host_case(case.host)
    for rule in _OF_OPTIONS:
        for detail in rule.check(proposed):
            if (detail.severity or rule.severity) is Severity.ERROR:
                yield Detail(detail.what, effect, detail.fix, detail.where)


def _of_servers(case: RestartCase, effect: str) -> Iterator[Detail]:
    """Tell of the servers that the sets have no place for."""
    sets = restarts.sets(case)
    refused = tuple(filter(lambda each: _refused(case, each), case.residents))
    if sets is None or case.start.failure:
        return
    floating = tuple(each for each in refused if not sets.shared or not each.pinned)
    if floating:
        yield Detail(
            f"no CPU is shared, but {restarts.servers(floating, 'float')}",
            effect,
            restarts.with_shared(case, sets) + "\n(or first: " + restarts.moves(floating) + ")",
            case.host.config.where("cpu_dedicated_set"),
        )
    pinned = tuple(each for each in refused if each not in floating)
    if pinned:
        yield Detail(
            f"no CPU is dedicated, but {restarts.servers(pinned, 'are', 'is')} pinned",
            effect,
            restarts.keeping(case, sets) + "\n(or first: " + restarts.moves(pinned) + ")"
            if restarts.held(case)
            else restarts.moves(pinned),
            case.host.config.where("cpu_shared_set"),
        )


def _refused(case: RestartCase, resident: Resident) -> bool:
    try:
        compute.check_residents(case.host, (resident,), release_of(case.host.release, host=True))
    except NovaError:
        return True
    return False


RULE = Rule(
    code="FU-01",
    severity=Severity.ERROR,
    title="nova-compute does not start, or runs and reports nothing",
    subject=RestartCase,
    check=_check,
    bad=lambda: a_restart(legacy(), a_host(cpu_dedicated_set="1-7,17-23"), a_guest()),
    good=lambda: a_restart(legacy(), new_style(), a_guest()),
)
