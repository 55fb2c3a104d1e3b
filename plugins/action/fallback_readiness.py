# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on the controller in place of the module of the same name, which holds the documentation."""

from __future__ import annotations

import typing as t

from ansible_collections.pinguard.nova.plugins.plugin_utils._face.report_action import ReportAction
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.readiness import MAX_RESULTS
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.readiness_report import (
    fallback_readiness,
)

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import Sources
    from ansible_collections.pinguard.nova.plugins.plugin_utils._report.run import Output


class ActionModule(ReportAction):
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "flavors": {"type": "raw"},
        "images": {"type": "raw"},
        "servers": {"type": "raw"},
        "disable_fallback_pcpu_query": {"type": "bool"},
        "numa_topology_filter": {"type": "bool"},
        "max_placement_results": {"type": "int", "default": MAX_RESULTS},
    }
    RULES = False
    LEFT_OUT = "left out"

    def report(self, given: Sources, args: dict[str, t.Any], output: Output) -> dict[str, t.Any]:
        return fallback_readiness(given, output, args["max_placement_results"])
