# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.goal import Goal, goal


def test_an_empty_goal_stays_as_it_is() -> None:
    assert goal({}, ["cmp-01"]) == Goal()


def test_a_number_without_end_is_refused() -> None:
    with pytest.raises(InputError, match=r"^goal: not a plain document \(a loop, or a number"):
        goal({"batch_size": 10**5000}, ["cmp-01"])


@pytest.mark.parametrize("document", [None, 5, True, "x", [], [{}], [["batch_size", 3]]])
def test_what_is_no_mapping_is_refused(document: object) -> None:
    with pytest.raises(InputError, match=r"^goal: .* is not of type object"):
        goal(document, ["cmp-01"])
