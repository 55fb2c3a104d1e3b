# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import sys
import time

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read import commands
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError


def python(code: str, timeout: float = 20) -> str:
    return commands.output([sys.executable, "-c", code], timeout)


def test_the_output_is_given_as_written() -> None:
    assert python("import os; print(os.environ['LC_ALL'], '$HOME;')") == "C $HOME;\n"
    assert len(python("print('x' * 1000000)")) == 1000001


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import sys; sys.exit('error: no\\n  socket')", "failed (error: no socket)"),
        ("raise SystemExit(3)", "failed (exit status 3)"),
        ("import os; os.kill(os.getpid(), 9)", "failed (signal 9)"),
        ("print('x' * (5 << 20))", "writes very much"),
        ("import os; os.write(1, b'\\xff')", "does not write UTF-8"),
    ],
)
def test_a_failure_is_one_line_that_names_the_command(code: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        python(code)
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).startswith(sys.executable)
    assert expected in str(caught.value)


def test_a_command_that_is_not_there_is_told() -> None:
    with pytest.raises(InputError, match=r"^/nowhere/virsh list: cannot be run \(No such file"):
        commands.output(["/nowhere/virsh", "list"], 5)


@pytest.mark.parametrize("code", ["", "import os; os.close(1); os.close(2)"])
def test_a_command_without_an_answer_is_ended_with_what_it_started(code: str) -> None:
    start = time.monotonic()
    child = "import subprocess; subprocess.Popen(['sleep', '60'])"
    with pytest.raises(commands.NoAnswer, match=r"did not end within 0\.5 seconds"):
        python(f"{child}; {code}\nimport time; time.sleep(60)", 0.5)
    assert time.monotonic() - start < 10
