# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""libvirt's QEMU driver without a daemon, below one folder, and a ``virsh`` to talk to it.

``libvirt_server.py install`` installs what it needs, and says why where it cannot: status 1.
``libvirt_server.py up FOLDER`` starts it below a folder that FOLDER becomes a link to, and ``down
FOLDER`` ends it and what runs on it. ``FOLDER/virsh ARGUMENT...`` takes what virsh takes of the
commands below. Beside its folder libvirt itself leaves ``/run/libvirt``, with a token in it.

With ``LIBVIRT=skip`` in the environment it is taken for one that cannot be had.

Source: libvirt ``docs/drvqemu.rst``, "Driver modes"; ``docs/manpages/virsh.rst``.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import typing as t

PYTHON = "/usr/bin/python3"
"""The interpreter that Debian's python3-libvirt is for."""
PACKAGES = (
    "libnss-wrapper",
    "libvirt-daemon-driver-qemu",
    "libxml2-utils",
    "python3-libvirt",
    "qemu-system-x86",
)
"""No daemon is among them, and nothing is started by installing them."""
CPUS = (0, 1)
"""Host CPUs of the guests."""
SECONDS = 600
"""How long the server lives at most."""
OPTIONS = """\
user = "root"
group = "root"
dynamic_ownership = 0
security_driver = "none"
namespaces = [ ]
stdio_handler = "file"
# Kernels with CONFIG_RT_GROUP_SCHED refuse SCHED_FIFO within a cgroup of its own.
cgroup_controllers = [ ]
"""
USER = "libvirt-qemu"
"""Must exist for the driver to start; Debian makes it with the daemon's package only."""
SHIM = '#!/bin/sh\nexec {python} {file} ask {folder} "$@"\n'


class Refused(Exception):
    """What libvirt, or the server itself, does not do."""


def can_lock() -> bool:
    """Say whether libvirt may raise the limit of locked memory here (CAP_SYS_RESOURCE)."""
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"^CapEff:\s*(\w+)", status, re.M)
    capable = bool(found and int(found[1], 16) >> 24 & 1)
    return capable or resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] == resource.RLIM_INFINITY


def why_not() -> str:
    """Say why neither domains nor realtime threads can be had here; "" where they can."""
    if os.environ.get("LIBVIRT") == "skip":
        return "LIBVIRT=skip"
    if os.geteuid():
        return "only root gives threads realtime policies"
    if not os.sched_getaffinity(0).issuperset(CPUS):
        return f"it needs the CPUs {', '.join(map(str, CPUS))}"
    try:
        # In a process of its own, whose policy dies with it.
        subprocess.run([sys.executable, "-c", _REALTIME], check=True, capture_output=True)
    except subprocess.CalledProcessError:
        return "the kernel refuses SCHED_FIFO"
    if not shutil.which("apt-get") or not shutil.which("dpkg-query"):
        return "no Debian packages here"
    return ""


_REALTIME = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"


def install() -> str:
    """Install the packages that are not there; say why where that cannot be, else ""."""
    reason = why_not()
    if reason or not _absent():
        return reason
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "--quiet", "--yes", "--option", "DPkg::Lock::Timeout=60"]
    steps = (["update"], ["install", "--no-install-recommends", *PACKAGES])
    for step in steps:
        try:
            done = subprocess.run(
                [*command, *step],
                capture_output=True,
                check=False,
                env=environment,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return f"apt-get {step[0]} did not end within {SECONDS} s"
    if done.returncode or _absent():
        lines = done.stderr.strip().splitlines() or ["?"]
        return f"the packages cannot be installed: {lines[-1]}"
    return ""


def _absent() -> list[str]:
    """List the packages that are not installed."""
    ask = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *PACKAGES]
    done = subprocess.run(ask, capture_output=True, check=False, text=True)
    there = {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" installed")}
    return [name for name in PACKAGES if name not in there]


class Virsh:
    """The commands, on one connection of libvirt's binding."""

    def __init__(self, connection: t.Any) -> None:
        self.connection = connection

    def run(self, arguments: list[str]) -> str:
        """Run what virsh would with these arguments; give its output.

        Raises Refused for what is no command here, libvirtError for what libvirt refuses.
        """
        words = list(arguments)
        while words and words[0].startswith("-"):
            if words.pop(0) in ("-c", "--connect") and words:
                del words[0]
        commands: dict[str, t.Callable[[list[str], set[str]], str]] = {
            "define": self.define,
            "destroy": self.destroy,
            "dumpxml": self.dumpxml,
            "emulatorpin": self.emulatorpin,
            "list": self.list_uuids,
            "qemu-monitor-command": self.monitor,
            "start": self.start,
            "version": self.version,
        }
        if not words or words[0] not in commands:
            raise Refused(f"unknown command: {' '.join(arguments)}")
        values = [word for word in words[1:] if not word.startswith("--")]
        return commands[words[0]](values, {word for word in words[1:] if word.startswith("--")})

    def version(self, _values: list[str], _options: set[str]) -> str:
        number = self.connection.getLibVersion()
        text = f"{number // 1000000}.{number // 1000 % 1000}.{number % 1000}"
        return f"Using library: libvirt {text}\nRunning against daemon: {text}\n"

    def list_uuids(self, _values: list[str], options: set[str]) -> str:
        """List the UUIDs of those that run, with ``--all`` of every one."""
        found = self.connection.listAllDomains()
        wanted = (each for each in found if "--all" in options or each.isActive())
        return "".join(f"{each.UUIDString()}\n" for each in wanted)

    def dumpxml(self, values: list[str], options: set[str]) -> str:
        import libvirt

        inactive = libvirt.VIR_DOMAIN_XML_INACTIVE if "--inactive" in options else 0
        return str(self._domain(values).XMLDesc(inactive))

    def define(self, values: list[str], _options: set[str]) -> str:
        try:
            text = pathlib.Path(values[0]).read_text(encoding="utf-8")
        except OSError as error:
            raise Refused(str(error)) from None
        return f"Domain '{self.connection.defineXML(text).name()}' defined\n"

    def start(self, values: list[str], _options: set[str]) -> str:
        self._domain(values).create()
        return "Domain started\n"

    def destroy(self, values: list[str], _options: set[str]) -> str:
        self._domain(values).destroy()
        return "Domain destroyed\n"

    def emulatorpin(self, values: list[str], options: set[str]) -> str:
        """Pin to all CPUs that are listed, such as "0,1"; takes ``--live`` alone."""
        import libvirt

        if options != {"--live"}:
            raise Refused("emulatorpin is here with --live only")
        cpus = set(map(int, values[1].split(",")))
        mask = tuple(cpu in cpus for cpu in range(self.connection.getInfo()[2]))
        self._domain(values).pinEmulator(mask, libvirt.VIR_DOMAIN_AFFECT_LIVE)
        return "\n"

    def monitor(self, values: list[str], _options: set[str]) -> str:
        import libvirt_qemu

        return f"{libvirt_qemu.qemuMonitorCommand(self._domain(values), values[1], 0)}\n"

    def end(self) -> None:
        """Destroy what runs."""
        for domain in self.connection.listAllDomains():
            if domain.isActive():
                domain.destroy()

    def _domain(self, values: list[str]) -> t.Any:
        for each in self.connection.listAllDomains():
            if values and values[0] in (each.name(), each.UUIDString()):
                return each
        raise Refused(f"failed to get domain '{' '.join(values[:1])}'")


def serve(folder: pathlib.Path) -> None:
    """Serve until SIGTERM; what runs then is destroyed."""
    import libvirt

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, lambda *_frame: sys.exit())
    signal.alarm(SECONDS)
    (folder / "etc").mkdir()
    (folder / "etc" / "qemu.conf").write_text(OPTIONS, encoding="utf-8")
    libvirt.registerErrorHandler(lambda *_error: None, None)
    libvirt.virEventRegisterDefaultImpl()

    def loop() -> None:
        while True:
            libvirt.virEventRunDefaultImpl()

    threading.Thread(target=loop, daemon=True).start()
    virsh = Virsh(libvirt.open(f"qemu:///embed?root={folder}"))
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(folder / "socket"))
            listening.listen()
            shim = folder / "virsh.part"
            own = pathlib.Path(__file__).resolve()
            text = SHIM.format(python=sys.executable, file=own, folder=folder)
            shim.write_text(text, encoding="utf-8")
            shim.chmod(0o755)
            shim.replace(folder / "virsh")
            while True:
                peer, _address = listening.accept()
                # Whoever asked may have gone.
                with contextlib.suppress(OSError), peer, peer.makefile("rw") as file:
                    try:
                        answer = [virsh.run(json.loads(file.readline())), ""]
                    except (Refused, libvirt.libvirtError, IndexError, ValueError) as error:
                        answer = ["", f"error: {error}\n"]
                    json.dump(answer, file)
    finally:
        with contextlib.suppress(libvirt.libvirtError):
            virsh.end()
        # The thread of the event loop never ends.
        os._exit(0)


def ask(folder: pathlib.Path, *arguments: str) -> int:
    """Ask the server; print what virsh would print, and give its exit status."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(folder / "socket"))
        with peer.makefile("rw") as file:
            file.write(json.dumps(arguments) + "\n")
            file.flush()
            out, error = json.load(file)
    sys.stdout.write(out)
    sys.stderr.write(error)
    return 1 if error else 0


def up(link: pathlib.Path) -> None:
    """Start a server; ``link`` will point to its folder, which needs a short name for its sockets.

    Raises RuntimeError where it does not start. Source of the variables: nss_wrapper(1).
    """
    folder = pathlib.Path(tempfile.mkdtemp(prefix="libvirt-"))
    link.symlink_to(folder)
    for name, line in (
        ("passwd", f"{USER}:x:64055:64055::/nonexistent:/bin/false\n"),
        ("group", f"{USER}:x:64055:\nkvm:x:64056:\n"),
    ):
        known = pathlib.Path("/etc", name).read_text(encoding="utf-8")
        (folder / name).write_text(line + known, encoding="utf-8")
    environment = {
        **os.environ,
        "LD_PRELOAD": "libnss_wrapper.so",
        "NSS_WRAPPER_GROUP": str(folder / "group"),
        "NSS_WRAPPER_PASSWD": str(folder / "passwd"),
    }
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            [PYTHON, __file__, "serve", str(folder)],
            env=environment,
            start_new_session=True,
            stderr=log,
            stdin=subprocess.DEVNULL,
            stdout=log,
        )
    (folder / "pid").write_text(str(process.pid), encoding="utf-8")
    while not (folder / "virsh").exists():
        if process.poll() is not None:
            said = (folder / "server.log").read_text(encoding="utf-8")
            down(link)
            raise RuntimeError(said)
        time.sleep(0.1)


def down(link: pathlib.Path) -> None:
    """End a server and its domains, and remove what it made; nothing where there is none."""
    if not link.is_symlink():
        return
    folder = link.resolve()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        number = int((folder / "pid").read_text(encoding="utf-8"))
        os.kill(number, signal.SIGTERM)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(number, 0)
        for _try in range(100):
            os.kill(number, 0)
            time.sleep(0.1)
    shutil.rmtree(folder, ignore_errors=True)
    link.unlink()


class LibvirtServer(contextlib.AbstractContextManager["LibvirtServer"]):
    """A server of one's own."""

    def __enter__(self) -> LibvirtServer:
        self._own = tempfile.TemporaryDirectory()
        self._link = pathlib.Path(self._own.name, "link")
        up(self._link)
        self.folder = self._link.resolve()
        return self

    def __exit__(self, *_error: object) -> None:
        down(self._link)
        self._own.cleanup()

    def define(self, text: str) -> None:
        """Define a domain, in place of the one of its name; raises Refused."""
        with tempfile.NamedTemporaryFile("w", dir=self.folder, encoding="utf-8") as file:
            file.write(text)
            file.flush()
            self.virsh("define", file.name)

    def virsh(self, *arguments: str) -> str:
        """Run one command; raises Refused with what it said where it failed."""
        done = subprocess.run(
            [str(self.folder / "virsh"), *arguments], capture_output=True, check=False, text=True
        )
        if done.returncode:
            raise Refused(done.stderr.strip())
        return done.stdout


def main(arguments: list[str]) -> int:
    """Do what the first argument says."""
    if arguments == ["install"]:
        reason = install()
        if reason:
            print(f"libvirt: {reason}", file=sys.stderr)
        return 1 if reason else 0
    if len(arguments) < 2:
        sys.exit("usage: libvirt_server.py install | up FOLDER | down FOLDER | ask FOLDER WORD...")
    command, where, *words = arguments
    commands: dict[str, t.Callable[..., int | None]] = {
        each.__name__: each for each in (up, down, serve, ask)
    }
    return commands[command](pathlib.Path(where), *words) or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
