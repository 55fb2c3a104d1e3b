# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write what sysfs, procfs and nova.conf show of a few hosts, below a folder, a tree a host."""

from __future__ import annotations

import pathlib
import shutil
import sys

CONFIGURATION = {
    "legacy": ("etc/nova/nova.conf", "[DEFAULT]\nvcpu_pin_set = 2-7\n"),
    "dedicated": (
        "etc/kolla/nova-compute/nova.conf",
        "[DEFAULT]\ntransport_url = rabbit://nova:sesame@controller\n\n"
        "[compute]\ncpu_shared_set = 0,4\ncpu_dedicated_set = 1-3,5-7\n",
    ),
    "shared": ("var/lib/openstack/nova/01-nova.conf", "[compute]\ncpu_shared_set = 0-7\n"),
    "overlapping": (
        "etc/nova/nova.conf",
        "[compute]\ncpu_shared_set = 0-3\ncpu_dedicated_set = 3-7\n",
    ),
}
"""The file of nova-compute by host. All have two cells of two cores with two threads each."""

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def main() -> None:
    root = pathlib.Path(sys.argv[1])
    shutil.rmtree(root, ignore_errors=True)
    for name, (path, text) in CONFIGURATION.items():
        for file, content in {**_hardware(), path: text}.items():
            (root / name / file).parent.mkdir(parents=True, exist_ok=True)
            (root / name / file).write_text(content, encoding="utf-8")


def _hardware() -> dict[str, str]:
    files = {f"{CPU}/{name}": "0-7\n" for name in ("online", "present", "possible")}
    for cpu in range(8):
        core = cpu % 4
        files[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = f"{core},{core + 4}\n"
    for node, cpus in enumerate(("0-1,4-5", "2-3,6-7")):
        files[f"{NODE}/node{node}/cpulist"] = f"{cpus}\n"
        files[f"{NODE}/node{node}/meminfo"] = f"Node {node} MemTotal:       16777216 kB\n"
    files["proc/cmdline"] = "ro quiet isolcpus=1-3,5-7\n"
    return files


if __name__ == "__main__":
    main()
