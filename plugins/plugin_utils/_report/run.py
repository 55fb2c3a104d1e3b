# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An audit from its sources to what is reported of it."""

from __future__ import annotations

import dataclasses
import json
import os
import time
import typing as t

from ...module_utils._read.errors import InputError
from .._model import gathering
from .._model.schema import within
from .._rules.audit import Audit, audit, audit_hosts, new_findings, upgraded
from . import emulator_report, json_report, text
from .cpu_map import WIDTH, cpu_map
from .writing import Written, located, write_all

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from .._model.gathering import Sources

FAIL_ON = {"error": 2, "warning": 1, "never": 3}
"""Fail policies, each with the least status that fails."""


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """Where reports go, and what counts as failure."""

    fail_on: str = "error"
    report_path: str | None = None
    json_path: str | None = None
    check: bool = False
    diff: bool = False
    width: int = WIDTH
    markdown_path: str | None = None


class Progress:
    """Says how far long work is, first after ``after`` seconds and then now and again."""

    def __init__(
        self,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        after: float = 3.0,
        line: str = "audited {} of {} flavors",
    ) -> None:
        self._say = say
        self._line = line
        self._clock = clock
        self._after = after
        self._next = clock() + after

    def __call__(self, done: int, total: int) -> None:
        if self._clock() >= self._next:
            self._next = self._clock() + self._after
            self._say(self._line.format(done, total))


def flavor_audit(
    sources: Sources, output: Output, target_release: str | None = None, say: t.Any = None
) -> dict[str, t.Any]:
    """Audit flavors on hosts; write the reports, and give the result of the action.

    Raises ``InputError`` for input that cannot be used.
    """
    fleet = gathering.fleet(sources)
    progress = Progress(say) if say else None
    now = audit(fleet, progress)
    then = audit(upgraded(fleet, target_release), progress) if target_release else None
    threads = emulator_report.rows(now)
    return _result(now, then, output, text.report(now, then, output.width, threads), threads)


def host_audit(sources: Sources, output: Output) -> dict[str, t.Any]:
    """Audit hosts alone; write the reports, and give the result with the map of each class.

    Raises ``InputError`` for input that cannot be used.
    """
    now = audit_hosts(gathering.fleet(sources, flavors_needed=False))
    maps = [cpu_map(case, output.width) for case in now.hosts]
    shown = "\n".join([text.report(now, None, output.width), *maps])
    result = _result(now, None, output, shown)
    return {**result, "maps": dict(zip([case.host.name for case in now.hosts], maps, strict=True))}


def _result(
    now: Audit,
    then: Audit | None,
    output: Output,
    report: str,
    threads: tuple[emulator_report.Row, ...] = (),
) -> dict[str, t.Any]:
    verdict = json_report.verdict(now, then)
    status = max(now.status, then.status if then else 0)
    result = {
        "status": status,
        "summary": {**json_report.summary(now), "verdict": verdict},
        "findings": json_report.findings(now.findings, now),
        "hosts": json_report.hosts(now),
        "rows": [json_report.row(case, pins=False) for case in now.rows],
        "report": report,
    }
    if then is not None:
        result["target"] = {
            "release": then.scheduler.release,
            "status": then.status,
            "summary": json_report.summary(then),
            "findings": json_report.findings(then.findings, then),
            "new": json_report.findings(new_findings(now, then), then),
        }
    return concluded(result, verdict, output, lambda: json_report.document(now, then, threads))


def concluded(
    result: dict[str, t.Any],
    verdict: str,
    output: Output,
    document: Callable[[], dict[str, t.Any]],
    markdown: Callable[[], str] = str,
) -> dict[str, t.Any]:
    """Write the reports; say in the result what changed, and whether the task fails.

    ``result`` has its ``status`` and its ``report`` as text; ``document`` makes that in JSON, and
    ``markdown`` in Markdown where there is such a report.

    Raises ``InputError`` for a path that cannot be written.
    """
    written = _written(output, result["report"], document, markdown)
    found = {"changed": any(file.changed for file in written), **result}
    if output.diff:
        found["diff"] = [file.diff() for file in written if file.changed]
    if result["status"] >= FAIL_ON[output.fail_on]:
        found |= {"failed": True, "msg": verdict}
    return found


def _written(
    output: Output,
    report: str,
    document: Callable[[], dict[str, t.Any]],
    markdown: Callable[[], str],
) -> list[Written]:
    """Write the files; nothing is written before all of them are made and can be written."""
    made = {
        "report_path": lambda: report,
        "markdown_path": markdown,
        "json_path": lambda: json.dumps(document(), indent=1) + "\n",
    }
    texts: dict[str, str] = {}
    for option, make in made.items():
        given = getattr(output, option)
        if given:
            with within(option):
                path = placed(given)
                if path in texts:
                    raise InputError("two reports go to one file", "a path for each", path)
            texts[path] = make()
    return write_all(texts, check=output.check)


def placed(given: str) -> str:
    """Find the place of a file that is written, where a file can be.

    Raises ``InputError`` where it cannot.
    """
    path = located(given)
    if not os.path.isdir(os.path.dirname(path)):
        raise InputError("the folder does not exist", "a folder that exists", os.path.dirname(path))
    if os.path.isdir(path):
        raise InputError("is a folder", "the path of a file", path)
    return path
