# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Six compute hosts in one folder, and the real Placement.

``up FOLDER`` makes them, ``down FOLDER`` ends Placement. ``restart FOLDER HOST`` plays
nova-compute: it counts what the host's file says and reports it, one PCPU too few where there is a
file ``broken``. ``look FOLDER HOST`` keeps what Placement knows of all hosts once HOST is done.
``client FOLDER ARGUMENTS`` plays OpenStack's client, for one server on the last host.
"""

from __future__ import annotations

import configparser
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import typing as t
import urllib.request

SERVER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "placement_server.py"
SECONDS = 900
"""How long Placement lives at most."""
LEGACY = "[DEFAULT]\ntransport_url = rabbit://nova:sesame@controller\n"
HOSTS = {
    "cmp-01": (2, f"{LEGACY}vcpu_pin_set = 1-9\n"),
    "cmp-02": (2, f"{LEGACY}vcpu_pin_set = 1-9\nreserved_host_cpus = 1\n"),
    "cmp-03": (2, f"{LEGACY}cpu_allocation_ratio = 8.0\n"),
    "cmp-04": (2, f"{LEGACY}vcpu_pin_set = 2,3,6,7\n"),
    "cmp-05": (1, LEGACY),
    "cmp-06": (1, LEGACY),
}
"""Threads of a core, and the file of nova-compute. All have two cells and eight CPUs, so that the
first two, which name CPUs 8 and 9, serve nothing until they are reconfigured."""
CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
CLIENT = f'#!/bin/sh\nexec {sys.executable} {__file__} client {{folder}} "$@"\n'
PYTHON = """\
#!/bin/sh
[ "$(id -u)" = 0 ] || user=--map-root-user
exec unshare --mount $user sh -c '
  mount --bind "$0/devices/system" /sys/devices/system &&
  mount --bind "$0/fs/cgroup" /sys/fs/cgroup && shift && exec {python} "$@"
' {sys} - "$@"
"""


def up(folder: pathlib.Path) -> None:
    """Make the hosts, start Placement and each nova-compute."""
    for name, (threads, text) in HOSTS.items():
        files = {**_hardware(threads), "nova.conf": text}
        own = folder / name / "sys"
        (own / "fs" / "cgroup").mkdir(parents=True)
        files["python"] = PYTHON.format(python=sys.executable, sys=own)
        for path, content in files.items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(content, encoding="utf-8")
        (folder / name / "python").chmod(0o755)
    client = folder / "bin" / "openstack"
    client.parent.mkdir()
    client.write_text(CLIENT.format(folder=folder), encoding="utf-8")
    client.chmod(0o755)
    address = folder / "placement"
    with (folder / "log").open("w") as log:
        command = ["timeout", str(SECONDS), sys.executable, str(SERVER), "--port-file"]
        process = subprocess.Popen(
            [*command, str(address)], stdout=log, stderr=log, start_new_session=True
        )
    (folder / "pid").write_text(str(process.pid), encoding="utf-8")
    while not address.exists():
        if process.poll() is not None:
            sys.exit((folder / "log").read_text(encoding="utf-8"))
        time.sleep(0.1)
    for name in HOSTS:
        _ask(folder, "POST", "/resource_providers", {"name": name})
        report(folder, name)


def _hardware(threads: int) -> dict[str, str]:
    files = {f"{CPU}/{name}": "0-7\n" for name in ("online", "present", "possible")}
    for cpu in range(8):
        siblings = f"{cpu % 4},{cpu % 4 + 4}" if threads == 2 else str(cpu)
        files[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = f"{siblings}\n"
    for node, cpus in enumerate(("0-1,4-5", "2-3,6-7")):
        files[f"{NODE}/node{node}/cpulist"] = f"{cpus}\n"
        files[f"{NODE}/node{node}/meminfo"] = f"Node {node} MemTotal:       16777216 kB\n"
    return files


def down(folder: pathlib.Path) -> None:
    """End Placement."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int((folder / "pid").read_text(encoding="utf-8")), signal.SIGTERM)


def restart(folder: pathlib.Path, host: str) -> None:
    """Restart nova-compute."""
    with (folder / "restarts").open("a", encoding="utf-8") as file:
        file.write(f"{host}\n")
    report(folder, host)


def report(folder: pathlib.Path, host: str) -> None:
    """Report what the host has, by counting."""
    provider = _provider(folder, host)
    url = f"/resource_providers/{provider['uuid']}"
    known = _ask(folder, "GET", f"{url}/inventories")["inventories"]
    file = configparser.ConfigParser(strict=False, interpolation=None)
    file.read(folder / host / "nova.conf")
    default, compute = (dict(file[name]) if name in file else {} for name in ("DEFAULT", "compute"))
    pcpus = _count(compute.get("cpu_dedicated_set", ""))
    shared = default.get("vcpu_pin_set") or compute.get("cpu_shared_set")
    vcpus = _count(shared) if shared else 0 if pcpus else 8
    ratio = default.get("cpu_allocation_ratio") or known.get("VCPU", {}).get("allocation_ratio", 16)
    reserved = int(default.get("reserved_host_cpus", 0))
    found = {"VCPU": {"total": vcpus, "reserved": reserved, "allocation_ratio": float(ratio)}}
    if pcpus:
        found["PCPU"] = {"total": pcpus - (folder / host / "broken").exists()}
    siblings = (folder / host / CPU / "cpu0/topology/thread_siblings_list").read_text()
    traits = ["HW_CPU_HYPERTHREADING"] if "," in siblings else []
    for part, value in (("inventories", found), ("traits", traits)):
        generation = _provider(folder, host)["generation"]
        body = {part: value, "resource_provider_generation": generation}
        _ask(folder, "PUT", f"{url}/{part}", body)


def _count(text: str) -> int:
    ends = [part.partition("-") for part in text.split(",") if part]
    return sum(int(last or first) - int(first) + 1 for first, _dash, last in ends)


def look(folder: pathlib.Path, host: str) -> None:
    """Keep the totals of VCPU and PCPU, and whether there are threads, of every host."""
    seen = {}
    for name in HOSTS:
        url = f"/resource_providers/{_provider(folder, name)['uuid']}"
        inventories = _ask(folder, "GET", f"{url}/inventories")["inventories"]
        totals = [inventories.get(each, {}).get("total", 0) for each in ("VCPU", "PCPU")]
        threads = "HW_CPU_HYPERTHREADING" in _ask(folder, "GET", f"{url}/traits")["traits"]
        seen[name] = [*totals, threads]
    with (folder / "seen").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"done": host, "seen": seen}) + "\n")


def client(folder: pathlib.Path, *arguments: str) -> None:
    """Move the server when asked; fail to confirm it once, then take a while for it."""
    with (folder / "calls").open("a+", encoding="utf-8") as file:
        file.write(" ".join(arguments[2:]) + "\n")
        file.seek(0)
        calls = file.read()
    confirmed = calls.count("server migration confirm") - 1
    if "confirm" in arguments and confirmed < 1:
        sys.exit("Service Unavailable (HTTP 503)")
    if "show" in arguments:
        moved = "server migrate" in calls
        shown = calls.rpartition("confirm")[2].count("show")
        status = "VERIFY_RESIZE" if moved and (confirmed < 1 or shown < 2) else "ACTIVE"
        host = "cmp-05" if moved else "cmp-06"
        print(json.dumps({"status": status, "OS-EXT-SRV-ATTR:host": host}))


def _provider(folder: pathlib.Path, host: str) -> dict[str, t.Any]:
    found: list[dict[str, t.Any]] = _ask(folder, "GET", f"/resource_providers?name={host}")[
        "resource_providers"
    ]
    return found[0]


def _ask(
    folder: pathlib.Path, method: str, path: str, body: dict[str, t.Any] | None = None
) -> dict[str, t.Any]:
    headers = {
        "Content-Type": "application/json",
        "OpenStack-API-Version": "placement 1.6",
        "X-Auth-Token": "admin",
    }
    url = (folder / "placement").read_text(encoding="utf-8") + path
    data = json.dumps(body).encode() if body else None
    with urllib.request.urlopen(
        urllib.request.Request(url, data, headers, method=method), timeout=60
    ) as answer:
        return json.loads(answer.read() or "{}")


if __name__ == "__main__":
    command, where, *arguments = sys.argv[1:]
    commands: dict[str, t.Callable[..., None]] = {
        each.__name__: each for each in (up, down, restart, look, client)
    }
    commands[command](pathlib.Path(where), *arguments)
