# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Policies for emulator threads that are tried for a flavor on a host."""

from __future__ import annotations

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE, Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import CellUsage
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.schedule import NEWEST_SCHEDULER
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import policies
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import no_smt

PINNED = Flavor("pinned", 2, 1024, {"hw:cpu_policy": "dedicated"})


def test_policies_are_tried_on_an_empty_host_once() -> None:
    full = no_smt(usage=(CellUsage(0, 0xFEFE, 14),))
    trials = policies.Trials(NEWEST_SCHEDULER)
    share, isolate = tried = trials.of(PINNED, NO_IMAGE, full)
    assert (share.policy, share.refusal, isolate.policy, isolate.refusal) == (
        "share",
        "",
        "isolate",
        "",
    )
    assert share.xml
    assert share.xml.emulator == 0x101
    assert isolate.xml
    assert isolate.xml.emulator
    assert isolate.xml.emulator.bit_count() == 1
    assert trials.of(PINNED, NO_IMAGE, full) is tried


def test_the_policy_that_a_flavor_has_is_not_tried_again() -> None:
    flavor = policies.with_policy(PINNED, "share")
    trials = policies.Trials(NEWEST_SCHEDULER).of(flavor, NO_IMAGE, no_smt())
    assert [each.policy for each in trials] == ["isolate"]


def test_why_a_policy_is_refused() -> None:
    trials = policies.Trials(NEWEST_SCHEDULER)
    (share, _isolate) = trials.of(PINNED, NO_IMAGE, no_smt(cpu_shared_set=None))
    assert (share.xml, share.refusal) == (None, "they have no cpu_shared_set")
    small = no_smt(cpu_dedicated_set="1-2")
    isolate = policies.Trials(NEWEST_SCHEDULER).of(PINNED, NO_IMAGE, small)[1]
    assert isolate.xml is None
    assert ": " in isolate.refusal
