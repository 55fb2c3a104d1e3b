# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a rolling upgrade, from its sources to what is reported of it."""

from __future__ import annotations

import dataclasses
import shlex
import typing as t

from ...module_utils._read.errors import InputError, quoted
from .._model import gathering, loading
from .._model.config_options import OPTIONS
from .._model.goal import goal as read_goal
from .._plan import upgrade
from .._plan.cpu_sets import REPLACED
from .._plan.steps import Kind
from .._plan.targets import targets
from .._rules.rule import Finding, Severity
from . import plan_page, rendering
from .findings import Findings
from .naming import compact, counted
from .run import concluded

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .._model.config import HostConfig
    from .._model.gathering import Sources
    from .._model.goal import Goal
    from .._model.host import Fleet
    from .._plan.steps import Blocker, HostTurn, Move, Plan, Step
    from .run import Output

Data = dict[str, t.Any]

SHOWN = 5
"""Servers, flavors or groups of hosts that the texts show of one step."""

_WORDS = ("COMPLETE", "COMPLETE WITH WARNINGS", "BLOCKED")

_WAYS = {
    "spare": "free or add hosts that take the flavor; or a smaller batch_size or spare",
    "flavor": "leave hosts that take the flavor as they are (leave), wish for sets that it fits, "
    "or change the flavor",
    "class": "reconfigure at a release that refuses this, or take hw:cpu_thread_policy=isolate "
    "out of the flavor",
    "server": "see to these servers first, then plan anew",
    "start": "wish for other sets, or see to the servers that it fails over",
    "release": "take these hosts out of leave, or aim at an earlier release",
    "fallback": "give these hosts sets in the goal, or set disable_fallback: false there",
}
"""What to do about a constraint that forbids to go on."""


PROCEDURE = (
    "of all hosts of the step: openstack compute service set --disable --disable-reason upgrade "
    "HOST nova-compute",
    "run what the step has under move (as administrator, with OS_COMPUTE_API_VERSION=2.56 or "
    "later); see that each server came to the host that is named. Cold moves stop a server "
    "meanwhile. One that fails: openstack server migration revert, and plan anew",
    "host by host: set the options in nova.conf and take out what is marked so, or bring "
    "nova-compute to the release of the step; then restart nova-compute",
    "openstack resource provider inventory list $(openstack resource provider list --name HOST -f "
    "value -c uuid), with osc-placement: within a minute or two the totals are those under verify",
    "run what the step has under reboot: until then these servers float over CPUs of pinned ones",
    "openstack compute service set --enable HOST nova-compute",
)
"""What is done with the hosts of a step, in this order."""

FAILURE = (
    "Where nova-compute does not come up, or the totals are others, stop: leave the host disabled "
    "and the rest as it is. The old options may be put back as long as nothing is allocated as "
    "PCPU there; afterwards there is only the way forward."
)

_DUTIES: Mapping[Kind, tuple[str, ...]] = {
    Kind.CONTROL: (
        "nova-status upgrade check # with the code of {release}",
        "nova-manage api_db sync && nova-manage db sync # the latter for each cell",
        "# then Placement, API, conductors and schedulers of {release}; computes follow",
        "nova-manage db online_data_migrations # after the last compute",
        "# this is the frame: your deployer knows the rest",
    ),
    Kind.UPGRADE: (),
    Kind.RECONFIGURE: (),
    Kind.FLIP: (
        "# in nova.conf of every scheduler, then restart nova-scheduler",
        "[workarounds]",
        "disable_fallback_pcpu_query = true",
    ),
    Kind.CLEAN: (),
}


def upgrade_plan(sources: Sources, wanted: object, output: Output) -> Data:
    """Plan an upgrade; write the reports, and give the result of the action.

    ``wanted`` is the document of the goal, or the path of its file.

    Raises ``InputError`` for input that cannot be used.
    """
    fleet = gathering.fleet(sources)
    goal = _goal(wanted, fleet, sources.folders)
    made = upgrade.plan(fleet, goal, targets(fleet, goal))
    shown = _Shown(made, fleet, goal, told=bool(fleet.servers) or sources.servers is not None)
    found = shown.document()
    report = shown.text(output.width)
    result = {"status": found["status"], "verdict": found["verdict"], "plan": found}
    view = Findings(
        "upgrade_plan",
        found["status"],
        found["verdict"],
        tuple(_findings(made)),
        fail_on=output.fail_on,
    )
    makers = {"markdown_path": shown.markdown, "html_path": lambda: shown.html(view, report)}
    return concluded({**result, "report": report}, output, view, lambda: found, makers)


def _findings(plan: Plan) -> Iterator[Finding]:
    """Show what keeps a plan from its end, and what else it says, as findings."""

    def finding(
        code: str, severity: Severity, title: str, what: str, effect: str, fix: str
    ) -> Finding:
        return Finding(code, severity, title, "fleet", (), what, effect, fix, "")

    for blocker in plan.blockers:
        made = finding(
            f"plan-{blocker.constraint}",
            Severity.ERROR,
            "Constraint that forbids to go on",
            blocker.text,
            "the plan ends before its goal",
            _WAYS[blocker.constraint],
        )
        yield dataclasses.replace(made, names=blocker.hosts)
    for advisory in plan.advisories:
        yield finding(
            f"trap-{advisory.code}",
            Severity.WARNING,
            "Known trap on the way",
            advisory.text,
            "the upgrade meets it",
            advisory.advice,
        )
    for kind, names, what, effect in (
        ("unschedulable", plan.unschedulable, "no host takes it as it is", "it boots nowhere now"),
        ("lost", plan.lost, "no host takes it in the end", "it boots nowhere after the upgrade"),
    ):
        for name in names:
            made = finding(
                f"plan-{kind}",
                Severity.WARNING,
                "Flavor without a host",
                what,
                effect,
                "wish for sets that it fits, or change the flavor",
            )
            yield dataclasses.replace(made, subject=f"flavor {name}")


def _goal(wanted: object, fleet: Fleet, folders: Sequence[str]) -> Goal:
    names = [name for each in fleet.classes for name in each.names]
    if isinstance(wanted, str):
        path = gathering.located(wanted, folders)
        return read_goal(loading.load(path), names, path)
    if not isinstance(wanted, dict):
        raise InputError(f"{quoted(wanted)} is no goal", "a mapping, or the path of a file", "goal")
    return read_goal(gathering.settled(wanted), names)


def settings(config: HostConfig) -> dict[str, str | None]:
    """Give the options that a plan decides on, as ``nova_conf`` takes them: None to remove one."""
    return {
        key: str(value) if (value := getattr(config, option.name)) else None
        for key, option in OPTIONS.items()
        if option.name in REPLACED
    }


@dataclasses.dataclass(frozen=True, slots=True)
class _Shown:
    """A plan with what it was made of."""

    plan: Plan
    fleet: Fleet
    goal: Goal
    told: bool
    """Whether it is known which servers there are."""

    @property
    def status(self) -> int:
        if self.plan.blockers:
            return 2
        plan = self.plan
        short = any(turn.short for step in plan.steps for turn in step.turns)
        told = plan.advisories or plan.unschedulable or plan.lost or short
        return int(bool(told or not self.told))

    def document(self) -> Data:
        """Show it as plain data, in the form of ``schemas/plan.json``."""
        plan = self.plan
        names = {server.id: server.name for server in self.fleet.servers}
        return {
            "format": 1,
            "status": self.status,
            "verdict": self.verdict(),
            "complete": plan.complete,
            "release": {"current": plan.current.name, "target": plan.target.name},
            "batch_size": self.goal.batch_size,
            "spare": self.goal.spare,
            "legacy": {"before": plan.legacy_before, "after": plan.legacy_after},
            "flavors": list(plan.flavors),
            "unschedulable": list(plan.unschedulable),
            "lost": list(plan.lost),
            "advisories": [dataclasses.asdict(each) for each in plan.advisories],
            "blockers": [_blocker(each) for each in plan.blockers],
            "steps": [_step(each, names) for each in plan.steps],
        }

    def verdict(self) -> str:
        """Say in one sentence what the plan comes to."""
        plan = self.plan
        moved, rebooted, hosts = _touched(plan.steps)
        parts = [
            f"{counted(len(plan.steps), 'step')} with {counted(len(hosts), 'host')}",
            f"{counted(moved, 'server')} migrated, {rebooted} rebooted hard",
            *self._remains(),
        ]
        if plan.target != plan.current:
            way = "to" if plan.complete else "towards"
            parts.insert(1, f"Nova {plan.current.name} {way} {plan.target.name}")
        if not self.told:
            parts.append("no servers were given, so hosts are taken to be empty")
        return f"{_WORDS[self.status]}: {'; '.join(parts)}."

    def _remains(self) -> Iterator[str]:
        """Say what is kept throughout, and what is not as it should be after the last step."""
        plan = self.plan
        if plan.flavors and plan.steps:
            more = f" and room for {self.goal.spare} more throughout" if self.goal.spare else ""
            yield f"each flavor in use keeps a host{more or ' after each step'}"
        if plan.blockers:
            constraints = dict.fromkeys(each.constraint for each in plan.blockers)
            yield f"what comes next is forbidden by {', '.join(constraints)}"
        left = plan.legacy_after
        if left:
            yield f"{counted(left, 'host')} still pinning to VCPU"
        elif plan.legacy_before:
            yield "no host pins to VCPU any more"

    def text(self, width: int) -> str:
        """Write it for a terminal."""
        return rendering.render("plan.txt.j2", width=width, **self._parts())

    def markdown(self) -> str:
        """Write it for a ticket or a wiki."""
        return rendering.render("plan.md.j2", **self._parts())

    def html(self, view: Findings, report: str) -> str:
        """Write it as a page; ``report`` is the same as text."""
        return plan_page.page(view, self.plan, self.fleet, self._parts(), report)

    def _parts(self) -> Data:
        """Put together what both texts show."""
        names = {server.id: server.name for server in self.fleet.servers}
        before = {name: each.host.config for each in self.fleet.classes for name in each.names}
        return {
            "verdict": self.verdict(),
            "plan": self.plan,
            "ways": _WAYS,
            "procedure": PROCEDURE if any(step.turns for step in self.plan.steps) else (),
            "failure": FAILURE,
            "sections": [_section(step, names, before) for step in self.plan.steps],
        }


def _touched(steps: Iterable[Step]) -> tuple[int, int, set[str]]:
    """Count the servers that are moved and rebooted, and list the hosts that have a turn."""
    turns = [turn for step in steps for turn in step.turns]
    moved = {move.server for turn in turns for move in turn.moves}
    rebooted = {server for turn in turns for server in turn.reboots}
    return len(moved), len(rebooted), {turn.host for turn in turns}


def _blocker(each: Blocker) -> Data:
    return {
        "constraint": each.constraint,
        "text": each.text,
        "advice": _WAYS[each.constraint],
        "hosts": list(each.hosts),
    }


def _step(step: Step, names: Mapping[str, str]) -> Data:
    return {
        "number": step.number,
        "kind": step.kind.name.lower(),
        "release": step.release or None,
        "note": step.note,
        "hosts": [_turn(turn, names) for turn in step.turns],
        "room": dict(step.room),
    }


def _turn(turn: HostTurn, names: Mapping[str, str]) -> Data:
    return {
        "name": turn.host,
        "settings": settings(turn.config) if turn.config else {},
        "moves": [
            {
                "id": move.server,
                "name": move.name,
                "target": move.target,
                "live": move.live,
                "allocation": dict(move.allocation),
            }
            for move in turn.moves
        ],
        "reshaped": turn.reshaped,
        "short": [{"id": each, "name": names.get(each, each)} for each in turn.short],
        "reboots": [{"id": each, "name": names.get(each, each)} for each in turn.reboots],
        "expected": dict(turn.inventory),
    }


class _Block(t.NamedTuple):
    """One thing to do in a step."""

    label: str
    lines: tuple[str, ...]
    code: str = ""
    """What the lines are in that are to be copied: ``shell`` or ``ini``."""
    more: int = 0
    """Servers or groups of hosts that are not shown."""


class _Section(t.NamedTuple):
    """One step in words."""

    title: str
    blocks: tuple[_Block, ...]


def _section(step: Step, names: Mapping[str, str], before: Mapping[str, HostConfig]) -> _Section:
    title = f"{step.number}: {step.kind.value}" + (f" to {step.release}" if step.release else "")
    blocks = (
        _Block("on", (compact(step.hosts),) if step.hosts else ()),
        _Block(
            "do", tuple(line.format(release=step.release) for line in _DUTIES[step.kind]), "shell"
        ),
        _Block("note", (step.note,) if step.note else ()),
        _block("move", [_move(move) for turn in step.turns for move in turn.moves], "shell"),
        _block(
            "set",
            [
                (f"# {hosts}", *lines)
                for hosts, lines in _grouped(
                    (turn.host, _lines(before[turn.host], turn.config)) for turn in step.turns
                )
            ],
            "ini",
        ),
        _block(
            "verify",
            [
                (f"{hosts}: {told}",)
                for hosts, told in _grouped((turn.host, _expected(turn)) for turn in step.turns)
            ],
        ),
        _block(
            "reboot",
            [_reboot(each, names) for turn in step.turns for each in turn.reboots],
            "shell",
        ),
        _block("short", [_short(turn, names) for turn in step.turns if turn.short]),
        _Block("room", (_room(step.room),) if step.room and step.turns and not step.note else ()),
    )
    return _Section(title, tuple(block for block in blocks if block.lines))


def _block(label: str, parts: Sequence[tuple[str, ...]], code: str = "") -> _Block:
    """Show the first of several parts, each of some lines."""
    lines = tuple(line for part in parts[:SHOWN] for line in part)
    return _Block(label, lines, code, max(0, len(parts) - SHOWN))


def _move(move: Move) -> tuple[str, ...]:
    there = f", {_amounts(move.allocation)} there" if move.allocation else ""
    server, live = shlex.quote(move.server), "--live-migration " if move.live else ""
    told = (
        f"# {move.name}: {move.source} to {move.target}{there}",
        f"openstack server migrate --wait {live}--host {shlex.quote(move.target)} {server}",
    )
    return told if move.live else (*told, f"openstack server migration confirm {server}")


def _reboot(server: str, names: Mapping[str, str]) -> tuple[str]:
    told = f"openstack server reboot --hard --wait {shlex.quote(server)}"
    return (f"{told} # {names.get(server, server)}",)


def _short(turn: HostTurn, names: Mapping[str, str]) -> tuple[str]:
    told = ", ".join(names.get(each, each) for each in turn.short)
    return (f"{turn.host}: more CPUs than PCPU allocated have {told}; allocation_audit says more",)


_Told = t.TypeVar("_Told", str, tuple[str, ...])


def _grouped(pairs: Iterable[tuple[str, _Told]]) -> list[tuple[str, _Told]]:
    """Put hosts together of which the same is told."""
    found: dict[_Told, list[str]] = {}
    for name, told in pairs:
        if told:
            found.setdefault(told, []).append(name)
    return [(compact(hosts), told) for told, hosts in found.items()]


def _lines(before: HostConfig, after: HostConfig | None) -> tuple[str, ...]:
    """Write what is to change as lines of ``nova.conf``, section by section."""
    if after is None:
        return ()
    now, then = settings(before), settings(after)
    sections: dict[str, list[str]] = {}
    for key, value in then.items():
        section, _dot, name = key.rpartition(".")
        lines = sections.setdefault(section or "DEFAULT", [])
        if value:
            lines.append(f"{name} = {value}")
        elif now[key]:
            lines.append(f"# remove {name} = {now[key]}")
    for stray in before.strays:
        if stray not in after.strays:
            lines = sections.setdefault(stray.section, [])
            lines.append(f"# remove {stray.key}, which Nova does not read here ({stray.where})")
    return tuple(
        line for section, lines in sections.items() if lines for line in (f"[{section}]", *lines)
    )


def _amounts(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items())


def _expected(turn: HostTurn) -> str:
    turned = f"; VCPU allocations that become PCPU: {turn.reshaped}" if turn.reshaped else ""
    return f"{_amounts(turn.inventory)}{turned}"


def _room(room: Mapping[str, int]) -> str:
    """Name the flavors that fewest hosts take."""
    scarce = sorted(room.items(), key=lambda item: item[1])
    told = [f"{label} on {number}" for label, number in scarce[:SHOWN]]
    if len(scarce) > SHOWN:
        told.append(f"{len(scarce) - SHOWN} more flavors on {scarce[SHOWN][1]} or more")
    return f"hosts that take one more meanwhile: {', '.join(told)}"
