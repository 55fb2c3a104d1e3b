# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.filter.cpu_list import cpu_list
from ansible_collections.pinguard.nova.plugins.filter.cpu_ranges import cpu_ranges


@pytest.mark.parametrize(
    ("value", "options", "ids", "text"),
    [
        ("2-6,^4", {}, [2, 3, 5, 6], "2-3,5-6"),
        ("", {}, [], ""),
        (8, {}, [8], "8"),
        ([9, 2, 3], {}, [2, 3, 9], "2-3,9"),
        ("0-7:1/2", {"form": "kernel"}, [0, 2, 4, 6], "0,2,4,6"),
        ("6-N", {"form": "kernel", "last": 7}, [6, 7], "6-7"),
        ("0x30", {"form": "hex"}, [4, 5], "4-5"),
        (30, {"form": "hex"}, [4, 5], "4-5"),
    ],
)
def test_a_list_is_read_in_its_form(
    value: object, options: dict[str, t.Any], ids: list[int], text: str
) -> None:
    assert cpu_list(value, **options) == ids
    assert cpu_ranges(value, **options) == text


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        ("4-2", {}, "the range '4-2' falls; accepted: ids and rising ranges"),
        ("0-99999999999", {}, "'0-99999999999' is beyond any host's CPUs"),
        ("all", {}, "'all' is neither a CPU id nor a range"),
        ("6-N", {"form": "kernel"}, "'6-N' is no item of a kernel CPU list"),
        ("xyz", {"form": "hex"}, "'xyz' is no CPU mask"),
        ("1", {"form": "octal"}, "form: 'octal' is no form of a list; accepted: nova, kernel, hex"),
        ("1", {"last": "seven"}, "last: 'seven' is no CPU id; accepted: numbers from 0 to 65535"),
        ([1, "2"], {}, "'2' is no CPU id; accepted: numbers from 0 to 65535"),
        ([1, True], {}, "True is no CPU id"),
        ([-1], {}, "-1 is no CPU id"),
        (None, {}, "None is no list of CPUs; accepted: a text, or a list of ids"),
        (True, {}, "True is no list of CPUs"),
        (1.5, {}, "1.5 is no list of CPUs"),
        ({"a": 1}, {}, "{'a': 1} is no list of CPUs"),
    ],
)
@pytest.mark.parametrize("plugin", [cpu_list, cpu_ranges])
def test_other_input_is_refused_by_name(
    plugin: t.Callable[..., object], value: object, options: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        plugin(value, **options)
    assert f"{plugin.__name__}: {message}" in str(caught.value)
    assert "\n" not in str(caught.value)
