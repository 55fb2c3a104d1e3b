# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cloud on the loopback interface: real Keystone, Placement, Glance and Nova, empty of guests.

It runs within the environment that ``make test-live`` installs them into. Each is a process with
databases of its own in SQLite. Nova runs three computes with its fake hypervisor. Of Neutron there
is a stand-in that knows no ports: Nova asks it for the security groups of the servers it lists.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import typing as t
import urllib.error
import urllib.request

from clouding.services import HOSTS, PASSWORD

SERVICES = pathlib.Path(__file__).resolve().parent / "clouding" / "services.py"
REGION = "RegionOne"
MICROVERSION = "2.100"
_PATIENCE = 240
"""Seconds that a service may take to start, or a server to get a status."""

Data = dict[str, t.Any]


class _Neutron(http.server.BaseHTTPRequestHandler):
    """Answers every question with an empty list."""

    def do_GET(self) -> None:
        name = self.path.partition("?")[0].rpartition("/")[2].partition(".")[0]
        body = json.dumps({name.replace("-", "_"): []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Keep no log of requests."""


class Cloud(contextlib.AbstractContextManager["Cloud"]):
    """The services while the context lasts, and a client of them with the administrator's token."""

    def __init__(self) -> None:
        self.urls: dict[str, str] = {}
        self._token = ""
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Cloud:
        with contextlib.ExitStack() as stack:
            self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def _start(self, stack: contextlib.ExitStack) -> None:
        identity = f"{self._serve(stack, 'keystone', '')}/v3"
        self.urls["identity"] = identity
        self._token = self.token("admin", PASSWORD, "admin")
        self._found("identity", "keystone", identity)
        neutron = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Neutron))
        threading.Thread(target=neutron.serve_forever, args=(0.05,), daemon=True).start()
        stack.callback(neutron.shutdown)
        self._found("network", "neutron", f"http://127.0.0.1:{neutron.server_port}")
        project = self.do("identity", "POST", "/projects", {"project": {"name": "service"}})
        for name in ("placement", "glance", "nova"):
            self.add_user(name, project["project"]["id"], "admin", "service")
        for kind, name in (("placement", "placement"), ("image", "glance")):
            self._found(kind, name, self._serve(stack, name, identity))
        self._found("compute", "nova", f"{self._serve(stack, 'nova', identity)}/v2.1")

    def _serve(self, stack: contextlib.ExitStack, name: str, identity: str) -> str:
        """Start one service; give its URL."""
        folder = self.folder / name
        folder.mkdir()
        log = stack.enter_context((folder / "errors").open("w", encoding="utf-8"))
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(SERVICES), name, str(folder), identity],
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        stack.callback(_end, process)
        watch = threading.Timer(_PATIENCE, process.kill)
        watch.start()
        port = process.stdout.readline().strip() if process.stdout else ""
        watch.cancel()
        if not port:
            raise RuntimeError(f"{name} did not start: {(folder / 'errors').read_text()[-2000:]}")
        return f"http://127.0.0.1:{port}"

    def _found(self, kind: str, name: str, url: str) -> None:
        """Put a service in the catalog."""
        self.urls[kind] = url
        service = self.do(
            "identity", "POST", "/services", {"service": {"type": kind, "name": name}}
        )
        for interface in ("public", "internal", "admin"):
            endpoint = {
                "service_id": service["service"]["id"],
                "interface": interface,
                "url": url,
                "region_id": REGION,
            }
            self.do("identity", "POST", "/endpoints", {"endpoint": endpoint})

    def token(self, user: str, password: str, project: str) -> str:
        """Get a token of a user of the default domain."""
        domain = {"id": "default"}
        body = {
            "auth": {
                "identity": {
                    "methods": ["password"],
                    "password": {"user": {"name": user, "password": password, "domain": domain}},
                },
                "scope": {"project": {"name": project, "domain": domain}},
            }
        }
        request = urllib.request.Request(
            f"{self.urls['identity']}/auth/tokens",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(answer.headers["X-Subject-Token"])

    def add_user(self, name: str, project: str, *roles: str) -> None:
        """Make a user with roles in a project."""
        user = {"name": name, "password": PASSWORD}
        made = self.do("identity", "POST", "/users", {"user": user})["user"]["id"]
        known = self.do("identity", "GET", "/roles")["roles"]
        for role in (each["id"] for each in known if each["name"] in roles):
            self.do("identity", "PUT", f"/projects/{project}/users/{made}/roles/{role}")

    def do(self, kind: str, method: str, path: str, body: t.Any = None, **headers: str) -> Data:
        """Send one request and give its answer; raises ValueError where it is refused."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.urls[kind] + path,
            data,
            {
                "Content-Type": "application/json",
                "X-Auth-Token": self._token,
                "OpenStack-API-Version": f"{kind} "
                + {"compute": MICROVERSION, "placement": "1.36"}.get(kind, "1.0"),
                **headers,
            },
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise ValueError(f"{method} {path}: {error.code} {error.read()!r}") from None
        found: Data = json.loads(text) if text else {}
        return found

    def add_flavor(self, name: str, vcpus: int, ram: int, **specs: str) -> str:
        """Make a flavor; colons in extra specs are written as two underscores."""
        flavor = {"name": name, "vcpus": vcpus, "ram": ram, "disk": 1}
        key = str(self.do("compute", "POST", "/flavors", {"flavor": flavor})["flavor"]["id"])
        if specs:
            named = {"extra_specs": {k.replace("__", ":"): v for k, v in specs.items()}}
            self.do("compute", "POST", f"/flavors/{key}/os-extra_specs", named)
        return key

    def add_image(self, name: str, **properties: str) -> str:
        """Make an image with a few bytes of data."""
        image = {"name": name, "disk_format": "raw", "container_format": "bare", **properties}
        key = str(self.do("image", "POST", "/v2/images", image)["id"])
        request = urllib.request.Request(
            f"{self.urls['image']}/v2/images/{key}/file",
            b"data",
            {"Content-Type": "application/octet-stream", "X-Auth-Token": self._token},
            method="PUT",
        )
        urllib.request.urlopen(request, timeout=60).close()
        return key

    def boot(self, name: str, flavor: str, image: str, **more: t.Any) -> Data:
        """Boot a server without networks and wait for it; give it as the API shows it."""
        body = {
            "name": name,
            "flavorRef": flavor,
            "imageRef": image,
            "networks": "none",
            **more,
        }
        key = self.do("compute", "POST", "/servers", {"server": body})["server"]["id"]
        return self.awaited(key, lambda status: status != "BUILD")

    def awaited(self, key: str, reached: t.Callable[[str], bool]) -> Data:
        """Wait for the status of a server; give the server as the API shows it."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            server: Data = self.do("compute", "GET", f"/servers/{key}")["server"]
            if reached(server["status"]):
                return server
            time.sleep(0.5)
        raise RuntimeError(f"server {key} stays {server['status']}")


def _end(process: subprocess.Popen[str]) -> None:
    try:
        process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


__all__ = ["HOSTS", "PASSWORD", "Cloud"]
