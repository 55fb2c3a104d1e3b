# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on the controller in place of the module of the same name, which holds the documentation."""

from __future__ import annotations

import os
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._face.releases import refuse_unknown
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import gathering, wish
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.cpu_sets import PHASES
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.proposal import INTENTS, Target
from ansible_collections.pinguard.nova.plugins.plugin_utils._render.deployers import (
    DEPLOYERS,
    File,
    refuse_harm,
    render,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.tree import write_tree
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.writing import Written

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Fleet

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str"},
    "fleet": {"type": "str"},
    "facts": {"type": "str"},
    "servers": {"type": "raw"},
    "flavors": {"type": "raw"},
    "images": {"type": "raw"},
    "release": {"type": "str", "default": "34.0.0"},
    "wish": {"type": "dict"},
    "sets": {"type": "dict"},
    "phase": {"type": "str", "default": "new", "choices": list(PHASES)},
    "intent": {"type": "str", "default": "pinned", "choices": list(INTENTS)},
    "deployer": {"type": "str", "required": True, "choices": list(DEPLOYERS)},
    "dest": {"type": "path"},
}


class ActionModule(ActionBase):
    _requires_connection = False
    _supports_check_mode = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None
    ) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _spec, args = self.validate_argument_spec(
            argument_spec=ARGUMENTS,
            mutually_exclusive=[("hosts", "fleet", "facts"), ("wish", "sets")],
            required_one_of=[("wish", "sets")],
        )
        try:
            refuse_unknown(args)
            given, missing = gathering.sources(
                args, task_vars or {}, (self._loader.get_basedir(), os.getcwd())
            )
            fleet = gathering.fleet(given, flavors_needed=False)
            files = render(fleet, _target(args), args["deployer"])
            written = _written(files, args["dest"], check=self._task.check_mode)
        except InputError as error:
            raise AnsibleActionFail(str(error)) from None
        warnings = []
        if missing:
            warnings.append(f"no facts, so nothing rendered: {', '.join(missing)}")
        if args["servers"] is None and _untold(fleet):
            warnings.append("no servers are given, so hosts are taken to be empty")
        if warnings:
            result.setdefault("warnings", []).extend(warnings)
        if self._task.diff:
            result["diff"] = [file.diff() for file in written if file.changed]
        changed = any(file.changed for file in written)
        return {**result, "changed": changed, "files": [file.as_dict() for file in files]}


def _untold(fleet: Fleet) -> bool:
    """Say whether nobody told of a host whether servers are pinned there."""
    return not fleet.servers and not all(each.host.usage for each in fleet.classes)


def _target(args: dict[str, t.Any]) -> Target:
    given = gathering.settled(args["wish"] if args["sets"] is None else args["sets"])
    wanted = wish.wish(given) if args["sets"] is None else wish.explicit_sets(given)
    return Target(wanted, args["phase"], args["intent"])


def _written(files: tuple[File, ...], dest: str | None, *, check: bool) -> tuple[Written, ...]:
    if not dest:
        return ()
    refuse_harm(files, dest)
    return write_tree(dest, {file.path: file.text for file in files}, check=check)
