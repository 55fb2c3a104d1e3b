# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest_xml import (
    GuestXml,
    Scheduling,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.side_by_side import (
    Line,
    compared,
)

FIFO = Scheduling("fifo", 1)
PLAIN = GuestXml(4, emulator=0b1, vcpu_pins={0: 0b1, 1: 0b10, 2: 0b100, 3: 0b1000})
TUNED = GuestXml(
    4, emulator=0b1111, vcpu_pins=PLAIN.vcpu_pins, vcpu_scheduling=dict.fromkeys((1, 2, 3), FIFO)
)


def test_only_what_differs_is_listed_and_like_elements_stand_together() -> None:
    assert compared((PLAIN, TUNED)) == (
        Line("emulatorpin", ("0", "0-3")),
        Line("vcpusched of vCPU 1-3", ("none", "fifo 1")),
    )


def test_what_is_not_there_takes_no_part() -> None:
    assert compared((None, TUNED, None, PLAIN))[0] == Line("emulatorpin", ("", "0-3", "", "0"))
    assert compared((None, TUNED)) == ()
    assert compared((None, None)) == ()


def test_one_that_is_as_the_first_shows_the_same_text() -> None:
    assert compared((PLAIN, TUNED, PLAIN))[0].texts == ("0", "0-3", "0")
