# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Install the collection from a folder, a tarball and git, and use each installed copy.

Each is used with an empty home and without the clone's settings, as on an operator's machine.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import tree

SHIPPED = (
    "docs/",
    "examples/",
    "meta/",
    "playbooks/",
    "plugins/",
    "roles/",
    "CHANGELOG.rst",
    "COPYING",
    "LICENSES/",
    "README.md",
    "changelogs/changelog.yaml",
    "requirements.txt",
)
GENERATED = {"FILES.json", "MANIFEST.json"}


def main() -> int:
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        clone = work / "clone"
        tree.copy(clone)
        for source in (str(clone) + "/", _tarball(clone, work), _repository(clone)):
            _check(source, work)
    return 0


def _tarball(clone: pathlib.Path, work: pathlib.Path) -> str:
    _run(work, "ansible-galaxy", "collection", "build", str(clone), "--output-path", str(work))
    (tarball,) = work.glob("pinguard-nova-*.tar.gz")
    return str(tarball)


def _repository(clone: pathlib.Path) -> str:
    author = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*author, "commit", "-q", "-m", "All"]):
        _run(clone, "git", *command)
    return f"git+file://{clone}"


def _check(source: str, work: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory(dir=work) as temporary:
        home = pathlib.Path(temporary)
        _run(home, "ansible-galaxy", "collection", "install", source, "-p", f"{home}/collections")
        installed = home / "collections/ansible_collections/pinguard/nova"
        _compare_files(source, installed)
        documented = json.loads(_run(home, "ansible-doc", "--metadata-dump", "pinguard.nova"))
        plugins = [name for found in documented["all"].values() for name in found]
        ours = [name for name in plugins if name.startswith("pinguard.nova.")]
        _run(home, "ansible", "localhost", "-m", "pinguard.nova.host_facts")
        origin = source.replace(str(work), "")
        print(f"installed from {origin}: {len(ours)} plugins and roles documented", flush=True)


def _compare_files(source: str, installed: pathlib.Path) -> None:
    found = {str(p.relative_to(installed)) for p in installed.rglob("*") if p.is_file()}
    wanted = {name for name in tree.names() if name.startswith(SHIPPED)} | GENERATED
    if found != wanted:
        raise SystemExit(
            f"installed from {source}: missing {sorted(wanted - found)},"
            f" not wanted {sorted(found - wanted)}"
        )


def _run(home: pathlib.Path, *command: str) -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ANSIBLE_", "GIT_", "PYTHON"))}
    collections = f"{home}/collections"
    done = subprocess.run(
        command,
        cwd=home,
        env=kept | {"HOME": str(home), "ANSIBLE_COLLECTIONS_PATH": collections},
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
