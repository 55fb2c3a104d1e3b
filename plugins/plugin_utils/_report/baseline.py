# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON report of an earlier run, as what a later one is held against."""

from __future__ import annotations

import typing as t

from ...module_utils._read.errors import InputError
from .._model import loading
from .._rules.exceptions import Baseline, Key, key

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ACCEPTED = "a report that json_path of an earlier run wrote"


def read(path: str) -> Baseline:
    """Read a report. Raises ``InputError`` for a file that is none."""
    return baseline(loading.load(path), path)


def baseline(document: object, where: str = "baseline") -> Baseline:
    """Take the findings of a report, but for those that were waived when it was written.

    These count again when their waivers have expired. Raises ``InputError`` for what is no report
    of a command that runs rules.
    """
    if not isinstance(document, dict) or "verdict" not in document:
        raise InputError("this is no report", _ACCEPTED, where)
    if document.get("format") != 1:
        raise InputError("this report is of another version", "format 1", where)
    if not {"findings", "waivers"} & set(document):
        raise InputError("this report is of a command without rules", _ACCEPTED, where)
    try:
        parts = document, document.get("target") or {}
        now, then = (_known(part) for part in parts)
        held = _merged(_known(part, waived=True) for part in parts)
    except (AttributeError, IndexError, KeyError, TypeError):
        raise InputError("the findings of this report are broken", _ACCEPTED, where) from None
    return Baseline(now, _merged((now, then)), held)


def _merged(known: Iterable[dict[Key, set[str]]]) -> dict[Key, set[str]]:
    found: dict[Key, set[str]] = {}
    for each in known:
        for about, names in each.items():
            found.setdefault(about, set()).update(names)
    return found


def _known(report: dict[str, t.Any], *, waived: bool = False) -> dict[Key, set[str]]:
    """List the hosts of each finding; with ``waived`` also of those that were."""
    found: dict[Key, set[str]] = {}
    for finding, names in _findings(report):
        if finding.get("waived") and not waived:
            continue
        about = key(str(finding["code"]), str(finding["subject"]), str(finding["what"]), names)
        found.setdefault(about, set()).update(names)
    return found


def _findings(report: dict[str, t.Any]) -> Iterator[tuple[dict[str, t.Any], list[str]]]:
    """List the findings, each with the names of its hosts."""
    hosts = report.get("hosts") or []
    for finding in report.get("findings") or []:
        if "names" in finding:
            yield finding, finding["names"]
        elif "classes" in finding:
            yield finding, [name for place in finding["classes"] for name in hosts[place]["names"]]
        else:
            yield finding, [finding["host"]] if finding.get("host") else []
    for host in hosts:
        for finding in host.get("findings") or []:
            subject = f"host {host['names'][0]}"
            yield {"subject": subject, **finding}, host["names"]
