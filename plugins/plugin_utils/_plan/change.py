# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change of one host's options, judged before it is written."""

from __future__ import annotations

import dataclasses
import typing as t

from .._model import documents
from .._model.joining import Guests
from .._nova.cloud import Cloud
from .._nova.schedule import NEWEST_SCHEDULER
from .._rules.audit import errors, findings
from .._rules.cases import host_case, restart_case

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .._model.host import Host
    from .._nova.errors import NovaError
    from .._rules.rule import Finding, RestartCase


@dataclasses.dataclass(frozen=True, slots=True)
class Judgement:
    """What speaks against a change."""

    fault: NovaError | None
    """What nova-compute would fail with, at its start or when it counts what its servers use."""
    errors: tuple[Finding, ...]
    """Those that forbid the change."""
    known: tuple[Finding, ...]
    """Errors that were there before and that the change does not touch."""
    servers: int
    """Number of servers that nova-compute would start with."""

    @property
    def refusal(self) -> str:
        """Say in one line why the change is refused; nothing where it is not."""
        told = [f"{each.code}: {each.what}; {each.effect}; fix: {each.fix}" for each in self.errors]
        if self.fault and not any(self.fault.name in each.effect for each in self.errors):
            told.append(f"nova-compute would fail: {self.fault}")
        return " | ".join(" ".join(text.split()) for text in told)


def judge(
    name: str,
    facts: Mapping[str, t.Any],
    nova: Mapping[str, t.Any],
    asked: Iterable[str],
    guests: Guests | None = None,
) -> Judgement:
    """Judge a change of a host: ``nova`` is that part of its facts ``before`` and ``after``.

    An error forbids the change where it is new, or where it stands at one of the options that were
    ``asked`` for (by their names in the facts). Of ``guests``, those on the host count; None where
    nobody told.

    Raises ``InputError`` for facts that cannot be read and for a release that is not known.
    """
    now, then = (
        documents.host({**facts, "nova": nova[when]}, name, NEWEST_SCHEDULER.release)
        for when in ("before", "after")
    )
    present = {(each.code, each.what) for each in _of_host(now)}
    options = nova["after"]["options"]
    lines = {options[key]["where"] for key in asked if key in options}
    found = _of_host(then)
    known = [
        each for each in found if (each.code, each.what) in present and each.where not in lines
    ]
    restart = _restart(now, then, guests)
    told = {each.what for each in found}
    of_restart = [
        each for each in errors(findings(restart, f"host {name}")) if each.what not in told
    ]
    return Judgement(
        restart.start.refusal or restart.start.failure,
        (*(each for each in found if each not in known), *of_restart),
        tuple(known),
        len(restart.residents),
    )


def _of_host(host: Host) -> tuple[Finding, ...]:
    return errors(findings(host_case(host), f"host {host.name}"))


def _restart(now: Host, then: Host, guests: Guests | None) -> RestartCase:
    """Restart nova-compute with other options."""
    cloud = Cloud(NEWEST_SCHEDULER)
    given = guests or Guests()
    cloud.settle_in(
        now,
        [server for server in given.servers if server.host == now.name],
        [held for held in given.allocations if held.host == now.name],
    )
    return restart_case(cloud, then, servers_told=guests is not None)
