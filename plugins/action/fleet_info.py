# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on the controller in place of the module of the same name, which holds the documentation."""

from __future__ import annotations

import os
import shutil
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._face.cloud import Cloud
from ansible_collections.pinguard.nova.plugins.plugin_utils._face.report_action import WIDEST
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import facts_named
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.fleet_file import (
    Wish,
    fleet_info,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.rendering import printable

ARGUMENTS = {
    "cloud": {"type": "str", "required": True},
    "region": {"type": "str"},
    "path": {"type": "path", "required": True},
    "hosts": {"type": "list", "elements": "str"},
    "facts": {"type": "str"},
    "names": {"type": "dict", "default": {}},
    "release": {"type": "str"},
    "allocated": {"type": "bool", "default": False},
    "disable_fallback_pcpu_query": {"type": "bool"},
    "numa_topology_filter": {"type": "bool"},
    "show": {"type": "bool", "default": False},
}
_WARNINGS = {
    "hosts_without_facts": "hosts of the cloud without facts, left out: {}",
    "hosts_unknown": "hosts with facts that the cloud does not have, left out: {}",
}


class ActionModule(ActionBase):
    _requires_connection = False
    _supports_check_mode = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None
    ) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _spec, args = self.validate_argument_spec(
            argument_spec=ARGUMENTS, mutually_exclusive=[("hosts", "facts")]
        )
        wish = Wish(
            args["path"],
            args["release"],
            {str(name): str(other) for name, other in args["names"].items()},
            args["allocated"],
            args["disable_fallback_pcpu_query"],
            args["numa_topology_filter"],
            self._task.check_mode,
            self._task.diff,
            min(shutil.get_terminal_size((100, 24)).columns, WIDEST),
        )
        try:
            folders = (self._loader.get_basedir(), os.getcwd())
            facts, missing = facts_named(args, task_vars or {}, folders)
            cloud = Cloud(args["cloud"], args["region"])
            found = fleet_info(facts, cloud, wish, self._display.display)
        except InputError as error:
            raise AnsibleActionFail(str(error)) from None
        if args["show"]:
            self._display.display(found["report"])
        warnings = [f"no facts, so left out: {', '.join(missing)}"] if missing else []
        warnings += [f"not read: {line}" for line in found["unread"]] + found["notes"]
        warnings += [
            text.format(", ".join(found[key])) for key, text in _WARNINGS.items() if found[key]
        ]
        result.setdefault("warnings", []).extend(map(printable, warnings))
        return {**result, **found}
