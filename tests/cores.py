# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Test with the oldest and the newest supported ansible-core that this machine's Pythons allow.

Run by the Python of the main environment, whose own ansible-core has passed the other tests
already: there only the sanity tests are left.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import environment
import tree

CORES = {
    "2.18": range(11, 14),
    "2.19": range(11, 14),
    "2.20": range(12, 15),
    "2.21": range(12, 15),
}
"""Minor versions of the controller's Python 3, oldest core first."""


def main() -> int:
    oldest, newest = _first(list(CORES)), _first(list(reversed(CORES)))
    for core in dict.fromkeys([oldest, newest]):
        if status := _test(core):
            return status
    return 0


def _first(cores: list[str]) -> str:
    for core in cores:
        if _python(core):
            return core
        low, high = CORES[core][0], CORES[core][-1]
        print(f"ansible-core {core}: skipped, it needs a Python of 3.{low} to 3.{high}", flush=True)
    raise SystemExit("no Python here runs a supported ansible-core")


def _python(core: str) -> str | None:
    """Choose this Python where it will do, else the newest that does."""
    found = environment.interpreters()
    minors = sorted(CORES[core], key=lambda minor: (minor == sys.version_info[1], minor))
    return next((found[3, minor] for minor in reversed(minors) if (3, minor) in found), None)


def _test(core: str) -> int:
    if importlib.metadata.version("ansible-core").startswith(f"{core}."):
        targets, settings = ["sanity"], []
    else:
        targets = ["units", "audit", "sanity"]
        settings = [f"VENV=.venvs/core-{core}", f"PYTHON={_python(core)}"]
        settings += [f"CORE=ansible-core=={core}.*"]
    print(f"ansible-core {core}: {', '.join(targets)}", flush=True)
    return subprocess.run(["make", *targets, *settings], cwd=tree.ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
