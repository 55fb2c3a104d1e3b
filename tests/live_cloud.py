# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a cloud of real services with ``fleet_info``, and hold the fleet file against that cloud.

``make test-live`` runs it with the Python that has the services. Exit status 1 where anything
differs.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import typing as t
import uuid

from cloud_server import HOSTS, PASSWORD, Cloud

BIN = pathlib.Path(sys.executable).parent
WITH_FACTS = HOSTS[:2]
SECRET = "bm90LWZvci1hdWRpdHM="
"""User data of a server."""
NOTE = "not-for-audits"
"""Value of its metadata, and the name of its project."""
WRONG = "open-barley"
FACTS = {
    "release": "34.0.0",
    "topology": {
        "online": "0-15",
        "cells": [
            {"id": 0, "cpus": "0-7", "memory_mb": 8192, "pages": {"4": 2097152}},
            {"id": 1, "cpus": "8-15", "memory_mb": 8192, "pages": {"4": 2097152}},
        ],
        "sockets": {"0": "0-7", "1": "8-15"},
    },
    "nova": {
        "options": {
            "compute.cpu_shared_set": {"value": "0-3,8-11", "where": "nova.conf:2"},
            "compute.cpu_dedicated_set": {"value": "4-7,12-15", "where": "nova.conf:3"},
        }
    },
}


class Checks:
    """Counts what differs, and says so."""

    def __init__(self) -> None:
        self.failed = 0

    def equal(self, what: str, found: t.Any, wanted: t.Any) -> None:
        good = found == wanted
        self.failed += not good
        print(
            f"{'ok  ' if good else 'FAIL'} {what}"
            + ("" if good else f": {found!r}, not {wanted!r}")
        )


class Operator:
    """Runs ``fleet_info`` and audits as users of the cloud do."""

    def __init__(self, cloud: Cloud, folder: pathlib.Path) -> None:
        self.folder = folder
        auth = {
            "auth_url": cloud.urls["identity"],
            "password": PASSWORD,
            "user_domain_id": "default",
            "project_domain_id": "default",
        }
        clouds = {
            name: {
                "region_name": "RegionOne",
                "auth": {**auth, "username": name, "project_name": to}
                | ({"password": WRONG} if name == "nobody" else {}),
            }
            for name, to in (("admin", "admin"), ("reader", NOTE), ("nobody", NOTE))
        }
        (folder / "clouds.yaml").write_text(json.dumps({"clouds": clouds}), encoding="utf-8")

    def run(self, module: str, *flags: str, **options: t.Any) -> dict[str, t.Any]:
        """Run one task on localhost; give its result."""
        answer = self._ansible(
            *("ansible", "localhost", "-m", f"pinguard.nova.{module}", "-a", json.dumps(options)),
            *flags,
        )
        head, mark, text = answer.stdout.partition(" => ")
        if not mark:
            raise RuntimeError(answer.stdout + answer.stderr)
        result: dict[str, t.Any] = json.loads(text)
        result["failed"] = "FAILED" in head
        return result

    def play(self, book: str, **variables: t.Any) -> tuple[int, str]:
        """Run a playbook of the collection; give its exit status and what it prints."""
        answer = self._ansible(
            "ansible-playbook", f"pinguard.nova.{book}", "-e", json.dumps(variables)
        )
        return answer.returncode, answer.stdout

    def _ansible(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        config = {"OS_CLIENT_CONFIG_FILE": str(self.folder / "clouds.yaml")}
        return subprocess.run(
            [str(BIN / command), *arguments],
            env=os.environ | config,
            capture_output=True,
            text=True,
            check=False,
        )


def populate(cloud: Cloud) -> dict[str, t.Any]:
    """Fill the cloud; give the servers by name, and the consumer that is no server."""
    project = cloud.do("identity", "POST", "/projects", {"project": {"name": NOTE}})
    cloud.add_user("reader", project["project"]["id"], "reader")
    cloud.add_user("nobody", project["project"]["id"], "reader")
    pinned = cloud.add_flavor("pinned", 2, 512, hw__cpu_policy="dedicated")
    floating = cloud.add_flavor("floating", 1, 256)
    huge = cloud.add_flavor("huge", 64, 256, hw__cpu_policy="dedicated")
    plain = cloud.add_image("plain")
    special = cloud.add_image("special", hw_cpu_thread_policy="prefer", secret=NOTE)
    cloud.add_image("special", hw_numa_nodes="2")
    servers = {
        "one": cloud.boot(
            "one", pinned, special, user_data=SECRET, metadata={"note": NOTE}, host=HOSTS[0]
        ),
        "two": cloud.boot("two", pinned, plain, host=HOSTS[1]),
        "three": cloud.boot("three", floating, plain, host=HOSTS[1]),
        "four": cloud.boot("four", floating, plain, host=HOSTS[2]),
        "none": cloud.boot("none", huge, plain),
    }
    cloud.do("compute", "POST", f"/servers/{servers['three']['id']}/action", {"os-stop": None})
    cloud.awaited(servers["three"]["id"], lambda status: status == "SHUTOFF")
    # What runs keeps the extra specs that it was booted with.
    specs = {"extra_specs": {"hw:cpu_thread_policy": "isolate"}}
    cloud.do("compute", "POST", f"/flavors/{pinned}/os-extra_specs", specs)
    aggregate = {"name": "fast", "availability_zone": None}
    made = cloud.do("compute", "POST", "/os-aggregates", {"aggregate": aggregate})["aggregate"][
        "id"
    ]
    add = {"add_host": {"host": HOSTS[0]}}
    cloud.do("compute", "POST", f"/os-aggregates/{made}/action", add)
    service = cloud.do("compute", "GET", f"/os-services?host={HOSTS[1]}")["services"][0]["id"]
    cloud.do("compute", "PUT", f"/os-services/{service}", {"status": "disabled"})
    leak = str(uuid.uuid4())
    root = cloud.do("placement", "GET", f"/resource_providers?name={HOSTS[0]}")
    body = {
        "allocations": {root["resource_providers"][0]["uuid"]: {"resources": {"PCPU": 1}}},
        "project_id": project["project"]["id"],
        "user_id": "nobody",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    cloud.do(
        "placement",
        "PUT",
        f"/allocations/{leak}",
        body,
        **{"OpenStack-API-Version": "placement 1.38"},
    )
    return {**servers, "leak": leak}


def main() -> int:
    """Run all checks; give the exit status."""
    checks = Checks()
    started = time.monotonic()
    with Cloud() as cloud, tempfile.TemporaryDirectory() as name:
        print(
            f"Keystone, Placement, Glance and Nova answer after {time.monotonic() - started:.0f} s"
        )
        folder = pathlib.Path(name)
        made = populate(cloud)
        print(f"the cloud is filled after {time.monotonic() - started:.0f} s")
        facts = folder / "facts"
        facts.mkdir()
        for host in (*WITH_FACTS, "elsewhere"):
            (facts / f"{host}.json").write_text(json.dumps(FACTS), encoding="utf-8")
        operator = Operator(cloud, folder)
        as_administrator(checks, operator, made)
        as_others(checks, operator)
    print(f"{checks.failed} failed; {time.monotonic() - started:.0f} s")
    return 1 if checks.failed else 0


def as_administrator(checks: Checks, operator: Operator, made: dict[str, t.Any]) -> None:
    """Read all, and audit the file."""
    path = operator.folder / "fleet.json"
    options = {"cloud": "admin", "path": str(path), "facts": str(operator.folder / "facts")}
    result = operator.run("fleet_info", "--check", **options)
    checks.equal("check mode writes nothing", (result.get("changed"), path.exists()), (True, False))
    result = operator.run("fleet_info", **options)
    checks.equal("the file is written", (result.get("changed"), result.get("msg")), (True, None))
    checks.equal("it is its owner's", oct(path.stat().st_mode & 0o777), "0o600")
    checks.equal("all was read", result["unread"], [])
    checks.equal("the release is told by the microversion", result["release"], "34.0.0")
    checks.equal("hosts without facts", result["hosts_without_facts"], [HOSTS[2]])
    checks.equal("hosts that the cloud lacks", result["hosts_unknown"], ["elsewhere"])
    checks.equal("servers elsewhere", result["servers_elsewhere"], {HOSTS[2]: 1})
    checks.equal("hosts that are not up", result["hosts_not_up"], {HOSTS[1]: "up, disabled"})
    checks.equal("Placement is as predicted", result["deviations"], [])
    text = path.read_text(encoding="utf-8")
    checks.equal("no secret is in it", [word for word in (SECRET, NOTE) if word in text], [])
    fleet = json.loads(text)
    checks.equal("flavors", [f["name"] for f in fleet["flavors"]], ["floating", "huge", "pinned"])
    properties = sorted(json.dumps(i["properties"]) for i in fleet["images"])
    checks.equal(
        "images", properties, ['{"hw_cpu_thread_policy": "prefer"}', '{"hw_numa_nodes": "2"}']
    )
    hosts = {host["name"]: host for host in fleet["hosts"]}
    checks.equal("aggregates", hosts[HOSTS[0]]["aggregates"], ["fast"])
    disabled = "COMPUTE_STATUS_DISABLED" in hosts[HOSTS[1]]["traits"]
    checks.equal("traits of a disabled host", disabled, True)
    servers = {server["name"]: server for server in fleet["servers"]}
    checks.equal("servers", sorted(servers), ["none", "one", "three", "two"])
    one = servers["one"]
    checks.equal("a pinned server's host", (one["host"], one["status"]), (HOSTS[0], "ACTIVE"))
    checks.equal("its allocation", one["allocation"], {"DISK_GB": 1, "MEMORY_MB": 512, "PCPU": 2})
    specs = one["flavor"]["extra_specs"]
    checks.equal("its flavor as it was", specs, {"hw:cpu_policy": "dedicated"})
    checks.equal("a stopped server", servers["three"]["status"], "SHUTOFF")
    checks.equal(
        "a server on no host", (servers["none"]["host"], servers["none"]["status"]), ("", "ERROR")
    )
    strangers = [(each["consumer"], each["host"]) for each in fleet["allocations"]]
    checks.equal("what no server holds", strangers, [(made["leak"], HOSTS[0])])
    result = operator.run("fleet_info", **options)
    checks.equal("a second time changes nothing", result["changed"], False)
    status, shown = operator.play(
        "fleet_info", fleet_cloud="admin", fleet_path=str(path), fleet_facts=options["facts"]
    )
    told = "2 hosts, 3 flavors, 2 images, 4 servers, 1 allocation at Nova 34.0.0" in shown
    checks.equal("nor does the playbook", (status, told, "changed=0" in shown), (0, True, True))
    audit = operator.run("allocation_audit", fleet=str(path), fail_on="never")
    codes = sorted({(finding["code"], finding["id"]) for finding in audit["findings"]})
    checks.equal("an audit of the file finds the leak alone", codes, [("FU-13", made["leak"])])
    audit = operator.run("flavor_audit", fleet=str(path), fail_on="never")
    audited = sorted({row["flavor"] for row in audit["rows"]})
    checks.equal("the flavors are audited", audited, ["floating", "huge", "pinned"])


def as_others(checks: Checks, operator: Operator) -> None:
    """Read as a user who may read little, and as nobody."""
    path = operator.folder / "part.json"
    options = {"path": str(path), "facts": str(operator.folder / "facts")}
    result = operator.run("fleet_info", cloud="reader", **options)
    for line in result.get("unread", [result.get("msg")]):
        print("     not read:", line)
    parts = [line.partition(":")[0] for line in result.get("unread", [])]
    wanted = ["hypervisors", "providers", "services", "aggregates", "servers"]
    checks.equal("a reader is told what is forbidden", parts, wanted)
    forbidden = all("status 403" in line for line in result.get("unread", []))
    checks.equal("and that it is", forbidden, True)
    names = [flavor["name"] for flavor in json.loads(path.read_text(encoding="utf-8"))["flavors"]]
    checks.equal("the rest is read", names, ["floating", "huge", "pinned"])
    for cloud in ("nobody", "unknown"):
        result = operator.run("fleet_info", cloud=cloud, **options)
        print("     ", result.get("msg"))
        message = result.get("msg", "\n")
        checks.equal(
            f"{cloud} gets one line", (result.get("failed"), "\n" in message), (True, False)
        )
        checks.equal("without the password", WRONG in message, False)


if __name__ == "__main__":
    sys.exit(main())
