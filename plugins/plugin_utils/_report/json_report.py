# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of an audit as plain data, in the form of ``schemas/report.json``."""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text
from .._model.flavor import NO_IMAGE
from .._rules.audit import errors, new_findings
from .._rules.rule import Severity
from . import emulator_report, values
from .findings import aside
from .naming import compact, counted

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .._nova.schedule import HostView
    from .._rules.audit import Audit
    from .._rules.rule import Finding, FlavorCase, HostCase

WORDS = ("SUCCESS", "WARNINGS", "FAILURE")
"""What a status means."""


def document(
    now: Audit, then: Audit | None = None, threads: Sequence[emulator_report.Row] = ()
) -> dict[str, t.Any]:
    """Make the report: the audit as things are, and at the target release where one is planned."""
    status = max(now.status, then.status if then else 0)
    return {
        "format": 1,
        "status": status,
        "verdict": verdict(now, then),
        **_audit(now, now.findings),
        "threads": emulator_report.document(threads),
        "target": None
        if then is None
        else {**_audit(then, then.findings), "new": findings(new_findings(now, then), then)},
    }


def _audit(audit: Audit, found: tuple[Finding, ...]) -> dict[str, t.Any]:
    return {
        "release": audit.scheduler.release,
        "summary": summary(audit),
        "hosts": hosts(audit),
        "rows": [row(case) for case in audit.rows],
        "findings": findings(found, audit),
    }


def summary(audit: Audit) -> dict[str, t.Any]:
    """Count hosts, flavors, decisions and findings of an audit."""
    outcomes = [outcome for case in audit.rows for outcome in case.outcomes]
    return {
        "hosts": sum(len(case.names) for case in audit.hosts),
        "host_classes": len(audit.hosts),
        "flavors": len({case.flavor.name for case in audit.rows}),
        **{
            severity.value: sum(
                finding.severity is severity and finding.counts for finding in audit.findings
            )
            for severity in Severity
        },
        "waived": sum(finding.waiver is not None for finding in audit.findings),
        "known": sum(each.known and not each.waiver for each in audit.findings),
        "primary": sum(outcome.query == "primary" for outcome in outcomes),
        "fallback": sum(outcome.query == "fallback" for outcome in outcomes),
        "refused": sum(not outcome.boots for outcome in outcomes),
    }


def verdict(now: Audit, then: Audit | None = None) -> str:
    """Say in one sentence what an audit comes to."""
    status = max(now.status, then.status if then else 0)
    total = summary(now)
    scope = counted(total["hosts"], "host")
    if now.rows:
        scope = f"{counted(total['flavors'], 'flavor')} on {scope}"
    bad = [each for each in errors(now.findings) if each.counts]
    about_flavors = [each for each in bad if each.subject.startswith("flavor ")]
    flavors = len({each.subject.partition(" with image ")[0] for each in about_flavors})
    failing = len(_hosts_with(bad))
    parts = [
        text
        for count, text in (
            (total["error"], counted(total["error"], "error")),
            (total["warning"], counted(total["warning"], "warning")),
        )
        if count
    ]
    about = [
        text
        for count, text in (
            (flavors, counted(flavors, "flavor")),
            (failing, counted(failing, "host")),
        )
        if count
    ]
    told = " and ".join(parts) or "nothing to change"
    told += f" ({' and '.join(about)} with errors)" if about else ""
    text = f"{WORDS[status]}: {scope} at Nova {now.scheduler.release}: {told}{aside(now.findings)}"
    if then is not None:
        fresh = sum(finding.counts for finding in new_findings(now, then))
        text += f"; {counted(fresh, 'more finding')} at {then.scheduler.release}"
    return text + "."


def _hosts_with(errors: Iterable[Finding]) -> set[str]:
    """List the hosts that errors are about; those of a flavor's error need not be wrong."""
    named = {
        id(each.names): each.names
        for each in errors
        if not each.subject.startswith(("flavor ", "image "))
    }
    return {name for names in named.values() for name in names}


def findings(found: Iterable[Finding], audit: Audit) -> list[dict[str, t.Any]]:
    """Show findings; hosts are named in short and by the places of their classes."""
    classes = {name: index for index, case in enumerate(audit.hosts) for name in case.names}
    known: dict[int, tuple[str, list[int]]] = {}
    result = []
    for finding in found:
        names = finding.names
        if id(names) not in known:
            known[id(names)] = compact(names), sorted({classes[n] for n in names if n in classes})
        shown, places = known[id(names)]
        result.append({**plain(finding), "hosts": shown, "classes": places})
    return result


def plain(finding: Finding) -> dict[str, t.Any]:
    """Show a finding that is about no host."""
    shown = finding.as_dict()
    del shown["names"]
    return shown


def hosts(audit: Audit) -> list[dict[str, t.Any]]:
    """Show the classes of hosts; outcomes and findings name them by their places here."""
    return [_host(case) for case in audit.hosts]


def _host(case: HostCase) -> dict[str, t.Any]:
    return {
        "names": list(case.names),
        "release": case.release.name,
        "kind": kind(case),
        "smt": case.host.topology.hyperthreading,
        "shared": to_text(case.sets.shared) if case.sets else None,
        "dedicated": to_text(case.sets.dedicated) if case.sets else None,
        "fault": values.error(case.fault),
    }


def kind(case: HostCase | HostView) -> str:
    """Say how a host is configured."""
    if case.sets is None:
        return "broken"
    if case.sets.legacy:
        return "legacy"
    if not case.sets.dedicated:
        return "shared only"
    return "shared and dedicated" if case.sets.shared else "dedicated only"


def row(case: FlavorCase, *, pins: bool = True) -> dict[str, t.Any]:
    """Show what becomes of a flavor on each class of hosts; equal outcomes are shown once.

    Without ``pins`` only the verdicts are shown.
    """
    shown: list[tuple[dict[str, t.Any], list[int]]] = []
    for index, outcome in enumerate(case.outcomes):
        plain = values.outcome(outcome)
        if not pins:
            plain = {key: plain[key] for key in ("boots", "query", "stage", "reason", "error")}
        places = next((places for known, places in shown if known == plain), None)
        if places is None:
            shown.append((plain, [index]))
        else:
            places.append(index)
    return {
        "flavor": case.flavor.name,
        "image": None if case.image is NO_IMAGE else case.image.name,
        "outcomes": [{**plain, "classes": places} for plain, places in shown],
    }
