# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An audit from its sources to what is reported of it."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import time
import typing as t

from ...module_utils._read.errors import InputError
from .._model import gathering
from .._model.schema import within
from .._model.waivers import read as read_waivers
from .._rules.audit import audit, audit_hosts, new_findings, ranked, upgraded
from .._rules.exceptions import Exceptions
from .._rules.rule import FlavorCase, FleetCase, HostCase
from . import (
    baseline,
    codequality,
    emulator_report,
    html_report,
    json_report,
    junit,
    markdown,
    sarif,
    text,
)
from .cpu_map import WIDTH, cpu_map
from .findings import Findings
from .writing import Written, located, write_all

if t.TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from .._model.gathering import Sources
    from .._model.host import Fleet
    from .._rules.audit import Audit
    from .._rules.rule import Finding

FORMATS: Mapping[str, Callable[[Findings], str]] = {
    "markdown_path": markdown.render,
    "sarif_path": sarif.render,
    "junit_path": junit.render,
    "codequality_path": codequality.render,
}
"""What makes the report of any command for an option."""

PATHS = ("report_path", "html_path", "json_path", *FORMATS)
"""The options that name files to write."""


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """Where reports go, and what counts as failure."""

    fail_on: str = "error"
    paths: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By option, those of :data:`PATHS` that are given."""
    check: bool = False
    diff: bool = False
    width: int = WIDTH
    exceptions: Exceptions | None = None

    def marked(
        self, found: Iterable[Finding], fleet: Fleet | None = None, *, target: bool = False
    ) -> tuple[Finding, ...]:
        """Mark the findings that are waived or known, as ``Exceptions.marked`` does."""
        if self.exceptions is None:
            return tuple(found)
        return self.exceptions.marked(found, fleet.classes if fleet else (), target=target)

    def faults(self, subjects: Collection[type]) -> tuple[Finding, ...]:
        """Find what is wrong with the waivers, once all findings are marked."""
        return self.exceptions.faults(subjects) if self.exceptions else ()


def exceptions(
    waivers: str | None, known: str | None, folders: Sequence[str], today: datetime.date
) -> Exceptions | None:
    """Read a file of waivers and a report to hold this one against; None without any of them.

    Raises ``InputError`` for files that cannot be used.
    """
    if not waivers and not known:
        return None
    return Exceptions(
        read_waivers(gathering.located(waivers, folders)) if waivers else (),
        today,
        baseline.read(gathering.located(known, folders)) if known else None,
    )


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
    now = _marked(audit(fleet, progress), output, fleet)
    then = None
    if target_release:
        later = upgraded(fleet, target_release)
        then = _marked(audit(later, progress), output, later, target=True)
    subjects = (FlavorCase, HostCase, FleetCase)
    now = _with_faults(now, output, subjects)
    threads = emulator_report.rows(now)
    shown = text.report(now, then, output.width, threads)
    view = _view("flavor_audit", now, then, output, subjects)
    return _result(now, then, output, view, shown, threads)


def host_audit(sources: Sources, output: Output) -> dict[str, t.Any]:
    """Audit hosts alone; write the reports, and give the result with the map of each class.

    Raises ``InputError`` for input that cannot be used.
    """
    fleet = gathering.fleet(sources, flavors_needed=False)
    now = _with_faults(_marked(audit_hosts(fleet), output, fleet), output, (HostCase,))
    maps = [cpu_map(case, output.width) for case in now.hosts]
    shown = "\n".join([text.report(now, None, output.width), *maps])
    view = _view("host_audit", now, None, output, (HostCase,))
    result = _result(now, None, output, view, shown)
    return {**result, "maps": dict(zip([case.host.name for case in now.hosts], maps, strict=True))}


def _marked(found: Audit, output: Output, fleet: Fleet, *, target: bool = False) -> Audit:
    marked = output.marked(found.findings, fleet, target=target)
    return dataclasses.replace(found, findings=marked)


def _with_faults(found: Audit, output: Output, subjects: tuple[type, ...]) -> Audit:
    findings = (*found.findings, *output.faults(subjects))
    return dataclasses.replace(found, findings=ranked(findings))


def _view(
    command: str, now: Audit, then: Audit | None, output: Output, subjects: tuple[type, ...]
) -> Findings:
    """Put together what there is to find now and, so marked, what is new at a target release."""
    later = new_findings(now, then) if then else ()
    found = tuple(
        dataclasses.replace(each, what=f"at Nova {then.scheduler.release}: {each.what}")
        for each in later
        if then
    )
    return Findings(
        command,
        max(now.status, then.status if then else 0),
        json_report.verdict(now, then),
        (*now.findings, *found),
        subjects,
        output.fail_on,
    )


def _result(
    now: Audit,
    then: Audit | None,
    output: Output,
    view: Findings,
    report: str,
    threads: tuple[emulator_report.Row, ...] = (),
) -> dict[str, t.Any]:
    result = {
        "status": view.status,
        "summary": {**json_report.summary(now), "verdict": view.verdict},
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
    makers = {"html_path": lambda: html_report.audit_page(view, now, then, threads, report)}
    return concluded(result, output, view, lambda: json_report.document(now, then, threads), makers)


def concluded(
    result: dict[str, t.Any],
    output: Output,
    view: Findings,
    document: Callable[[], dict[str, t.Any]],
    makers: Mapping[str, Callable[[], str]] | None = None,
) -> dict[str, t.Any]:
    """Write the reports; say in the result what changed, and whether the task fails.

    ``result`` has its ``status`` and its ``report`` as text; ``document`` makes that in JSON.
    ``makers`` make the reports of some options in another way than :data:`FORMATS`.

    Raises ``InputError`` for a path that cannot be written.
    """
    every: dict[str, Callable[[], str]] = {
        "report_path": lambda: result["report"],
        "json_path": lambda: json.dumps(document(), indent=1) + "\n",
        "html_path": lambda: html_report.findings_page(view, result["report"]),
        **{option: functools.partial(make, view) for option, make in FORMATS.items()},
        **(makers or {}),
    }
    written = _written(output, every)
    found = {"changed": any(file.changed for file in written), **result}
    if output.diff:
        found["diff"] = [file.diff() for file in written if file.changed]
    if view.failed:
        found |= {"failed": True, "msg": view.verdict}
    return found


def _written(output: Output, makers: Mapping[str, Callable[[], str]]) -> list[Written]:
    """Write the files; nothing is written before all of them are made and can be written."""
    texts: dict[str, str] = {}
    for option, make in makers.items():
        given = output.paths.get(option)
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
