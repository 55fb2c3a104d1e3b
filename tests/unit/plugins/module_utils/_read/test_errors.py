# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import CpuListError
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError, quoted


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InputError("is bad"), "is bad"),
        (InputError("is bad", "good", "f:3"), "f:3: is bad; accepted: good"),
        (InputError("is bad", "", "f"), "f: is bad"),
        (InputError("is bad", "good", "key").at("file"), "file: key: is bad; accepted: good"),
        (InputError("is bad").at("file"), "file: is bad"),
        (InputError("two\n lines", "x\ty"), "two lines; accepted: x y"),
        (InputError("is bad", "", "\u202ea\x1b"), "\\u202ea\\x1b: is bad"),
        (InputError(quoted(10**5000)), "a number of very many digits"),
    ],
)
def test_the_text_of_an_error(error: InputError, text: str) -> None:
    assert str(error) == text


def test_an_error_told_of_its_place_keeps_its_kind() -> None:
    assert isinstance(CpuListError("is bad").at("file"), CpuListError)


@given(st.text(), st.text(), st.text())
def test_an_error_is_one_line(what: str, accepted: str, where: str) -> None:
    text = str(InputError(what, accepted, where))
    assert len(text.splitlines()) <= 1
    assert text.isprintable()


@given(st.text())
def test_a_quoted_value_is_short_and_on_one_line(value: str) -> None:
    assert len(quoted(value).splitlines()) == 1
    assert len(quoted(value)) <= 83
