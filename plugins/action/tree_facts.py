# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on the controller in place of the module of the same name, which holds the documentation."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.host import (
    ARGUMENTS,
    NO_FILE,
    host_facts,
)


class ActionModule(ActionBase):
    _requires_connection = False
    _supports_check_mode = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None
    ) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _spec, args = self.validate_argument_spec(
            argument_spec={"root": {"type": "path", "required": True}, **ARGUMENTS}
        )
        try:
            facts = host_facts(**{**args, "root": self._loader.path_dwim(args["root"])})
        except InputError as error:
            raise AnsibleActionFail(str(error)) from None
        if not facts["nova"]["files"]:
            result.setdefault("warnings", []).append(NO_FILE)
        return {**result, "changed": False, "ansible_facts": {"pinguard": facts}}
