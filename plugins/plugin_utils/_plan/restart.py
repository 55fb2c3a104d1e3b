# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restarts of nova-compute with other options or of another release, tried before they are done."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.errors import InputError, quoted
from .._model import config_options
from .._model.config import HostConfig
from .._model.schema import as_mapping, path_text, unknown_key
from .._nova.cloud import Cloud
from .._nova.releases import release as release_of
from .._nova.schedule import NEWEST_SCHEDULER
from .._rules import fu_08_servers_unknown
from .._rules.audit import errors, findings
from .._rules.cases import restart_case
from .._rules.rule import Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .._model.host import Host
    from .._model.schema import Path
    from .._model.server import Server
    from .._nova.errors import NovaError
    from .._nova.inventory import Inventory
    from .._nova.schedule import HostView
    from .._rules.rule import Finding, RestartCase


@dataclasses.dataclass(frozen=True, slots=True)
class Restart:
    """What becomes of a restart, on all hosts where the same becomes of it."""

    names: tuple[str, ...]
    case: RestartCase
    """That of the first host."""
    findings: tuple[Finding, ...]

    @property
    def starts(self) -> bool:
        """Whether nova-compute runs."""
        return self.case.start.refusal is None

    @property
    def judged(self) -> bool:
        """Whether it is known which servers are there, and where those that are pinned sit."""
        return not any(
            finding.code == fu_08_servers_unknown.RULE.code
            and finding.severity is not Severity.INFO
            for finding in self.findings
        )

    @property
    def error(self) -> NovaError | None:
        """What it dies of, or what each of its updates fails with."""
        return self.case.start.refusal or self.case.start.failure

    @property
    def before(self) -> Mapping[str, Inventory]:
        """The inventory that Placement knows now."""
        return _inventory(self.case.before)

    @property
    def after(self) -> Mapping[str, Inventory]:
        """The inventory that Placement knows thereafter: the old one where none is reported."""
        return _inventory(self.case.start.seen)


def _inventory(seen: HostView) -> Mapping[str, Inventory]:
    return seen.provider.inventories if seen.provider else {}


def check(
    cloud: Cloud,
    proposed: Mapping[str, HostConfig],
    release: str | None = None,
    *,
    servers_told: bool = True,
) -> tuple[Restart, ...]:
    """Restart each host of ``proposed`` by itself; the cloud stays as it is.

    ``release`` is that of the new nova-compute; None keeps each host's own. ``servers_told`` says
    whether the cloud has its servers from anybody. Hosts of which the same is to be told are one
    result, in the order of the first of each.

    Raises ``InputError`` for a release that is not known.
    """
    name = release_of(release, host=True).name if release else None
    found: dict[t.Any, list[Restart]] = {}
    for host_name, config in proposed.items():
        now = cloud.hosts[host_name].host
        then = dataclasses.replace(now, config=config, release=name or now.release)
        case = restart_case(cloud, then, servers_told=servers_told)
        restart = Restart((host_name,), case, findings(case, f"host {host_name}"))
        found.setdefault(_told(restart), []).append(restart)
    return tuple(
        dataclasses.replace(
            same[0],
            names=tuple(each.names[0] for each in same),
            findings=tuple(
                dataclasses.replace(finding, names=tuple(each.names[0] for each in same))
                for finding in same[0].findings
            ),
        )
        for same in found.values()
    )


def _told(restart: Restart) -> tuple[t.Any, ...]:
    """List all that is told of a restart but for the name of its host."""
    return (
        restart.case.before.host.release,
        restart.case.host.release,
        restart.starts,
        str(restart.error or ""),
        len(restart.case.start.moved),
        tuple(restart.before.items()),
        tuple(restart.after.items()),
        tuple(dataclasses.replace(finding, names=(), subject="") for finding in restart.findings),
    )


def refusals(now: Host, then: Host, servers: Iterable[Server]) -> tuple[Finding, ...]:
    """Restart one host with its servers; list the errors.

    Raises ``InputError`` for a release that is not known.
    """
    cloud = Cloud(NEWEST_SCHEDULER)
    cloud.settle_in(now, servers)
    (restart,) = check(cloud, {now.name: then.config}, then.release)
    return errors(restart.findings)


def changed(config: HostConfig, options: Mapping[str, t.Any], path: Path) -> HostConfig:
    """Change options of a host, given by their names in its facts; None unsets one.

    Raises ``InputError``, with the ``path`` that they were given at, for an option that is not
    known and for a value that is no text, number, boolean or list of texts.
    """
    for key, value in as_mapping(options, path).items():
        if key not in config_options.OPTIONS:
            raise unknown_key(str(key), config_options.OPTIONS, path)
        items = value if isinstance(value, list) else [value]
        if value is not None and not all(isinstance(item, str | int | float) for item in items):
            raise InputError(
                f"{quoted(value)} is no value of an option",
                "a text, a number, true, false, or null to unset the option",
                path_text((*path, key)),
            )
    names = [config_options.OPTIONS[key].name for key in options]
    given = config_options.config(
        {
            key: {"value": value, "where": path_text(path)}
            for key, value in options.items()
            if value is not None
        }
    )
    fields = {field.name for field in dataclasses.fields(HostConfig)}
    return dataclasses.replace(
        config,
        **{name: getattr(given, name) for name in names if name in fields},
        faults=(*(each for each in config.faults if each.option not in names), *given.faults),
        origins={
            **{name: place for name, place in config.origins.items() if name not in names},
            **given.origins,
        },
    )
