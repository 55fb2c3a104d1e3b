# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is found in running guests, from the sources to what is reported."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
import typing as t

from ...module_utils._read.cpu_list import mask, to_text
from .._model import gathering
from .._plan.guest_audit import NEEDS, audit_guests, codes
from .._rules import guests
from .._rules.rule import GuestCase, HostGuestsCase, Severity
from . import guest_page, rendering
from .emulator_report import change, today
from .findings import Findings, aside, standing
from .grouping import Group
from .json_report import WORDS
from .naming import compact, counted
from .run import concluded

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .._model.domain import Domain
    from .._model.gathering import Sources
    from .._model.host import Fleet
    from .._plan.emulator_flavors import Option
    from .._plan.guest_audit import GuestAudit, GuestLook
    from .._plan.side_by_side import Line
    from .._rules.rule import Finding
    from .run import Output

_SHOWN = 3
"""Guests of one group whose commands the text shows, and groups of a rule that has too many."""
_SPELLED = 6
"""Groups of one rule that the text spells out."""
_ROWS = 60
"""Rows of the table from which on guests that need nothing are only counted."""
_MOST_ROWS = 100
"""Rows that the table has at most."""
_DIFFS = 12
"""Different comparisons that the text shows."""
_GROUPS = 8
"""Groups of guests that need the same for different rules, which the text tells apart."""
_CELL = 24
"""Columns that a cell of a table may take, where the line has room for them."""
_LEAST = 8
"""Columns that it may take in any case."""

_THREAD_ID = re.compile(r"[0-9]{3,}")
"""Numbers that may be those of threads: shorter ones are rather CPUs."""

_WIDEST = 1000
"""Columns of a table that is not for a terminal."""

_WISHED = "wished"
_SIDES = ("predicted", "live", "persistent", "proposed", _WISHED)
"""The XMLs that are compared."""

_SUBJECTS = (GuestCase, HostGuestsCase)
"""What the rules are about that are run."""

_TITLES = {
    "migrate": "Migrate",
    "reboot": "Reboot hard",
    "look": "Look at",
    "nothing": "Need nothing",
}


def guest_audit(sources: Sources, output: Output) -> dict[str, t.Any]:
    """Audit the guests of a fleet; write the reports, and give the result of the action.

    Raises ``InputError`` for input that cannot be used, or where nobody told of any guest.
    """
    fleet = gathering.fleet(sources, flavors_needed=False)
    found = _marked(audit_guests(fleet, gathering.domains(sources)), output, fleet)
    shown = {**document(found), "report": report(found, output.width)}
    del shown["format"]
    view = Findings(
        "guest_audit",
        found.status,
        shown["verdict"],
        found.findings,
        _SUBJECTS,
        output.fail_on,
    )
    makers = {
        "markdown_path": lambda: markdown(found),
        "html_path": lambda: guest_page.page(
            view,
            found,
            _shown(found, _WIDEST),
            _grouped(found),
            [_HEAD, *map(_row, found.looks)],
            shown["report"],
        ),
    }
    return concluded(shown, output, view, lambda: document(found), makers)


def _marked(found: GuestAudit, output: Output, fleet: Fleet) -> GuestAudit:
    """Mark what is waived or known, and add what is wrong with the waivers."""
    looks = tuple(
        dataclasses.replace(look, findings=output.marked(look.findings, fleet))
        for look in found.looks
    )
    shared = output.marked(found.shared, fleet)
    return dataclasses.replace(found, looks=looks, shared=(*shared, *output.faults(_SUBJECTS)))


def document(found: GuestAudit) -> dict[str, t.Any]:
    """Show it as plain data, in the form of ``schemas/guests_report.json``."""
    counts = collections.Counter(look.case.domain.host for look in found.looks)
    return {
        "format": 1,
        "status": found.status,
        "verdict": verdict(found),
        "summary": summary(found),
        "hosts": [
            {
                "name": name,
                "guests": counts[name] if name in found.unread else None,
                "unread": list(found.unread.get(name, ("no guest facts",))),
            }
            for name in found.hosts
        ],
        "guests": [_guest(look, found.unshared) for look in found.looks],
        "findings": [
            {
                **{key: value for key, value in finding.as_dict().items() if key != "names"},
                "id": look.case.domain.id if look else None,
                "host": look.case.domain.host if look else next(iter(finding.names), None),
            }
            for finding, look in _owned(found)
        ],
    }


def _owned(found: GuestAudit) -> Iterator[tuple[Finding, GuestLook | None]]:
    """List findings with their guests, by severity, code and subject; None for those of a host."""
    owners = {finding: look for look in found.looks for finding in look.findings}
    return ((finding, owners.get(finding)) for finding in found.findings)


def _guest(look: GuestLook, unshared: Sequence[str]) -> dict[str, t.Any]:
    case = look.case
    domain = case.domain
    xml = domain.xml
    return {
        "id": domain.id,
        "name": look.name,
        "domain": domain.name,
        "host": domain.host,
        "running": domain.running,
        "managed": domain.nova is not None,
        "release": case.release.name,
        "flavor": case.flavor.name if case.flavor else "",
        "inferred": case.inferred,
        "policy": look.policy,
        "realtime": to_text(xml.realtime) if xml else "",
        "pins": {str(vcpu): cpu for vcpu, cpu in sorted(xml.pins.items())} if xml else {},
        "emulator": {name: _set(cpus) for name, cpus in look.emulator.items()},
        "reported_form": look.reported_form,
        "needs": look.needs,
        "first": [text for option in look.options for _label, text in _option(option, unshared)],
        "commands": list(look.commands),
        "differs": [
            {"element": line.element, **dict(zip(_SIDES, line.texts, strict=True))}
            for line in look.differs
        ],
        "notes": list(_notes(look)),
        "unpredicted": case.unpredicted,
        "unread": list(look.unread),
    }


def _notes(look: GuestLook) -> tuple[str, ...]:
    """List what is to be said of the better XML, and of the one that is wished for."""
    notes = [str(note) for note in look.better.notes] if look.better else []
    if look.wished:
        further = [str(note) for note in look.wished.notes]
        notes += [f"{_WISHED}: {note}" for note in further if note not in notes]
    return tuple(notes)


def _set(cpus: int | None) -> str | None:
    return None if cpus is None else to_text(cpus)


def summary(found: GuestAudit) -> dict[str, t.Any]:
    """Count hosts, guests, findings by severity and guests by what they need."""
    severities = collections.Counter(each.severity for each in found.findings if each.counts)
    needs = collections.Counter(look.needs for look in found.looks)
    domains = [look.case.domain for look in found.looks]
    return {
        "hosts": len(found.hosts),
        "untold": len(found.untold),
        "guests": len(domains),
        "running": sum(domain.running for domain in domains),
        "foreign": sum(domain.nova is None for domain in domains),
        "unread": sum(bool(look.unread) for look in found.looks),
        **{severity.value: severities[severity] for severity in Severity},
        "waived": sum(each.waiver is not None for each in found.findings),
        "known": sum(each.known and not each.waiver for each in found.findings),
        "needs": {need: needs[need] for need in NEEDS},
    }


def verdict(found: GuestAudit) -> str:
    """Say in one sentence what the audit comes to."""
    total = summary(found)
    looked = total["hosts"] - total["untold"]
    parts = [counted(total[name], name) for name in ("error", "warning") if total[name]]
    nothing = "nothing found" if found.status else "nothing to change"
    text = (
        f"{WORDS[found.status]}: {counted(total['guests'], 'guest')} on "
        f"{counted(looked, 'host')}: {' and '.join(parts) or nothing}"
        f"{aside(found.findings)}"
    )
    needs = total["needs"]
    asked = [
        f"{needs[need]} {words}"
        for need, words in (
            ("migrate", "to migrate"),
            ("reboot", "to reboot hard"),
            ("look", "to look at"),
        )
        if needs[need]
    ]
    if asked:
        text += f"; {', '.join(asked)}"
    unread = [
        f"{words} {counted(number, noun)}"
        for number, words, noun in (
            (total["untold"], "the guests of", "host"),
            (sum(map(bool, found.unread.values())), "something of", "host"),
            (total["unread"], "something of", "guest"),
        )
        if number
    ]
    if unread:
        text += f"; not read: {', '.join(unread)}"
    return text + "."


def report(found: GuestAudit, width: int) -> str:
    """Write it for a terminal: what is the same of several guests stands once."""
    return rendering.render("guests.txt.j2", width=width, **_shown(found, width))


def markdown(found: GuestAudit) -> str:
    """Write it as Markdown."""
    return rendering.render("guests.md.j2", **_shown(found, _WIDEST))


def _shown(found: GuestAudit, width: int) -> dict[str, t.Any]:
    return {
        "verdict": verdict(found),
        "legend": _LEGEND,
        "embedded": _EMBEDDED,
        "tables": list(_tables(found, width)),
        "needs": list(_needs(found.looks)),
        "firsts": list(_firsts(found.looks, found.unshared)),
        "compared": list(_compared(found, width)),
        "inferred": _inferred(found.looks),
        "unread": _unread(found),
        "groups": list(_shortened(_grouped(found))),
    }


_LEGEND = (
    "RT are the realtime vCPUs, pins the CPUs of pinned vCPUs. From predicted to proposed it is "
    "the CPUs of the emulator threads: as Nova writes them, as the XML has them, as the kernel has "
    "them, and as they would be better; = as predicted, ? unknown or inferred."
)
_EMBEDDED = (
    "The commands are for guests to come. A server keeps the flavor as it was when it was made: to "
    "move it, make another flavor with the property, and openstack server resize --flavor OTHER ID."
)


class _Table(t.NamedTuple):
    """The guests of one host, or a line on those of several."""

    title: str
    rows: list[list[str]]
    widths: list[int]
    rest: str
    """What is not in the rows."""


_HEAD = ("guest", "policy", "RT", "pins", "predicted", "live", "threads", "proposed", "needs")


def _tables(found: GuestAudit, width: int) -> Iterator[_Table]:
    """Make the table of each host; hosts on which nothing is to be done together where many are."""
    many = len(found.looks) > _ROWS
    left = _MOST_ROWS
    idle: list[str] = []
    resting = hidden = 0
    for host, members in itertools.groupby(found.looks, lambda look: look.case.domain.host):
        looks = list(members)
        wanted = [look for look in looks if not (many and look.needs == "nothing")]
        shown = wanted[:left]
        left -= len(shown)
        if not shown:
            idle.append(host)
            resting += len(looks) - len(wanted)
            hidden += len(wanted)
            continue
        rows = [list(_HEAD), *map(_row, shown)]
        rest = _rest(len(looks) - len(wanted), len(wanted) - len(shown))
        cells, widths = fitted(rows, width - len("    "))
        yield _Table(f"{host}, Nova {looks[0].case.host.release.name}", cells, widths, rest)
    if idle:
        yield _Table(compact(idle), [], [], _rest(resting, hidden))


def _rest(resting: int, hidden: int) -> str:
    parts = []
    if resting:
        parts.append(
            f"{counted(resting, 'guest')} that {'need' if resting > 1 else 'needs'} nothing"
        )
    if hidden:
        parts.append(f"{counted(hidden, 'guest')} that only the JSON report has")
    return "and ".join(parts)


def _row(look: GuestLook) -> list[str]:
    domain, case = look.case.domain, look.case
    xml, foreign = domain.xml, domain.nova is None
    known = {
        "predicted": foreign or case.predicted is not None,
        "live": xml is not None,
        "threads": domain.threads is not None,
        "proposed": foreign or look.better is not None,
    }
    predicted, *others = (
        _cell(cpus) if known[name] else "?" for name, cpus in look.emulator.items()
    )
    return [
        look.name,
        look.policy + ("?" if case.inferred and look.policy else ""),
        to_text(xml.realtime) if xml else "?",
        to_text(mask(xml.pins.values())) if xml else "?",
        predicted,
        *("=" if text == predicted and text not in "?-" else text for text in others),
        look.needs + ("?" if look.needs == "nothing" and look.unread else ""),
    ]


def _cell(cpus: int | None) -> str:
    return "-" if cpus is None else to_text(cpus) or "none"


def fitted(rows: list[list[str]], width: int) -> tuple[list[list[str]], list[int]]:
    """Cut the cells of a table so that its lines take ``width`` columns, if that can be.

    The first row is its head and stays as it is. An empty cell is shown as a dash.
    """
    texts = [[rendering.printable(cell) or "-" for cell in row] for row in rows]
    head = list(map(len, texts[0]))
    natural = [max(map(len, column)) for column in zip(*texts, strict=True)]
    room = width - 2 * (len(natural) - 1)
    most = min(max(natural), max(_CELL, width // 4))

    def widths(most: int) -> list[int]:
        return [max(least, min(each, most)) for least, each in zip(head, natural, strict=True)]

    while most > _LEAST and sum(widths(most)) > room:
        most -= 1
    found = widths(most)
    return [list(map(_cut, row, found)) for row in texts], found


def _cut(cell: str, limit: int) -> str:
    return cell if len(cell) <= limit else cell[: limit - 3] + "..."


class _Needing(t.NamedTuple):
    """Guests that need the same."""

    title: str
    commands: list[str]
    more: int


def _needs(looks: Sequence[GuestLook]) -> Iterator[_Needing]:
    """Sort guests by what they need, and by the rules that it is for."""
    groups: dict[t.Any, list[GuestLook]] = {}
    for look in looks:
        groups.setdefault((look.needs, _titled(look)), []).append(look)
    for need in NEEDS:
        found = [(title, members) for (needs, title), members in groups.items() if needs == need]
        shown, others = found[:_GROUPS], found[_GROUPS:]
        if others:
            shown.append(
                (
                    f"{_TITLES[need]} for other rules",
                    [look for _title, members in others for look in members],
                )
            )
        for title, members in shown:
            names = compact(named(members), "guest", 8)
            commands = [line for look in members[:_SHOWN] for line in _commands(look)]
            more = len(members) - _SHOWN if commands else 0
            yield _Needing(f"{title}: {names}", commands, max(0, more))


def _titled(look: GuestLook) -> str:
    """Say what a guest needs, for which rules, worst first, and which are left to look at then."""
    title = _TITLES[look.needs]
    if look.needs == "nothing":
        parts = dict.fromkeys(line.partition(":")[0] for line in look.unread)
        return f"Nothing found; not read: {', '.join(parts)}" if parts else title
    found = codes(look.findings)
    if look.needs == "look":
        return f"{title} for {', '.join(found)}" if found else title
    own = {code for code in found if guests.remedy(code, look.case) == look.needs}
    left = [code for code in found if code in look.left and code not in own]
    met = [code for code in found if code not in left]
    text = f"{title} for {', '.join(met)}" if met else title
    return text + (f", then look at {', '.join(left)}" if left else "")


def _commands(look: GuestLook) -> Iterator[str]:
    first, *others = look.commands or ("",)
    if first:
        yield f"{first} # {look.name}"
    yield from others


def named(looks: Sequence[GuestLook]) -> list[str]:
    """Name guests; with host and then id where others of them have the name too."""
    names = collections.Counter(look.name for look in looks)
    placed = collections.Counter((look.name, look.case.domain.host) for look in looks)
    found = []
    for look in looks:
        domain = look.case.domain
        alone = placed[look.name, domain.host] == 1
        more = f" ({domain.host if alone else domain.id})" if names[look.name] > 1 else ""
        found.append(look.name + more)
    return found


class _First(t.NamedTuple):
    """What a flavor can do for some guests."""

    title: str
    lines: tuple[tuple[str, str], ...]
    """Pairs of a label and a text."""


def _firsts(looks: Sequence[GuestLook], unshared: Sequence[str]) -> Iterator[_First]:
    groups: dict[t.Any, list[GuestLook]] = {}
    for look in looks:
        if look.options and look.case.flavor:
            lines = tuple(line for option in look.options for line in _option(option, unshared))
            key = look.case.flavor.name, today(look.options[0]), lines
            groups.setdefault(key, []).append(look)
    for (flavor, now, lines), members in groups.items():
        hosts = compact(list(dict.fromkeys(look.case.domain.host for look in members)))
        guests_named = compact(named(members), "guest", 8)
        yield _First(
            f"flavor {flavor} of {guests_named} on {hosts}; for a new guest on an empty host, "
            f"today: {now}",
            lines,
        )


def _option(option: Option, unshared: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Tell of one policy: what comes of it, what it costs, the command, and what is to be known."""
    told = change(option)
    yield "then", told.text
    if option.then is not None:
        yield "run", option.command
    for note in told.notes:
        yield "note", note
    if option.then is not None and option.policy == "share" and unshared:
        where = compact(unshared)
        yield "note", f"guests of the flavor then fail to build on {where}: no cpu_shared_set there"


class _Diff(t.NamedTuple):
    """A comparison that holds for some guests."""

    title: str
    rows: list[list[str]]
    widths: list[int]
    notes: tuple[str, ...]
    """With their numbers, which tell them apart in the whole report."""
    repeated: str
    """Numbers of the notes that stand above already: ``[1], [3]``."""


class _Diffs(t.NamedTuple):
    """Comparisons of one kind."""

    title: str
    shown: list[_Diff]
    more: int
    """Guests whose comparisons are not shown."""


def _compared(found: GuestAudit, width: int) -> Iterator[_Diffs]:
    """Show where guests are not as predicted, and where the others could be better."""
    differing = [look for look in found.looks if look.differs]
    noted: dict[str, int] = {}
    for title, looks, sides in (
        ("Where they differ", [look for look in differing if look.drifts], _SIDES),
        (
            "What would be better still",
            [look for look in differing if not look.drifts],
            ("live", "proposed"),
        ),
    ):
        groups: dict[t.Any, list[GuestLook]] = {}
        for look in looks:
            groups.setdefault((look.differs, _notes(look)), []).append(look)
        shown = []
        for (lines, notes), members in itertools.islice(groups.items(), _DIFFS):
            repeated = ", ".join(f"[{noted[note]}]" for note in notes if note in noted)
            fresh = tuple(
                f"[{noted.setdefault(note, len(noted) + 1)}] {note}"
                for note in notes
                if note not in noted
            )
            rows, widths = _side_by_side(lines, sides, width)
            hosts = compact(list(dict.fromkeys(look.case.domain.host for look in members)))
            names = f"{compact(named(members), 'guest', 8)} on {hosts}"
            shown.append(_Diff(names, rows, widths, fresh, repeated))
        more = sum(len(members) for members in itertools.islice(groups.values(), _DIFFS, None))
        if shown:
            yield _Diffs(title, shown, more)


def _side_by_side(
    lines: tuple[Line, ...], sides: tuple[str, ...], width: int
) -> tuple[list[list[str]], list[int]]:
    """Make the table of one comparison; without the persistent XML where it is as the live one, and
    the one that is wished for where nobody does."""
    live, persistent, wished = map(_SIDES.index, ("live", "persistent", _WISHED))
    if all(line.texts[persistent] in ("", line.texts[live]) for line in lines):
        sides = tuple(side for side in sides if side != "persistent")
    if not any(line.texts[wished] for line in lines):
        sides = tuple(side for side in sides if side != _WISHED)
    places = [_SIDES.index(side) for side in sides]
    rows = [
        ["element", *sides],
        *([line.element, *(line.texts[place] or "?" for place in places)] for line in lines),
    ]
    return fitted(rows, width - len("    "))


def _unread(found: GuestAudit) -> list[tuple[str, str]]:
    """List what could not be read, with whom it is of; what is the same together."""
    hosts: dict[str, list[str]] = {}
    for name, lines in found.unread.items():
        for line in lines:
            hosts.setdefault(line, []).append(name)
    guests: dict[str, list[GuestLook]] = {}
    for look in found.looks:
        for line in look.unread:
            guests.setdefault(line, []).append(look)
    told = [(compact(found.untold), "no guest facts")] if found.untold else []
    told += [(compact(names), line) for line, names in hosts.items()]
    told += [(compact(named(members), "guest", 8), line) for line, members in guests.items()]
    return told


def _inferred(looks: Sequence[GuestLook]) -> str:
    """Name the guests whose extra specs are a guess."""
    members = [look for look in looks if look.case.inferred and look.case.domain.nova]
    if not members:
        return ""
    return (
        f"Of {compact(named(members), 'guest', 8)} neither the domain nor a server tells the extra "
        "specs; they are read off the XML, so drift of it shows less."
    )


def _grouped(found: GuestAudit) -> Iterator[Group]:
    """Put findings together that say the same of several guests."""
    groups: dict[t.Any, list[tuple[Finding, GuestLook | None]]] = {}
    for finding, look in _owned(found):
        texts: tuple[str, ...] = (finding.what, finding.effect, finding.fix)
        if look:
            texts = _masked(texts, look.case.domain)
        key = (finding.code, finding.severity, bool(look), texts, standing(finding))
        groups.setdefault(key, []).append((finding, look))
    for (code, severity, owned, texts, why_not), members in groups.items():
        first = members[0][0]
        looks = [look for _finding, look in members if look]
        what, effect, fix = texts if len(members) > 1 else (first.what, first.effect, first.fix)
        yield Group(
            code,
            severity,
            first.title,
            "guest" if owned else "host",
            tuple(dict.fromkeys(named(looks))),
            tuple(dict.fromkeys(name for finding, _look in members for name in finding.names)),
            what,
            effect,
            fix,
            tuple(dict.fromkeys(finding.where for finding, _look in members if finding.where)),
            why_not,
        )


def _masked(texts: tuple[str, ...], domain: Domain) -> tuple[str, ...]:
    """Put placeholders for the names and numbers that only one guest has."""
    threads = {str(thread.id) for thread in domain.threads or ()}

    def masked(number: re.Match[str]) -> str:
        return "TID" if number[0] in threads else number[0]

    return tuple(
        _THREAD_ID.sub(masked, text.replace(domain.id, "ID").replace(guests.title(domain), "GUEST"))
        for text in texts
    )


def _shortened(groups: Iterable[Group]) -> Iterator[Group]:
    """Spell out the groups of each rule; of many only the first, and the guests of the others."""
    for _key, members in itertools.groupby(groups, lambda group: (group.severity, group.code)):
        same = list(members)
        spelled = len(same) if len(same) <= _SPELLED else _SHOWN
        yield from same[:spelled]
        others = same[spelled:]
        if others:
            yield dataclasses.replace(
                others[0],
                subjects=tuple(dict.fromkeys(name for each in others for name in each.subjects)),
                hosts=tuple(dict.fromkeys(name for each in others for name in each.hosts)),
                what="the same with other CPUs",
                fix="what to do about each of them is in the report as JSON",
                where=(),
            )
