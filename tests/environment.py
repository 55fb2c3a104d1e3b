# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a virtual environment and install into it: ``environment.py FOLDER PIP-ARGUMENT...``.

Needs of the Python that runs it no more than either pip or ensurepip: Debian ships them apart.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys


def interpreters() -> dict[tuple[int, int], str]:
    """Find a working interpreter of each minor version, on PATH and where pyenv keeps them.

    Shims are passed over: they fail unless their version happens to be switched on.
    """
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    folders = [pathlib.Path(part) for part in os.environ["PATH"].split(os.pathsep)]
    folders += sorted(pyenv.glob("versions/*/bin"))
    found = {sys.version_info[:2]: getattr(sys, "_base_executable", sys.executable)}
    for minor in range(9, 15):
        for folder in folders:
            name = folder / f"python3.{minor}"
            if (3, minor) not in found and folder.name != "shims" and _runs(name, minor):
                found[3, minor] = str(name)
    return found


def _runs(name: pathlib.Path, minor: int) -> bool:
    if not name.is_file():
        return False
    ask = [str(name), "-c", f"import sys, venv; sys.exit(sys.version_info[:2] != (3, {minor}))"]
    return subprocess.run(ask, capture_output=True, check=False).returncode == 0


def make(folder: pathlib.Path, wanted: list[str]) -> None:
    """Install what is wanted into the environment, which is made anew when its Python is another.

    Raises CalledProcessError when pip fails.
    """
    python = folder / "bin" / "python"
    if not _runs(python, sys.version_info[1]):
        subprocess.check_call(
            [sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)]
        )
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    if subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode:
        subprocess.check_call([str(python), "-m", "ensurepip"], stdout=subprocess.DEVNULL)
        pip = [str(python), "-m", "pip"]
    quiet = ["--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]
    subprocess.check_call([*pip, "install", *quiet, *wanted])


if __name__ == "__main__":
    try:
        make(pathlib.Path(sys.argv[1]), sys.argv[2:])
    except subprocess.CalledProcessError as error:
        sys.exit(f"environment.py: failed: {' '.join(map(str, error.cmd))}")
