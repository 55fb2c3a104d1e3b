# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet made into a simulated cloud, host by host."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from .._nova.cloud import Cloud
from .._nova.schedule import view

if t.TYPE_CHECKING:
    from .._model.host import Fleet
    from .._model.server import Allocation, Server


def cloud_of(fleet: Fleet) -> Cloud:
    """Set up a cloud as the fleet runs now.

    What hosts have in use is counted from the servers and allocations of the fleet; where it names
    none at all, from what the hosts' own facts say.

    Raises ``InputError`` for a release that is not known.
    """
    cloud = Cloud(fleet.scheduler)
    servers: dict[str, list[Server]] = collections.defaultdict(list)
    for server in fleet.servers:
        servers[server.host].append(server)
    strangers: dict[str, list[Allocation]] = collections.defaultdict(list)
    for allocation in fleet.allocations:
        strangers[allocation.host].append(allocation)
    for each in fleet.classes:
        for name in each.names:
            host = dataclasses.replace(each.host, name=name)
            if servers or strangers:
                cloud.settle_in(host, servers[name], strangers[name])
            else:
                cloud.hosts[name] = view(host)
                cloud.residents[name] = {}
    return cloud
