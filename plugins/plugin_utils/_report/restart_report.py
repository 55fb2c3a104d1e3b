# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A check of restarts from its sources to what is reported of it."""

from __future__ import annotations

import dataclasses
import itertools
import typing as t

from ...module_utils._read.errors import InputError, quoted
from .._model import gathering
from .._model.gathering import Sources
from .._model.schema import as_mapping
from .._plan.clouds import cloud_of
from .._plan.restart import changed, check
from .._rules.audit import ranked, status_of
from .._rules.rule import RestartCase, Severity
from . import html_report, rendering, values
from .cpu_drawing import Change
from .findings import Findings, aside
from .grouping import grouped
from .json_report import WORDS, plain
from .naming import compact, counted
from .run import concluded

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .._model.config import HostConfig
    from .._model.host import Fleet
    from .._nova.inventory import Inventory
    from .._plan.restart import Restart
    from .._rules.rule import Finding
    from .grouping import Group
    from .run import Output

SHOWN_CLASSES = ("VCPU", "PCPU")
"""The resource classes that a report shows."""

SPELLED_OUT = 3
"""Findings of one rule that the text spells out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Proposed:
    """The options and the release that nova-compute is to start with."""

    options: Mapping[str, t.Any] | None = None
    """For all hosts: by their names in the facts, None to unset one."""
    of_hosts: Mapping[str, t.Any] | None = None
    """The same by the name of a host; they come on top."""
    facts: str | None = None
    """Path of a folder with the facts of the hosts as they are to be."""
    release: str | None = None


def restart_check(sources: Sources, proposed: Proposed, output: Output) -> dict[str, t.Any]:
    """Try a restart of every host; write the reports, and give the result of the action.

    Raises ``InputError`` for input that cannot be used.
    """
    fleet = gathering.fleet(sources, flavors_needed=False)
    restarts = tuple(
        dataclasses.replace(each, findings=output.marked(each.findings, fleet))
        for each in check(
            cloud_of(fleet),
            _configs(fleet, sources, proposed),
            proposed.release,
            servers_told=bool(fleet.servers or (sources.servers and not fleet.allocations)),
        )
    )
    faults = output.faults((RestartCase,))
    found = [finding for restart in restarts for finding in restart.findings]
    found += faults
    status = status_of(found)
    verdict = _verdict(restarts, found, status)
    hosts = [_host(restart) for restart in restarts]
    report = rendering.render(
        "restart.txt.j2",
        verdict=verdict,
        width=output.width,
        hosts=_fates(restarts),
        groups=list(_shortened(grouped(ranked(found)))),
    )
    result = {
        "status": status,
        "verdict": verdict,
        "hosts": hosts,
        "waivers": [plain(finding) for finding in faults],
    }
    view = Findings("restart_check", status, verdict, ranked(found), (RestartCase,), output.fail_on)
    changes = [Change(each.names, each.case.before.host, each.case.host) for each in restarts]
    makers = {"html_path": lambda: html_report.findings_page(view, report, changes)}
    return concluded(
        {**result, "report": report}, output, view, lambda: {"format": 1, **result}, makers
    )


def _configs(fleet: Fleet, sources: Sources, proposed: Proposed) -> dict[str, HostConfig]:
    """Make the options of each host as they are to be."""
    now = _by_name(fleet)
    if proposed.facts is not None:
        wanted = Sources(sources.release, facts=proposed.facts, folders=sources.folders)
        then = _by_name(gathering.fleet(wanted, flavors_needed=False))
        lacking = [name for name in now if name not in then]
        if lacking:
            raise InputError(
                f"the folder has no facts of {compact(lacking)}",
                "those of every host that is checked",
                "proposed_facts",
            )
        return {name: then[name] for name in now}
    of_hosts = as_mapping(proposed.of_hosts or {}, ("proposed",))
    for name in of_hosts:
        if name not in now:
            raise InputError(
                f"{quoted(name)} is no host that is checked", compact(list(now)), "proposed"
            )
    return {
        name: changed(
            changed(config, proposed.options or {}, ("options",)),
            of_hosts.get(name) or {},
            ("proposed", name),
        )
        for name, config in now.items()
    }


def _by_name(fleet: Fleet) -> dict[str, HostConfig]:
    return {name: each.host.config for each in fleet.classes for name in each.names}


def _verdict(restarts: tuple[Restart, ...], found: list[Finding], status: int) -> str:
    """Say in one sentence what the restarts come to."""
    total = sum(len(each.names) for each in restarts)
    dying = sum(len(each.names) for each in restarts if not each.starts)
    stale = sum(len(each.names) for each in restarts if each.starts and each.error)
    parts = [f"nova-compute starts on {total - dying} of {counted(total, 'host')}"]
    if stale:
        parts.append(f"on {stale} of them it runs and each of its updates fails")
    warned = {
        name
        for each in found
        if each.severity is Severity.WARNING and each.counts
        for name in each.names
    }
    if warned:
        parts.append(f"{counted(len(warned), 'host')} with warnings")
    return f"{WORDS[status]}: {'; '.join(parts)}{aside(found)}."


def _host(restart: Restart) -> dict[str, t.Any]:
    """Show what becomes of the restart as plain data."""
    start = restart.case.start
    return {
        "names": list(restart.names),
        "release": {
            "before": restart.case.before.release.name,
            "after": restart.case.host.release,
        },
        "judged": restart.judged,
        "starts": restart.starts,
        "reports": start.clean,
        "error": values.error(restart.error),
        "moved": len(start.moved),
        "inventory": {"before": _shown(restart.before), "after": _shown(restart.after)},
        "findings": [_plain(finding, restart.names) for finding in restart.findings],
    }


def _plain(finding: Finding, names: tuple[str, ...]) -> dict[str, t.Any]:
    """Show a finding of a host; its names only where it is not about all of the hosts."""
    shown = finding.as_dict()
    del shown["subject"]
    if finding.names == names:
        del shown["names"]
    return shown


def _shown(inventory: Mapping[str, Inventory]) -> dict[str, t.Any]:
    return {
        name: {"total": each.total, "reserved": each.reserved, "ratio": each.ratio}
        for name in SHOWN_CLASSES
        if (each := inventory.get(name))
    }


def _fates(restarts: tuple[Restart, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """Tell what becomes of the hosts in lines of text, those with the same lines together."""
    found: dict[tuple[str, ...], list[str]] = {}
    for restart in restarts:
        found.setdefault(tuple(_fate(restart)), []).extend(restart.names)
    return [(compact(names), lines) for lines, names in found.items()]


def _fate(restart: Restart) -> Iterator[str]:
    before, after = restart.case.before.release.name, restart.case.host.release
    yield f"Nova {before}" + (f" to {after}" if after != before else "")
    if restart.error:
        fate = "runs, but reports nothing new" if restart.starts else "does not start"
        yield f"{fate}: {restart.error.name}"
    else:
        moved = counted(len(restart.case.start.moved), "server")
        yield ("starts" if restart.judged else "starts, as far as is known") + (
            f", and moves {moved} to PCPU" if restart.case.start.moved else ""
        )
    lines = [
        _line(name, restart.before.get(name), restart.after.get(name))
        for name in SHOWN_CLASSES
        if name in restart.before or name in restart.after
    ]
    if lines:
        yield "; ".join(lines)


def _shortened(groups: Iterable[Group]) -> Iterator[Group]:
    """Spell out the first groups of each rule, and name the hosts of the others."""
    for _code, members in itertools.groupby(groups, lambda group: group.code):
        same = list(members)
        yield from same[:SPELLED_OUT]
        others = same[SPELLED_OUT:]
        if others:
            yield dataclasses.replace(
                others[0],
                hosts=tuple(dict.fromkeys(name for each in others for name in each.hosts)),
                what="the same with other servers or CPUs",
                fix="what to do on each of these hosts is in the report as JSON",
            )


def _line(name: str, before: Inventory | None, after: Inventory | None) -> str:
    left, right = _amount(before), _amount(after)
    return f"{name} {left}" if left == right else f"{name} {left} to {right}"


def _amount(each: Inventory | None) -> str:
    if each is None:
        return "none"
    total = f"{each.total}" + (f" less {each.reserved}" if each.reserved else "")
    return total + (f" x {each.ratio:g}" if each.ratio != 1 else "")
