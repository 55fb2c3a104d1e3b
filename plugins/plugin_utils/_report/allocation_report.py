# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Placement has wrong about servers, from the sources to what is reported."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ...module_utils._read.errors import InputError
from .._model import gathering
from .._plan.repair import audit_allocations
from .._rules.rule import AllocationCase, ServerCase, Severity
from . import rendering
from .findings import Findings, aside, standing
from .grouping import grouped
from .json_report import WORDS, kind, plain
from .naming import compact, counted
from .run import concluded

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from .._model.gathering import Sources
    from .._model.host import Fleet
    from .._plan.repair import AllocationAudit, Damage, Repair
    from .run import Output

_SHOWN = 3
"""Servers of one group whose commands the text shows, and reasons of each kind."""


_SUBJECTS = (ServerCase, AllocationCase)
"""What the rules are about that are run."""


def allocation_audit(sources: Sources, output: Output) -> dict[str, t.Any]:
    """Audit the allocations of a fleet; write the reports, and give the result of the action.

    Raises ``InputError`` for input that cannot be used, or where there is no server.
    """
    fleet = gathering.fleet(sources, flavors_needed=False)
    if not fleet.servers and not fleet.allocations:
        raise InputError("there is no server", "servers, or a fleet file with servers", "servers")
    found = _marked(audit_allocations(fleet), output, fleet)
    shown = {**document(found), "report": report(found, output.width)}
    del shown["format"]
    view = Findings(
        "allocation_audit",
        found.status,
        shown["verdict"],
        found.findings,
        _SUBJECTS,
        output.fail_on,
    )
    return concluded(shown, output, view, lambda: document(found))


def _marked(found: AllocationAudit, output: Output, fleet: Fleet) -> AllocationAudit:
    """Mark what is waived or known, and find what is wrong with the waivers."""
    damages = tuple(
        dataclasses.replace(damage, finding=finding)
        for damage in found.damages
        for finding in output.marked([damage.finding], fleet)
    )
    return dataclasses.replace(found, damages=damages, faults=output.faults(_SUBJECTS))


def document(found: AllocationAudit) -> dict[str, t.Any]:
    """Show it as plain data, in the form of ``schemas/allocations.json``."""
    return {
        "format": 1,
        "status": found.status,
        "verdict": verdict(found),
        "release": found.scheduler.release,
        "summary": summary(found),
        "findings": [_damage(damage) for damage in found.damages],
        "waivers": [plain(finding) for finding in found.faults],
    }


def summary(found: AllocationAudit) -> dict[str, int]:
    """Count hosts, servers, findings by severity and repairs by their way."""
    severities = collections.Counter(each.severity for each in found.findings if each.counts)
    ways = collections.Counter(each.repair.way for each in found.damages)
    return {
        "hosts": found.hosts,
        "servers": found.servers,
        "untold": found.untold,
        **{severity.value: severities[severity] for severity in Severity},
        "waived": sum(each.waiver is not None for each in found.findings),
        "known": sum(each.known and not each.waiver for each in found.findings),
        "repairable": ways.total() - ways["none"],
    }


def verdict(found: AllocationAudit) -> str:
    """Say in one sentence what the audit comes to."""
    total = summary(found)
    parts = [counted(total[name], name) for name in ("error", "warning") if total[name]]
    text = (
        f"{WORDS[found.status]}: {counted(found.servers, 'server')} on "
        f"{counted(found.hosts, 'host')} at Nova {found.scheduler.release}: "
        + (" and ".join(parts) or "nothing wrong in Placement")
    )
    left = sum(each.repair.way == "none" and each.finding.counts for each in found.damages)
    if left:
        text += f", {left} of them without a repair"
    if found.untold:
        text += f"; of {counted(found.untold, 'server')} nobody told the allocation"
    return f"{text}{aside(found.findings)}."


def _damage(damage: Damage) -> dict[str, t.Any]:
    plain = damage.finding.as_dict()
    (host,) = plain.pop("names")
    repair = damage.repair
    return {
        **plain,
        "id": damage.id,
        "host": host,
        "kind": kind(damage.seen),
        "repair": {
            **{field.name: getattr(repair, field.name) for field in dataclasses.fields(repair)},
            "commands": list(repair.commands),
            "first": list(repair.first),
            "hosts": list(repair.hosts),
            "refusals": [
                {"reason": reason, "hosts": compact(hosts)} for reason, hosts in repair.refusals
            ],
        },
    }


def report(found: AllocationAudit, width: int) -> str:
    """Write it for a terminal: findings that say the same of hosts of one kind are put together."""
    groups: dict[t.Any, list[Damage]] = {}
    for damage in found.damages:
        finding = damage.finding
        key = (
            standing(finding),
            *(finding.code, finding.severity, finding.what, finding.effect, finding.fix),
            *(kind(damage.seen), damage.repair.way, bool(damage.repair.first)),
        )
        groups.setdefault(key, []).append(damage)
    return rendering.render(
        "allocations.txt.j2",
        verdict=verdict(found),
        width=width,
        groups=[_group(members) for members in groups.values()],
        faults=grouped(found.faults),
    )


def _group(members: list[Damage]) -> dict[str, t.Any]:
    first = members[0]
    repairs = [member.repair for member in members]
    return {
        "finding": first.finding,
        "standing": standing(first.finding),
        "subjects": _subjects(members),
        "hosts": compact([member.seen.host.name for member in members]),
        "kind": kind(first.seen),
        "repairs": repairs[:_SHOWN],
        "more": max(0, len(repairs) - _SHOWN),
        "targets": _targets(repairs),
        "refusals": [(reason, compact(hosts)) for reason, hosts in repairs[0].refusals[:_SHOWN]],
        "refused": max(0, len(repairs[0].refusals) - _SHOWN),
        "heals": _most([repair.heal for repair in repairs if repair.heal]),
    }


def _subjects(members: list[Damage]) -> str:
    if not members[0].name:
        return "consumer " + compact([member.id for member in members], "consumer")
    names = [member.name for member in members]
    if len(members) == 1:
        return f"server {names[0]} ({members[0].id})"
    if len(set(names)) < len(names):
        names = [f"{member.name} ({member.id})" for member in members]
    return "server " + compact(names, "server")


def _targets(repairs: Sequence[Repair]) -> str:
    """Name the hosts to go to, for one server or for several together."""
    hosts = compact(list(dict.fromkeys(host for repair in repairs for host in repair.hosts)))
    most = max(repair.host_count for repair in repairs)
    return f"{hosts}; {counted(most, 'host')} in all" if most > _SHOWN else hosts


def _most(texts: Sequence[str]) -> list[str]:
    """Give the most frequent of the texts, each with how often it holds where there are several."""
    counts = collections.Counter(texts).most_common(_SHOWN)
    if len(counts) == 1:
        return [counts[0][0]]
    return [f"{text} ({counted(count, 'server')})" for text, count in counts]
