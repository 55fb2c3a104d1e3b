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
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import flavor_wish, gathering
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.flavor_change import (
    Change,
    changes,
    deletions,
    refusal,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.flavor_design import design
from ansible_collections.pinguard.nova.plugins.plugin_utils._render.deployers import refuse_harm
from ansible_collections.pinguard.nova.plugins.plugin_utils._render.flavor_forms import (
    FORMS,
    MARK,
    earlier,
    render,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.naming import compact
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.tree import write_tree

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Fleet
    from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.flavor_design import Design

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str"},
    "fleet": {"type": "str"},
    "facts": {"type": "str"},
    "flavors": {"type": "raw"},
    "images": {"type": "raw"},
    "servers": {"type": "raw"},
    "release": {"type": "str", "default": "34.0.0"},
    "disable_fallback_pcpu_query": {"type": "bool"},
    "numa_topology_filter": {"type": "bool"},
    "wishes": {"type": "raw", "required": True},
    "form": {"type": "str", "required": True, "choices": list(FORMS)},
    "accept": {"type": "list", "elements": "str", "default": []},
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
            argument_spec=ARGUMENTS, mutually_exclusive=[("hosts", "fleet", "facts")]
        )
        folders = (self._loader.get_basedir(), os.getcwd())
        try:
            refuse_unknown(args)
            given, missing = gathering.sources(args, task_vars or {}, folders)
            fleet = gathering.fleet(given, flavors_needed=False)
            designs = design(flavor_wish.read(args["wishes"], folders), fleet)
            warnings = _warnings(args, fleet, missing)
            if warnings:
                result.setdefault("warnings", []).extend(warnings)
            return {**result, **self._rendered(designs, fleet, args)}
        except InputError as error:
            raise AnsibleActionFail(str(error)) from None

    def _rendered(
        self, designs: tuple[Design, ...], fleet: Fleet, args: dict[str, t.Any]
    ) -> dict[str, t.Any]:
        """Render what nobody has to accept any more, and write it."""
        form, dest = args["form"], args["dest"]
        left_out = fleet.servers_left_out
        now = fleet.flavors, None if left_out is None else fleet.servers, left_out or 0
        found = changes((each.flavor for each in designs), *now)
        file = render(designs, found, form)
        gone: tuple[Change, ...] = ()
        if dest:
            refuse_harm([file], dest, MARK)
            anew = {each.name for each in found if each.kind == "recreate"}
            names = (name for name in earlier(dest, form, file) if name not in anew)
            gone = tuple(deletions(names, *now))
        told = {
            "flavors": [_shown(each) for each in designs],
            "changes": [each.as_dict() for each in (*found, *gone)],
        }
        refused = refusal((*found, *gone), args["accept"])
        if refused:
            return {**told, "failed": True, "msg": refused}
        texts = {file.path: file.text}
        written = write_tree(dest, texts, check=self._task.check_mode) if dest else ()
        if self._task.diff:
            told["diff"] = [each.diff() for each in written if each.changed]
        files = [{"path": file.path, "text": file.text, "notes": list(file.notes)}]
        return {**told, "changed": any(each.changed for each in written), "files": files}


def _warnings(args: dict[str, t.Any], fleet: Fleet, missing: tuple[str, ...]) -> list[str]:
    found = []
    if missing:
        found.append(f"no facts, so nothing is known of them: {', '.join(missing)}")
    if args["flavors"] is None and not fleet.flavors:
        found.append("no flavors are given, so all are taken to be new")
    return found


def _shown(made: Design) -> dict[str, t.Any]:
    flavor = made.flavor
    return {
        "name": flavor.name,
        "intent": made.wish.intent,
        "vcpus": flavor.vcpus,
        "ram": flavor.memory_mb,
        "disk": flavor.disk_gb,
        "ephemeral": flavor.ephemeral_gb,
        "swap": flavor.swap_mb,
        "is_public": made.wish.public,
        "extra_specs": dict(flavor.extra_specs),
        "reasons": [each.as_dict() for each in made.reasons],
        "hosts": compact(made.hosts),
        "findings": [
            {**each.as_dict(), "names": compact(each.names) if each.names else ""}
            for each in made.left
        ],
    }
