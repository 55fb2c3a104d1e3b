# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text files below a root directory: bounded in size, and never outside the root.

The root is ``/`` on a live host, or the top of a captured tree (a sosreport). In a captured tree
an absolute symbolic link means a place in that tree, as it did on its host.
"""

from __future__ import annotations

import dataclasses
import os
import stat
import typing as t

from .errors import InputError, quoted

if t.TYPE_CHECKING:
    from collections.abc import Iterator

LARGE = 64 << 20
"""Bytes that no file may exceed."""
SMALL = 1 << 20
"""Bytes for files that are a few KiB on any host: sysfs, procfs, ``nova.conf``."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Without O_NONBLOCK a FIFO would keep ``open`` waiting for a writer; with O_NOFOLLOW the last link
cannot be swapped after it was resolved."""
_CHUNK = 1 << 20
_LINKS = 40
"""Symbolic links followed on one path, as in the kernel."""
_SIZE = "at most {} bytes"


def _size_error(limit: int, where: str) -> InputError:
    return InputError("the file is too large", _SIZE.format(limit), where)


def _system_error(error: OSError, where: str) -> InputError:
    return InputError(
        f"cannot be read ({error.strerror or type(error).__name__})", "a readable file", where
    )


def _chunks(descriptor: int, limit: int, where: str) -> Iterator[bytes]:
    left = limit
    while True:
        chunk = os.read(descriptor, min(_CHUNK, left + 1))
        if not chunk:
            return
        left -= len(chunk)
        if left < 0:
            raise _size_error(limit, where)
        yield chunk


def _bytes(path: str, limit: int, where: str) -> bytes:
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InputError("is no regular file", "a text file", where)
        if status.st_size > limit:
            raise _size_error(limit, where)
        return b"".join(_chunks(descriptor, limit, where))
    finally:
        os.close(descriptor)


def _text(data: bytes, where: str) -> str:
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise InputError("holds a NUL byte", "UTF-8 text", f"{where}:{line}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8", "UTF-8 text", f"{where}:{line}") from None


def _encodes(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def read_text(path: str, limit: int = LARGE) -> str:
    """Read a text file of this machine, of at most ``limit`` bytes.

    Raises :class:`InputError` where it is missing, unreadable, no regular file, too large, not
    UTF-8, or holds a NUL byte.
    """
    return Tree("/").text(os.path.abspath(path), limit)


@dataclasses.dataclass(frozen=True)
class Tree:
    """The files below ``root``, named by the paths that they have on their host."""

    root: str = "/"

    def text(self, path: str, limit: int = SMALL) -> str:
        """Read a file that has to be there. Raises as :func:`read_text` does."""
        found = self.optional(path, limit)
        if found is None:
            raise InputError("no such file", "an existing file", path)
        return found

    def optional(self, path: str, limit: int = SMALL) -> str | None:
        """Read a file, or give None where there is none. Raises as :func:`read_text` does."""
        data = self.data(path, limit)
        return None if data is None else _text(data, path)

    def data(self, path: str, limit: int = SMALL) -> bytes | None:
        """Read a file of any bytes, or give None where there is none.

        Raises :class:`InputError` where it is unreadable, no regular file, or too large.
        """
        try:
            return _bytes(self.locate(path), limit, path)
        except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
            # The last is what a file in procfs gives whose process ended after it was opened.
            return None
        except OSError as error:
            raise _system_error(error, path) from None

    def device(self, path: str, size: int) -> bytes | None:
        """Read up to ``size`` bytes of a character device; None below another root than ``/``."""
        if os.path.realpath(self.root) != "/":
            return None
        try:
            descriptor = os.open(path, _FLAGS)
        except OSError:
            return None
        try:
            return os.read(descriptor, size) if stat.S_ISCHR(os.fstat(descriptor).st_mode) else None
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def names(self, path: str) -> list[str] | None:
        """List what is in a directory, sorted, or give None where there is none.

        Raises :class:`InputError` for a directory that cannot be read.
        """
        try:
            return sorted(os.listdir(self.locate(path)))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _system_error(error, path) from None

    def is_directory(self, path: str) -> bool:
        """Tell whether ``path`` is a directory."""
        return self._mode(path, stat.S_ISDIR)

    def exists(self, path: str) -> bool:
        """Tell whether there is anything at ``path``."""
        return self._mode(path, lambda mode: True)

    def _mode(self, path: str, wanted: t.Callable[[int], bool]) -> bool:
        try:
            return wanted(os.lstat(self.locate(path)).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise _system_error(error, path) from None

    def locate(self, path: str) -> str:
        """Find the place of ``path`` on this machine, all symbolic links followed.

        Links and ``..`` lead nowhere above the root. Raises :class:`InputError` for a loop of
        links and for what cannot be a path, ``OSError`` where a directory on the way is missing.
        """
        if "\0" in path or not _encodes(path):
            raise InputError(f"{quoted(path)} is no path", "UTF-8 without NUL bytes")
        root = os.path.realpath(self.root)
        pending = path.split("/")[::-1]
        done: list[str] = []
        links = 0
        while pending:
            part = pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                del done[-1:]
                continue
            here = os.path.join(root, *done, part)
            if not os.path.islink(here):
                done.append(part)
                continue
            links += 1
            if links > _LINKS:
                raise InputError("too many symbolic links", "a path without loops", path)
            target = os.readlink(here)
            if target.startswith("/"):
                done = []
            pending.extend(target.split("/")[::-1])
        return os.path.join(root, *done)
