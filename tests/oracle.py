# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold constraints, fit and usage against real Nova's, on random flavors, images and hosts.

``oracle.py MINUTES [SEED]``, run by a Python that has Nova. Exit status 1 where any verdict
differs; the seed that is printed draws the same cases again.
"""

from __future__ import annotations

import argparse
import collections
import random
import sys
import time
import typing as t

import replay
from benching.sample import RELEASE
from oracling.draw import Draw
from oracling.live import Live
from replaying import kinds

from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release

Data = dict[str, t.Any]


def outcomes(verdict: Data) -> t.Iterator[str]:
    """Say what each guest of a case came to, in a word: ``no fit``, or an exception's name."""
    for step in verdict.get("seq", [verdict]):
        last, value = list(step.items())[-1]
        if kinds.is_error(value):
            yield value["error"]
        elif last == "fit":
            yield "no fit"
        else:
            yield "fits" if "fit" in step else "freed"


def main(arguments: list[str]) -> int:
    """Draw cases until the time is up; print counts and the first differences."""
    parser = argparse.ArgumentParser()
    parser.add_argument("minutes", type=float)
    parser.add_argument("seed", nargs="?", default=str(random.randrange(10**6)))
    given = parser.parse_args(arguments)
    minutes, seed = given.minutes, given.seed
    live, ours = Live(), release(RELEASE)
    print(f"Nova {RELEASE}, seed {seed}, {minutes:g} minutes", flush=True)
    result = replay.Replay()
    seen: collections.Counter[str] = collections.Counter()
    end = time.monotonic() + 60 * minutes
    number = 0
    while time.monotonic() < end:
        case = {"id": f"{seed}/{number}", **Draw(f"{seed}/{number}").case()}
        theirs = live.verdict(case)
        compared = kinds.compare(case, theirs, ours)
        replay.count(result, "case", RELEASE, case, compared)
        seen.update(outcomes(theirs))
        number += 1
    for text in result.differences:
        print(f"\n{text}")
    print(", ".join(f"{count} {what}" for what, count in seen.most_common()))
    tally = result.tallies["case", RELEASE]
    print(f"pins equal, down to the thread: {tally.exact} of {tally.pinned}")
    print(f"{tally.agreed} agreed, {tally.disagreed} disagreed")
    return 1 if tally.disagreed or not tally.agreed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
