# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replay recordings of real Nova and Placement, and count where the engine agrees.

``replay.py PATH...`` takes files (``.json`` or ``.json.gz``) and folders of them. Exit status: 0
all agree, 1 some disagree, 2 a file cannot be used.
"""

from __future__ import annotations

import collections
import dataclasses
import difflib
import gzip
import json
import pathlib
import sys
import typing as t
import zlib

import jsonschema
from replaying import clouds, domains, kinds

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release

SCHEMAS = pathlib.Path(__file__).parent / "replaying" / "schemas"
SHOWN = 5
LARGEST = 256 << 20


@dataclasses.dataclass
class Tally:
    """What one kind and release came to."""

    agreed: int = 0
    disagreed: int = 0
    pinned: int = 0
    exact: int = 0


@dataclasses.dataclass
class Replay:
    """All tallies, and the first disagreements as text."""

    tallies: dict[tuple[str, str], Tally] = dataclasses.field(
        default_factory=lambda: collections.defaultdict(Tally)
    )
    differences: list[str] = dataclasses.field(default_factory=list)

    @property
    def agreed(self) -> int:
        return sum(tally.agreed for tally in self.tallies.values())

    @property
    def disagreed(self) -> int:
        return sum(tally.disagreed for tally in self.tallies.values())

    def exactness(self) -> tuple[int, int]:
        """Exact and all pinned verdicts of ``fit`` and ``named`` from Ussuri on."""
        counted = [
            tally
            for (kind, version), tally in self.tallies.items()
            if kind in ("fit", "named") and version != "-" and int(version.split(".")[0]) >= 21
        ]
        return sum(tally.exact for tally in counted), sum(tally.pinned for tally in counted)


def recordings(paths: t.Iterable[str]) -> t.Iterator[pathlib.Path]:
    """List the files below ``paths``; raises InputError for a path that is not there."""
    for name in paths:
        path = pathlib.Path(name)
        if path.is_dir():
            found = sorted(p for p in path.rglob("*.json*") if p.name.endswith((".json", ".gz")))
            if not found:
                raise InputError("no recording", "*.json or *.json.gz", name)
            yield from found
        elif path.is_file():
            yield path
        else:
            raise InputError("is not there", "a file or folder of recordings", name)


def load(path: pathlib.Path) -> dict[str, t.Any]:
    """Read one file and hold it against its format; raises InputError naming file and key."""
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rb") as stream:
            text = stream.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise InputError("is too large", f"up to {LARGEST >> 20} MiB", str(path))
        document = json.loads(text)
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot be read: {error}", "JSON, gzipped or not", str(path)) from None
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind is None and isinstance(document, dict) and "scenario" in document:
        kind, document = "e2e", {"kind": "e2e", "cases": [document]}
    name = {"placement": "placement", "e2e": "clouds", "xml": "domains"}.get(str(kind), "verdicts")
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    fault = jsonschema.validators.validator_for(schema)(schema).iter_errors(document)
    first = min(fault, key=lambda error: list(map(str, error.absolute_path)), default=None)
    if first is not None:
        raise InputError(
            first.message[:200], f"the format {name}.json", f"{path}: {first.json_path}"
        )
    return t.cast("dict[str, t.Any]", document)


def replay(path: pathlib.Path, result: Replay) -> None:
    """Replay one file into ``result``; raises InputError for a file that breaks its format."""
    document = load(path)
    kind = document["kind"]
    for case in document["cases"]:
        try:
            if kind == "e2e":
                for version, name, compared in clouds.rows(case):
                    count(result, kind, version, {"id": name}, compared)
                continue
            if kind == "placement":
                for query in case["queries"]:
                    count(result, kind, "-", case, kinds.placement(case, query))
                continue
            for entry in case["verdicts"]:
                for version in entry["releases"]:
                    compare = domains.compare if kind == "xml" else kinds.compare
                    compared = compare(case, entry["verdict"], release(version))
                    count(result, kind, version, case, compared)
        except (KeyError, TypeError, ValueError, InputError) as error:
            name = case.get("id") or case.get("name")
            raise InputError(
                f"case {name}: {error!r}", "the recorded formats", str(path)
            ) from error


def count(
    result: Replay, kind: str, version: str, case: dict[str, t.Any], compared: kinds.Compared
) -> None:
    """Enter one comparison."""
    tally = result.tallies[kind, version]
    if compared.agrees:
        tally.agreed += 1
    else:
        tally.disagreed += 1
        if len(result.differences) < SHOWN:
            result.differences.append(difference(kind, version, case, compared))
    tally.pinned += compared.pinned
    tally.exact += compared.exact


def difference(kind: str, version: str, case: dict[str, t.Any], compared: kinds.Compared) -> str:
    """Show one disagreement as a diff of verdicts, with the input above it."""
    recorded, ours = (
        json.dumps(side, indent=1, sort_keys=True).split("\n") for side in compared.sides
    )
    diff = difflib.unified_diff(recorded, ours, "recorded", "ours", lineterm="", n=2)
    shown = ("flavor", "image", "conf", "options", "limits")
    asked = {key: case[key] for key in shown if key in case}
    name = case.get("id") or case.get("name")
    return "\n".join([f"{kind} {name} on {version}: {json.dumps(asked)}", *diff])


def main(paths: list[str]) -> int:
    """Replay ``paths``, print the count, return the exit status."""
    result = Replay()
    try:
        for path in recordings(paths):
            replay(path, result)
    except InputError as error:
        print(f"replay: {error}", file=sys.stderr)
        return 2
    print(f"{'kind':<10} {'release':<8} {'agreed':>7} {'disagreed':>10} {'exact pins':>14}")
    for (kind, version), tally in result.tallies.items():
        pins = f"{tally.exact}/{tally.pinned}" if tally.pinned else "-"
        print(f"{kind:<10} {version:<8} {tally.agreed:>7} {tally.disagreed:>10} {pins:>14}")
    for text in result.differences:
        print(f"\n{text}")
    exact, pinned = result.exactness()
    if pinned:
        share = 100 * exact / pinned
        print(f"\nexact pins over fit and named, 21 and newer: {exact} of {pinned} ({share:.2f} %)")
    if not result.agreed + result.disagreed:
        print("replay: nothing to replay", file=sys.stderr)
        return 2
    print(f"{result.agreed} agreed, {result.disagreed} disagreed")
    return 1 if result.disagreed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
