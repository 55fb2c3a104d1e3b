# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of a fleet, made of the facts of its hosts and of what its cloud tells."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ...module_utils._read import files
from ...module_utils._read.errors import InputError
from .._model import cloud_api, cloud_joining, documents
from .._model.cloud_api import NEEDS, Compute
from .._model.cloud_joining import Match, Told
from .._model.schema import plain, within
from .._nova import releases
from . import prediction, rendering
from .cpu_map import WIDTH
from .naming import compact, counted
from .run import Progress, placed
from .writing import write

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .._model.cloud_api import Api
    from .._model.host import HostClass

MODE = 0o600
"""The file names every server and flavor of a cloud."""
_MOST = 20
"""Lines that the text shows of one kind; the result has them all."""
_FAILURES = 5
"""Providers that may fail before no more are asked for."""
_Document = dict[str, t.Any]
_Part = t.TypeVar("_Part")


@dataclasses.dataclass(frozen=True, slots=True)
class Wish:
    """What file is wanted, and what the cloud does not tell."""

    path: str
    release: str | None = None
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Names in the cloud of hosts whose facts have another."""
    allocated: bool = False
    disable_fallback_pcpu_query: bool | None = None
    numa_topology_filter: bool | None = None
    check: bool = False
    diff: bool = False
    width: int = WIDTH


def fleet_info(
    facts: Mapping[str, t.Any], api: Api, wish: Wish, say: Callable[[str], None]
) -> _Document:
    """Read a cloud, write the file, and give the result of the action.

    What cannot be read is told in the result's ``unread``, and left out.

    Raises ``InputError`` for facts, names or a path that cannot be used, for a cloud without
    compute API, and where no host with facts is in the cloud.
    """
    with within("path"):
        path = placed(wish.path)
    newest = api.newest("compute")
    release, notes = _release(wish.release, newest)
    facts = {name: plain(given) for name, given in facts.items()}
    kinds = documents.classes(facts.items(), release)
    reading = _Reading(api, say)
    found = reading.match(facts, wish.names)
    told = reading.told(found)
    control = {
        "release": release,
        "disable_fallback_pcpu_query": wish.disable_fallback_pcpu_query,
        "numa_topology_filter": wish.numa_topology_filter,
    }
    scheduler = {key: value for key, value in control.items() if value is not None}
    made = cloud_joining.joined(facts, found, told, scheduler, allocated=wish.allocated)
    # Whatever was told, the other commands can read the file.
    documents.fleet(made.fleet, where="what the cloud tells")
    text = json.dumps(made.fleet, indent=1) + "\n"
    if len(text) > files.LARGE:
        what = f"the file would have {len(text)} bytes, more than any command reads"
        raise InputError(what, f"at most {files.LARGE}: fewer hosts, one file for some", path)
    written = write(path, text, check=wish.check, mode=MODE)
    counts = {
        part: len(made.fleet[part])
        for part in ("flavors", "images", "servers", "allocations")
        if part in made.fleet
    }
    result: _Document = {
        "changed": written.changed,
        "path": path,
        "release": release,
        "microversion": ".".join(map(str, newest)),
        "summary": {"hosts": len(found.computes), **counts},
        "unread": [*reading.unread, *_left_out(told, made)],
        "notes": notes,
        "hosts_without_facts": list(found.factless),
        "hosts_unknown": list(found.strangers),
        "hosts_not_up": _not_up(found, told),
        "servers_elsewhere": made.elsewhere,
        "deviations": _deviations(kinds, found, told),
    }
    if wish.diff and written.changed:
        result["diff"] = [written.diff()]
    return {**result, "report": _report(result, wish.width)}


def _report(result: _Document, width: int) -> str:
    """Write what was read, and what was not, for a terminal."""
    counts = result["summary"]
    parts = [counted(number, part.removesuffix("s")) for part, number in counts.items()]
    lines = {
        "Not read": result["unread"],
        "Left out": [
            f"{text}: {compact(result[key])}"
            for key, text in (
                ("hosts_without_facts", "hosts of the cloud without facts"),
                ("hosts_unknown", "hosts with facts that the cloud does not have"),
            )
            if result[key]
        ]
        + [
            f"{counted(number, 'server')} on {host}, of which there are no facts"
            for host, number in result["servers_elsewhere"].items()
        ],
        "Release": result["notes"],
        "Not up": [f"{host}: {state}" for host, state in result["hosts_not_up"].items()],
        "In Placement, but not by the facts": [
            f"{each['host']}: {text}"
            for each in result["deviations"]
            for text in each["differences"]
        ],
    }
    verdict = f"{', '.join(parts)} at Nova {result['release']}: {result['path']}"
    return rendering.render("fleet.txt.j2", verdict=verdict, width=width, parts=lines, most=_MOST)


def _release(given: str | None, newest: cloud_api.Version) -> tuple[str, list[str]]:
    """Take the release that is given, or the oldest that has the API's microversion."""
    fitting = releases.by_microversion(newest)
    shown = f"the compute API knows microversions up to {newest[0]}.{newest[1]}"
    told = f"{shown}, as of Nova {' and '.join(fitting)}" if fitting else shown
    if given is not None:
        with within("release"):
            release = releases.release(given).name
        if not fitting or any(releases.same_series(release, other) for other in fitting):
            return release, []
        return release, [f"{told}, but release is {release}"]
    if not fitting:
        raise InputError(f"{shown}, as no release that is known", "a release of Nova", "release")
    return fitting[0], [f"{told}; {fitting[0]} is taken, release gives the exact one"]


class _Reading:
    """Reads part by part, and notes what cannot be read."""

    def __init__(self, api: Api, say: Callable[[str], None]) -> None:
        self._api = api
        self._say = say
        self.unread: list[str] = []
        self._told = Told()
        self._roots: dict[str, str] | None = None

    def match(self, facts: Mapping[str, t.Any], names: Mapping[str, str]) -> Match:
        """Read the hypervisors and the roots of Placement; find the hosts with facts there."""
        self._told.computes = self._part("hypervisors", lambda: cloud_api.computes(self._api))
        self._roots = self._part("providers", lambda: cloud_api.roots(self._api))
        if self._told.computes is not None:
            found = cloud_joining.match(facts, names, self._told.computes)
        elif self._roots is not None:
            # Roots need not be hosts, so none is missed.
            roots = [Compute(name, name, key) for name, key in self._roots.items()]
            found = dataclasses.replace(cloud_joining.match(facts, names, roots), factless=())
        else:
            own = [names.get(name, name) for name in facts]
            found = cloud_joining.match(facts, names, [Compute(name, name) for name in own])
        if not found.computes:
            known = ", ".join(found.factless[:5]) or "none"
            what = "no host with facts is in the cloud"
            raise InputError(what, f"hosts of the cloud ({known}), or their names", "names")
        return found

    def told(self, found: Match) -> Told:
        """Read all else."""
        told, api = self._told, self._api
        told.services = self._part("services", lambda: cloud_api.services(api))
        told.aggregates = self._part("aggregates", lambda: cloud_api.aggregates(api))
        told.flavors = self._part(
            "flavors", lambda: cloud_api.flavors(api, self._progress("read {} flavors"))
        )
        told.images = self._part(
            "images", lambda: cloud_api.images(api, self._progress("read {} images"))
        )
        servers = self._part(
            "servers", lambda: cloud_api.servers(api, self._progress("read {} servers"))
        )
        if servers is not None:
            told.servers, told.dark = servers
        if self._roots is not None:
            told.providers = self._providers(found, self._roots)
        return told

    def _progress(self, line: str) -> Progress:
        return Progress(self._say, line=line)

    def _part(self, name: str, read: Callable[[], _Part]) -> _Part | None:
        try:
            return read()
        except InputError as error:
            self.unread.append(f"{name}: {error}")
            return None

    def _providers(self, found: Match, roots: Mapping[str, str]) -> dict[str, _Document]:
        progress = self._progress("read {} of {} resource providers")
        known = set(roots.values())
        providers: dict[str, _Document] = {}
        failed = 0
        for index, (name, compute) in enumerate(found.computes.items()):
            key = compute.provider or roots.get(compute.hypervisor, "")
            if key not in known:
                self.unread.append(f"providers: Placement has none of host {name}")
                continue
            read = self._part("providers", lambda key=key: cloud_api.provider(self._api, key))  # type: ignore[misc]
            if read is not None:
                providers[name] = read
            elif (failed := failed + 1) >= _FAILURES:
                rest = len(found.computes) - index - 1
                self.unread.append(f"providers: {rest} more hosts were not asked for")
                break
            progress(index + 1, len(found.computes))
        return providers


def _left_out(told: Told, made: cloud_joining.Joined) -> list[str]:
    """Tell what was read and yet cannot be used."""
    found = []
    if told.dark:
        found.append(
            f"servers: {told.dark} are in cells that do not answer; allocations without a server"
            " are left out, since they may be theirs"
        )
    if told.servers is None and told.providers:
        found.append("allocations: left out, since without the servers nobody knows whose they are")
    if made.away:
        shown = ", ".join(made.away[:5])
        found.append(
            f"allocations: left out what {counted(len(made.away), 'server')} on hosts without facts"
            f" hold here, on the move as it seems: {shown}"
        )
    if made.unclear:
        shown = ", ".join(made.unclear[:5])
        found.append(
            f"servers: nothing tells the extra specs of {len(made.unclear)}"
            f" ({shown}); needs {NEEDS['flavors'].policy}, or their flavors"
        )
    return found


def _not_up(found: Match, told: Told) -> dict[str, str]:
    """Give the state of each nova-compute that is down or disabled, by host."""
    states = {
        name: (
            told.services.get(compute.host, "no service")
            if told.services is not None
            else compute.state
        )
        for name, compute in found.computes.items()
    }
    return {name: state for name, state in states.items() if state not in ("up", "")}


def _deviations(kinds: tuple[HostClass, ...], found: Match, told: Told) -> list[_Document]:
    """Tell where Placement differs from what the facts of a host make nova-compute report."""
    differing: dict[str, list[str]] = {}
    for kind in kinds:
        here = [name for name in kind.names if name in told.providers]
        try:
            predicted = prediction.predicted(kind.host) if here else {}
        except InputError:
            # The audits say what nova-compute fails with.
            continue
        for name in here:
            differing[name] = list(prediction.deviations(told.providers[name], predicted))
    for name, provider in told.providers.items():
        host = found.computes[name].host
        missing = [
            label
            for key, (label, hosts) in sorted((told.aggregates or {}).items())
            if host in hosts and key not in provider["aggregates"]
        ]
        differing.setdefault(name, []).extend(
            f"it is not in aggregate {label} there" for label in missing
        )
    return [
        {"host": name, "differences": texts} for name, texts in sorted(differing.items()) if texts
    ]
