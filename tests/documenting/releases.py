# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What changed in Nova when, from the behaviours that the engine asks its releases for."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import typing as t

from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import releases

from .markdown import prose, table

if t.TYPE_CHECKING:
    from collections.abc import Iterator


@dataclasses.dataclass(frozen=True)
class Change:
    """A behaviour that one series has from a point release on, or has no more."""

    release: str
    """The point release, ``27.2.0``."""
    ends: bool
    behaviour: str
    """What the docstring of the behaviour says."""

    @property
    def version(self) -> tuple[int, ...]:
        """The point release as numbers."""
        return tuple(map(int, self.release.split(".")))


def pages() -> dict[str, str]:
    """Give the Markdown of the page by its path."""
    found = sorted(changes(), key=lambda change: (change.version, change.ends, change.behaviour))
    series = [major for major in releases.SERIES if any(c.version[0] == major for c in found)]
    return {
        "releases.md": (
            "# What changed in Nova when\n\n"
            "What the audits know to differ between releases, where it bears on CPUs, NUMA, pages "
            "or real time. What was brought back to an older series stands there too, with the "
            "point release that first has it. A series that is named without a point release, "
            "`2023.1`, counts as its first one: what only later ones fix is not taken for granted."
            f"\n\n{_series()}"
            + "".join(
                f"\n## {major}, {_names(major)}\n\n"
                + table(
                    ["from", "", "behaviour"],
                    map(_row, (c for c in found if c.version[0] == major)),
                )
                for major in reversed(series)
            )
        )
    }


def changes() -> Iterator[Change]:
    """List when each behaviour begins and ends, by series."""
    told = docstrings()
    for field in dataclasses.fields(releases.Release):
        for key in ("since", "until") if field.metadata else ():
            for first in field.metadata[key]:
                yield Change(first, key == "until", told[field.name])


def docstrings() -> dict[str, str]:
    """Read what stands below each field of a release; Python itself drops it."""
    (declared,) = ast.parse(inspect.getsource(releases.Release)).body
    lines = t.cast("ast.ClassDef", declared).body
    return {
        field.target.id: prose(" ".join(text.value.value.split()))
        for field, text in itertools.pairwise(lines)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _row(change: Change) -> list[str]:
    return [change.release, "no more" if change.ends else "", change.behaviour]


def _names(major: int) -> str:
    return " ".join(name.capitalize() for name in releases.SERIES[major] if name != "master")


def _series() -> str:
    rows = (
        [
            str(major),
            _names(major),
            releases.LATEST.get(major, ""),
            str(releases.SERVICE_VERSIONS[major]),
            str(releases.OLDEST_COMPUTES.get(major, "")),
            "yes" if major in releases.SLURP else "",
        ]
        for major in reversed(releases.SERIES)
    )
    head = ["Nova", "series", "newest known", "service version", "oldest compute", "SLURP"]
    return (
        f"{table(head, rows)}\n*Service version* is what its services report; *oldest compute* the "
        "oldest service version of a compute beside which its services start; from a *SLURP* "
        "release an upgrade may skip the next one. Hosts may be of any of these series, API and "
        f"scheduler of {releases.OLDEST} and later.\n"
    )
