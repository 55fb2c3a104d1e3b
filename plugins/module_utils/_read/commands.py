# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that only read: run without a shell, bounded in time and in what they write."""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import time
import typing as t

from .errors import InputError

if t.TYPE_CHECKING:
    from collections.abc import Sequence

OUTPUT = 4 << 20
"""Bytes that a command may write."""

_CHUNK = 1 << 16
_SHOWN = 200
"""Characters shown of what a command says of its failure."""


class NoAnswer(InputError):
    """A command that did not end in time."""


def shown(command: Sequence[str]) -> str:
    """Write a command as one would type it, cut after 200 characters."""
    text = " ".join(map(shlex.quote, command))
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def output(command: Sequence[str], timeout: float) -> str:
    """Run a command and give what it writes to its standard output.

    Raises :class:`InputError` where it is not there, fails, or writes more than :data:`OUTPUT`
    bytes or what is not UTF-8; :class:`NoAnswer` where it has not ended after ``timeout`` seconds.
    It is killed then, with all that it has started.
    """
    try:
        # run_command bounds neither what a command writes nor its time.
        process = subprocess.Popen(  # pylint: disable=ansible-bad-function
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        what = f"cannot be run ({reason})"
        raise InputError(what, "a command of this host", shown(command)) from None
    try:
        out, err = _drained(process, time.monotonic() + timeout)
    except TimeoutError:
        what = f"did not end within {timeout:g} seconds"
        raise NoAnswer(what, "an answer in time", shown(command)) from None
    except OverflowError:
        what = "writes very much"
        raise InputError(what, f"at most {OUTPUT} bytes", shown(command)) from None
    finally:
        _end(process)
    if process.returncode:
        raise InputError(f"failed ({_reason(err, process.returncode)})", "", shown(command))
    try:
        return out.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("does not write UTF-8", "UTF-8 text", shown(command)) from None


def _drained(process: subprocess.Popen[bytes], end: float) -> tuple[bytes, bytes]:
    """Read what a process writes, until it ends."""
    taken: dict[t.Any, bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for stream in taken:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _events in ready:
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                taken[key.fileobj] += chunk
                if sum(map(len, taken.values())) > OUTPUT:
                    raise OverflowError
            if time.monotonic() > end:
                raise TimeoutError
    try:
        process.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    return bytes(taken[process.stdout]), bytes(taken[process.stderr])


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what was not waited for, with all of its session, and let go of its output."""
    if process.returncode is None:
        # A process of another user (sudo) cannot be killed; nor is it waited for then.
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _reason(err: bytes, code: int) -> str:
    """Put what a command says of its failure on one line."""
    text = " ".join(err.decode("utf-8", "replace").split())[:_SHOWN]
    return text or (f"exit status {code}" if code > 0 else f"signal {-code}")
