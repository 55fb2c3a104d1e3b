# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Serves one service of the cloud: ``services.py NAME FOLDER IDENTITY-URL``.

Prints the port once it answers, and ends when standard input does. It runs within the environment
that has the services. Lists have pages of two items. Nova's conductor, scheduler and computes run
beside its API in one process, over a transport in memory.
"""

from __future__ import annotations

import grp
import os
import pathlib
import pwd
import socketserver
import sqlite3
import sys
import threading
import traceback
import typing as t
from wsgiref import simple_server

HOSTS = ("cmp-01", "cmp-02", "cmp-03")
PASSWORD = "sesame"
ETC = pathlib.Path(sys.prefix) / "etc"

_COMMON = """\
[DEFAULT]
use_stderr = false
log_file = {folder}/{name}.log
state_path = {folder}
transport_url = fake:/
"""
_AUTH = """\
auth_type = password
auth_url = {identity}
username = {name}
password = {password}
project_name = service
user_domain_id = default
project_domain_id = default
"""
_CONFIG = {
    "keystone": """\
[database]
connection = sqlite:///{folder}/keystone.db
[fernet_tokens]
key_repository = {folder}/fernet
[credential]
key_repository = {folder}/credential
""",
    "placement": """\
[api]
auth_strategy = keystone
[placement_database]
connection = sqlite:///{folder}/placement.db
sync_on_startup = true
[keystone_authtoken]
""",
    "glance": """\
enabled_import_methods = []
limit_param_default = 2
api_limit_max = 2
[database]
connection = sqlite:///{folder}/glance.db
[glance_store]
default_backend = file
stores = file
filesystem_store_datadir = {folder}/images
[paste_deploy]
flavor = keystone
config_file = {etc}/glance/glance-api-paste.ini
[keystone_authtoken]
""",
    "nova": """\
compute_driver = fake.PinningDriver
host = control
[database]
connection = sqlite:///{folder}/nova.db
[api_database]
connection = sqlite:///{folder}/nova_api.db
[api]
auth_strategy = keystone
max_limit = 2
[oslo_concurrency]
lock_path = {folder}/locks
[quota]
instances = -1
cores = -1
ram = -1
[scheduler]
discover_hosts_in_cells_interval = -1
[filter_scheduler]
enabled_filters = ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,NUMATopologyFilter
""",
}


class _Server(socketserver.ThreadingMixIn, simple_server.WSGIServer):
    daemon_threads = True


class _Quiet(simple_server.WSGIRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Keep no log of requests."""


def _patient(connection: t.Any, *_record: object) -> None:
    """Let SQLite wait for locks."""
    connection.execute("PRAGMA busy_timeout = 60000")


def _committed(
    _connection: object, _cursor: object, statement: str, parameters: object, *_more: object
) -> tuple[str, object]:
    """Commit each statement by itself: a transaction that reads first may fail when it writes."""
    return "SELECT 1" if statement == "BEGIN" else statement, parameters


def configure(name: str, folder: pathlib.Path, identity: str) -> pathlib.Path:
    """Write the configuration of a service; give its path."""
    values = {
        "name": name,
        "folder": folder,
        "identity": identity,
        "password": PASSWORD,
        "etc": ETC,
    }
    text = (_COMMON + _CONFIG[name]).format(**values)
    auth = _AUTH.format(**values)
    if name != "keystone":
        text += ("[keystone_authtoken]\n" if name == "nova" else "") + auth
    if name == "nova":
        for section in ("placement", "neutron", "glance", "service_user"):
            text += f"[{section}]\nregion_name = RegionOne\n{auth}"
    path = folder / {"glance": "glance-api.conf"}.get(name, f"{name}.conf")
    path.write_text(text, encoding="utf-8")
    return path


def keystone(folder: pathlib.Path, config: pathlib.Path) -> t.Any:
    """Make Keystone's database and the administrator; give its application."""
    from keystone.cmd import manage
    from keystone.server import wsgi

    user, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
    owner = ["--keystone-user", user, "--keystone-group", group]
    for command in (
        ["db_sync"],
        ["fernet_setup", *owner],
        ["credential_setup", *owner],
        ["bootstrap", "--bootstrap-password", PASSWORD, "--bootstrap-region-id", "RegionOne"],
    ):
        if child := os.fork():
            if os.waitpid(child, 0)[1]:
                raise RuntimeError(f"keystone-manage {command[0]} failed")
            continue
        sys.argv = ["keystone-manage", "--config-file", str(config), *command]
        manage.main()
        os._exit(0)
    os.environ["OS_KEYSTONE_CONFIG_FILES"] = str(config)
    sys.argv = ["keystone"]
    return wsgi.initialize_public_application()


def placement(folder: pathlib.Path, config: pathlib.Path) -> t.Any:
    """Give Placement's application; it makes its database itself."""
    from placement import wsgi

    os.environ["OS_PLACEMENT_CONFIG_DIR"] = str(folder)
    return wsgi.init_application()


def glance(folder: pathlib.Path, config: pathlib.Path) -> t.Any:
    """Make Glance's database; give its application."""
    from glance.cmd import manage
    from glance.common import wsgi_app

    (folder / "images").mkdir()
    if child := os.fork():
        if os.waitpid(child, 0)[1]:
            raise RuntimeError("glance-manage failed")
    else:
        sys.argv = ["glance-manage", "--config-file", str(config), "db_sync"]
        manage.main()
        os._exit(0)
    os.environ["OS_GLANCE_CONFIG_DIR"] = str(folder)
    return wsgi_app.init_app()


def nova(folder: pathlib.Path, config: pathlib.Path) -> t.Any:
    """Make Nova's databases and one cell; start its services; give the application of its API."""
    os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "true"
    from nova import monkey_patch

    monkey_patch.patch()
    from nova import service
    from nova.api.openstack import wsgi_app
    from nova.cmd import manage
    from nova.compute import rpcapi as compute_rpcapi
    from nova.conductor import rpcapi as conductor_rpcapi
    from nova.scheduler import rpcapi as scheduler_rpcapi
    from nova.virt import fake

    from clouding.driver import PinningDriver

    # Nova loads drivers from its own package alone.
    fake.PinningDriver = PinningDriver
    for name in ("nova", "nova_api", "nova_cell0"):
        with sqlite3.connect(folder / f"{name}.db") as database:
            database.execute("PRAGMA journal_mode=WAL")
    (folder / "api-paste.ini").write_bytes((ETC / "nova" / "api-paste.ini").read_bytes())
    os.environ["OS_NOVA_CONFIG_DIR"] = str(folder)
    sys.argv = ["nova"]
    wsgi_app.init_global_data([str(config)], "osapi_compute", "nova-api")
    manage.ApiDbCommands().sync()
    cells = manage.CellV2Commands()
    cells.map_cell0(f"sqlite:///{folder}/nova_cell0.db")
    manage.DbCommands().sync()
    cells.create_cell(name="cell1")
    services = [
        ("nova-conductor", conductor_rpcapi.RPC_TOPIC, None, "control"),
        ("nova-scheduler", scheduler_rpcapi.RPC_TOPIC, None, "control"),
        *(
            ("nova-compute", compute_rpcapi.RPC_TOPIC, compute_rpcapi.RPC_TOPIC_ALT, host)
            for host in HOSTS
        ),
    ]
    for binary, topic, alternative, host in services:
        service.Service.create(binary=binary, topic=topic, topic_alt=alternative, host=host).start()
    cells.discover_hosts()
    return wsgi_app.init_application("osapi_compute", "nova-api-os-compute")


def main(name: str, folder: pathlib.Path, identity: str) -> None:
    """Serve until standard input ends."""
    from sqlalchemy import engine, event

    event.listen(engine.Engine, "connect", _patient)
    event.listen(engine.Engine, "before_cursor_execute", _committed, retval=True)
    # What is printed while databases are made is no port.
    port = os.dup(1)
    os.dup2(2, 1)
    try:
        application = globals()[name](folder, configure(name, folder, identity))
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        # Nova's threads would keep the process.
        os._exit(1)
    server = simple_server.make_server("127.0.0.1", 0, application, _Server, _Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.write(port, f"{server.server_port}\n".encode())
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
    main(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3])
