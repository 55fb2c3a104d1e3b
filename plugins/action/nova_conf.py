# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges on the controller what the module of the same name would write, then lets it write."""

from __future__ import annotations

import os
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.validation import check_type_list
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import (
    InputError,
    quoted,
)
from ansible_collections.pinguard.nova.plugins.module_utils._read.host import ARGUMENTS
from ansible_collections.pinguard.nova.plugins.plugin_utils._face.releases import refuse_unknown
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import (
    Sources,
    guests_alone,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.change import Judgement, judge

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.joining import Guests


class ActionModule(ActionBase):
    _supports_check_mode = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None
    ) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        if not _guarded(self._task.args):
            return {**result, **self._module("nova_conf", self._task.args, variables)}
        proposed = self._proposed(variables)
        if proposed.get("failed"):
            return {**result, **proposed}
        arguments = {key: self._task.args[key] for key in ARGUMENTS if key in self._task.args}
        # The module has read the files already.
        facts = self._module("host_facts", {**arguments, "nova_conf": []}, variables)
        if facts.get("failed"):
            return {**result, **facts}
        found = self._judged(facts["ansible_facts"]["pinguard"], proposed, variables)
        if found.refusal:
            findings = [each.as_dict() for each in found.errors]
            return {**result, "failed": True, "msg": found.refusal, "findings": findings}
        if not self._task.check_mode:
            proposed = self._module("nova_conf", self._task.args, variables)
        if found.known:
            told = ", ".join(f"{each.code} ({each.what})" for each in found.known)
            proposed.setdefault("warnings", []).append(f"there before, and there still: {told}")
        return {**result, **proposed, "servers": found.servers}

    def _module(
        self, name: str, arguments: dict[str, t.Any], variables: dict[str, t.Any]
    ) -> dict[str, t.Any]:
        found: dict[str, t.Any] = self._execute_module(
            module_name=f"pinguard.nova.{name}", module_args=dict(arguments), task_vars=variables
        )
        return found

    def _proposed(self, variables: dict[str, t.Any]) -> dict[str, t.Any]:
        """Ask the module what it would do."""
        task = self._task
        self._task = task.copy()
        self._task.check_mode = True
        try:
            return self._module("nova_conf", task.args, variables)
        finally:
            self._task = task

    def _judged(
        self, facts: dict[str, t.Any], proposed: dict[str, t.Any], variables: dict[str, t.Any]
    ) -> Judgement:
        name = variables["inventory_hostname"]
        try:
            refuse_unknown(self._task.args)
            return judge(name, facts, proposed["nova"], proposed["options"], self._guests())
        except InputError as error:
            raise AnsibleActionFail(str(error)) from None

    def _guests(self) -> Guests | None:
        """Read the servers that are told of."""
        if self._task.args.get("servers") is None:
            return None
        told = ("servers", "flavors", "images")
        paths = {name: check_type_list(self._task.args.get(name) or []) for name in told}
        folders = (self._loader.get_basedir(), os.getcwd())
        return guests_alone(Sources(**paths, release="", folders=folders))


def _guarded(args: t.Mapping[str, t.Any]) -> bool:
    given = args.get("guard", True)
    try:
        return t.cast("bool", boolean(given))
    except TypeError:
        what = f"{quoted(given)} is neither true nor false"
        raise AnsibleActionFail(str(InputError(what, "a boolean", "guard"))) from None
