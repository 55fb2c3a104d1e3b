# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real Placement service on the loopback interface, with an empty database of its own.

``placement_server.py --port-file FILE`` serves until it is terminated, and writes its URL to FILE
once it answers. ``make placement`` installs the service.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import typing as t
import urllib.error
import urllib.parse
import urllib.request
import uuid

PYTHON = pathlib.Path(__file__).resolve().parent.parent / ".venvs" / "placement" / "bin" / "python"
MICROVERSION = "1.36"
"""The one that Nova asks for allocation candidates with."""
HEADERS = {
    "Accept": "application/json",
    "Content-Type": "application/json",
    "OpenStack-API-Version": f"placement {MICROVERSION}",
    "X-Auth-Token": "admin",
    "X-Roles": "admin,service",
}
_CONFIG = """\
[DEFAULT]
use_stderr = false
log_file = {folder}/placement.log
[api]
auth_strategy = noauth2
[placement_database]
connection = sqlite:///{folder}/placement.db
sync_on_startup = true
"""

Data = dict[str, t.Any]
Amounts = dict[str, int]


class Placement:
    """A client of the service at ``url``; providers go by name."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._names: dict[str, str] = {}
        self._consumers: list[str] = []
        self._made: set[str] = set()

    def ask(self, method: str, path: str, body: Data | None = None) -> tuple[int, Data]:
        """Send one request; give status and answer, whatever they are."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, HEADERS, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        return status, json.loads(text) if text else {}

    def do(self, method: str, path: str, body: Data | None = None) -> Data:
        """Send one request and give its answer; raises ValueError where it is refused."""
        status, answer = self.ask(method, path, body)
        if status >= 400:
            raise ValueError(f"{method} {path}: {status} {answer}")
        return answer

    def know(self, traits: t.Iterable[str], classes: t.Iterable[str]) -> None:
        """Make those traits and resource classes that are the operator's own (``CUSTOM_``)."""
        paths = [f"/traits/{name}" for name in traits]
        paths += [f"/resource_classes/{name}" for name in classes]
        for path in paths:
            if "/CUSTOM_" in path and path not in self._made:
                self.do("PUT", path)
                self._made.add(path)

    def add_provider(self, name: str) -> None:
        """Make a provider that has nothing."""
        key = str(uuid.uuid5(uuid.NAMESPACE_DNS, name))
        self.do("POST", "/resource_providers", {"name": name, "uuid": key})
        self._names[key] = name

    def put_inventories(self, name: str, inventories: t.Mapping[str, Data]) -> None:
        """Replace a provider's inventories, given by resource class in Placement's own keys."""
        self._put(name, "inventories", dict(inventories))

    def put_traits(self, name: str, traits: t.Iterable[str]) -> None:
        """Replace a provider's traits."""
        self._put(name, "traits", sorted(traits))

    def put_aggregates(self, name: str, aggregates: t.Iterable[str]) -> None:
        """Replace the aggregates (UUIDs) that a provider is in."""
        self._put(name, "aggregates", sorted(aggregates))

    def allocate(self, name: str, amounts: Amounts) -> str:
        """Allocate from a provider; give the UUID of the new consumer."""
        consumer = str(uuid.uuid4())
        body = {
            "allocations": {self._key(name): {"resources": amounts}},
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": None,
        }
        self.do("PUT", f"/allocations/{consumer}", body)
        self._consumers.append(consumer)
        return consumer

    def clear(self) -> None:
        """Remove every allocation and provider that was made here."""
        for consumer in self._consumers:
            self.do("DELETE", f"/allocations/{consumer}")
        for key in self._names:
            self.do("DELETE", f"/resource_providers/{key}")
        self._consumers.clear()
        self._names.clear()

    def candidates(self, query: str) -> list[tuple[str, Amounts]] | None:
        """List the candidates for a query string, each with its amounts; None for a 400 answer."""
        status, answer = self.ask("GET", f"/allocation_candidates?{query}")
        if status == 400:
            return None
        if status != 200:
            raise ValueError(f"{query}: {status} {answer}")
        return [
            (self._names[key], given["resources"])
            for request in answer["allocation_requests"]
            for key, given in request["allocations"].items()
        ]

    def _key(self, name: str) -> str:
        return next(key for key, known in self._names.items() if known == name)

    def _put(self, name: str, what: str, value: t.Any) -> None:
        path = f"/resource_providers/{self._key(name)}"
        generation = self.do("GET", path)["generation"]
        self.do("PUT", f"{path}/{what}", {what: value, "resource_provider_generation": generation})


class PlacementServer(contextlib.AbstractContextManager[Placement]):
    """The service as a process that ends with this one, however this one ends."""

    def __enter__(self) -> Placement:
        if not PYTHON.exists():
            raise FileNotFoundError("openstack-placement is not installed: make placement")
        self._process = subprocess.Popen(
            [str(PYTHON), __file__, "--serve"],
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        port = self._process.stdout.readline().strip() if self._process.stdout else ""
        if not port:
            self.__exit__()
            raise RuntimeError("Placement did not start")
        return Placement(f"http://127.0.0.1:{port}")

    def __exit__(self, *_error: object) -> None:
        try:
            self._process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def serve() -> None:
    """Serve until standard input ends; runs within the environment that has the service."""
    from wsgiref import simple_server

    from placement import wsgi

    class Quiet(simple_server.WSGIRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            """Keep no log of requests."""

    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "placement.conf"
        config.write_text(_CONFIG.format(folder=folder), encoding="utf-8")
        os.environ["OS_PLACEMENT_CONFIG_DIR"] = folder
        server = simple_server.make_server(
            "127.0.0.1", 0, wsgi.init_application(), handler_class=Quiet
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_port, flush=True)
        sys.stdin.read()
        server.shutdown()


def main(arguments: list[str]) -> None:
    """Serve in the foreground until SIGTERM or SIGINT."""
    if arguments == ["--serve"]:
        serve()
        return
    if len(arguments) != 2 or arguments[0] != "--port-file":
        sys.exit("usage: placement_server.py --port-file FILE")
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_frame: ended.set())
    with PlacementServer() as placement:
        part = pathlib.Path(f"{arguments[1]}.part")
        part.write_text(placement.url, encoding="utf-8")
        part.replace(arguments[1])
        ended.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
