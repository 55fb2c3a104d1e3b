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
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import sources
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.plan_report import upgrade_plan
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.run import Output

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str"},
    "fleet": {"type": "str"},
    "facts": {"type": "str"},
    "servers": {"type": "raw"},
    "flavors": {"type": "raw"},
    "images": {"type": "raw"},
    "goal": {"type": "raw", "required": True},
    "disable_fallback_pcpu_query": {"type": "bool"},
    "numa_topology_filter": {"type": "bool"},
    "release": {"type": "str", "default": "34.0.0"},
    "fail_on": {"type": "str", "default": "error", "choices": ["error", "warning", "never"]},
    "report_path": {"type": "path"},
    "markdown_path": {"type": "path"},
    "json_path": {"type": "path"},
    "show": {"type": "bool", "default": False},
}


class ActionModule(ActionBase):
    _requires_connection = False
    _supports_check_mode = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None
    ) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _spec, args = self.validate_argument_spec(
            argument_spec=ARGUMENTS, mutually_exclusive=[("hosts", "fleet", "facts")]
        )
        output = Output(
            args["fail_on"],
            args["report_path"],
            args["json_path"],
            self._task.check_mode,
            self._task.diff,
            min(shutil.get_terminal_size((100, 24)).columns, 160),
            args["markdown_path"],
        )
        try:
            given, missing = sources(
                args, task_vars or {}, (self._loader.get_basedir(), os.getcwd())
            )
            found = upgrade_plan(given, args["goal"], output)
        except InputError as error:
            raise AnsibleActionFail(str(error)) from None
        if args["show"]:
            self._display.display(found["report"])
        if missing:
            warning = f"no facts, so not planned for: {', '.join(missing)}"
            result.setdefault("warnings", []).append(warning)
        return {**result, **found}
