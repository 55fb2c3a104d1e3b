# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest import GuestCell


@pytest.mark.parametrize(
    ("policy", "pinned"),
    [(None, False), ("shared", False), ("dedicated", True), ("mixed", True)],
)
def test_what_follows_for_a_cell(policy: str | None, pinned: bool) -> None:
    cell = GuestCell(0, 0b1100, 0b0111, 2, cpu_policy=policy)
    assert cell.pinned is pinned
    assert (cell.floating_count, cell.pinned_count, cell.memory_kb) == (2, 3, 2048)
