# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that the hosts of a fleet are to have, by the goal of its upgrade."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from .._model.host import HostClass
from .proposal import Target, propose

if t.TYPE_CHECKING:
    from .._model.config import HostConfig
    from .._model.goal import Goal
    from .._model.host import Fleet


def targets(fleet: Fleet, goal: Goal) -> dict[str, HostConfig]:
    """Work out the options of every host that the goal selects, class by class.

    They are judged at the release that the hosts have by then. Servers keep no CPU dedicated here:
    those that cannot stay are moved by the plan.

    Raises ``InputError`` for a wish that a host cannot meet, and for what nova-compute or a rule
    at ``error`` refuses.
    """
    found: dict[str, HostConfig] = {}
    for each in fleet.classes:
        wanted: dict[int, list[str]] = collections.defaultdict(list)
        for name in each.names:
            index = next((i for i, s in enumerate(goal.hosts) if s.selects(name)), None)
            if index is not None and name not in goal.leave:
                wanted[index].append(name)
        for index, names in wanted.items():
            target = Target(goal.hosts[index].wanted)
            release = goal.release or each.host.release
            host = dataclasses.replace(each.host, release=release)
            config = propose(HostClass(host, tuple(names)), target).then.config
            found.update(dict.fromkeys(names, config))
    return found
