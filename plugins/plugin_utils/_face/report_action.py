# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame of the actions that gather a fleet and report on it."""

from __future__ import annotations

import abc
import datetime
import os
import shutil
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ...module_utils._read.errors import InputError
from .._model.gathering import sources
from .._report.run import PATHS, Output, exceptions
from .releases import refuse_unknown

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._model.gathering import Sources

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str"},
    "fleet": {"type": "str"},
    "facts": {"type": "str"},
    "release": {"type": "str", "default": "34.0.0"},
    "fail_on": {"type": "str", "default": "error", "choices": ["error", "warning", "never"]},
    **{option: {"type": "path"} for option in PATHS},
    "show": {"type": "bool", "default": False},
}
"""Those that every such action has."""

EXCEPTIONS = {"waivers": {"type": "str"}, "baseline": {"type": "str"}}
"""Those of the actions that run rules."""

WIDEST = 160


class ReportAction(ActionBase):
    """One such action: what it takes beside :data:`ARGUMENTS`, and what it reports."""

    _requires_connection = False
    _supports_check_mode = True

    ARGUMENTS: t.ClassVar[Mapping[str, t.Any]] = {}
    EXCLUSIVE: t.ClassVar[Sequence[tuple[str, ...]]] = ()
    RULES: t.ClassVar[bool] = True
    """Whether it runs rules, whose findings may be waived or known."""
    LEFT_OUT = "left out"
    """What is said of hosts without facts."""

    @abc.abstractmethod
    def report(self, given: Sources, args: dict[str, t.Any], output: Output) -> dict[str, t.Any]:
        """Give the result of the action, with the ``report`` as text.

        Raises ``InputError`` for input that cannot be used.
        """

    def run(
        self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None
    ) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _spec, args = self.validate_argument_spec(
            argument_spec={
                **ARGUMENTS,
                **(EXCEPTIONS if self.RULES else {}),
                **self.ARGUMENTS,
            },
            mutually_exclusive=[("hosts", "fleet", "facts"), *self.EXCLUSIVE],
        )
        try:
            refuse_unknown(args)
            folders = (self._loader.get_basedir(), os.getcwd())
            output = Output(
                args["fail_on"],
                {option: args[option] for option in PATHS if args[option]},
                self._task.check_mode,
                self._task.diff,
                min(shutil.get_terminal_size((100, 24)).columns, WIDEST),
                exceptions(
                    args.get("waivers"), args.get("baseline"), folders, datetime.date.today()
                ),
            )
            given, missing = sources(args, task_vars or {}, folders)
            found = self.report(given, args, output)
        except InputError as error:
            raise AnsibleActionFail(str(error)) from None
        if args["show"]:
            self._display.display(found["report"])
        if missing:
            warning = f"no facts, so {self.LEFT_OUT}: {', '.join(missing)}"
            result.setdefault("warnings", []).append(warning)
        return {**result, **found}
