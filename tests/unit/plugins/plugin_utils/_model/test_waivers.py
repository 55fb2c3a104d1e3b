# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import pathlib
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.waivers import read, waivers

WAIVER = {"rule": "HC-11", "reason": "soon replaced", "owner": "ops", "expires": "2027-03-31"}


def test_a_file_of_waivers_is_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "waivers.yml"
    path.write_text(
        "format: 1\n"
        "waivers:\n"
        "  - rule: HC-11\n"
        "    scope: {host: [cmp-0*, big], host_class: cmp-11}\n"
        "    reason: soon replaced\n"
        "    owner: ops\n"
        "    expires: 2027-03-31\n"
    )
    (waiver,) = read(str(path))
    assert waiver.expires == datetime.date(2027, 3, 31)
    assert waiver.host == ("cmp-0*", "big")
    assert waiver.scope == "host cmp-0*, big; host class cmp-11"
    assert waiver.where == f"{path}: waivers[0]"


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([], r"w: \[\] is not of type object"),
        ({}, r"w: the key 'waivers' is missing"),
        ({"waivers": [{**WAIVER, "owner": ""}]}, r"w: waivers\[0\].owner: the text is empty"),
        ({"waivers": [{"rule": "HC-11"}]}, r"w: waivers\[0\]: the key 'reason' is missing"),
        (
            {"waivers": [{**WAIVER, "expires": "2027-02-30"}]},
            r"w: waivers\[0\].expires: '2027-02-30' is no day",
        ),
        (
            {"waivers": [{**WAIVER, "expires": "soon"}]},
            r"w: waivers\[0\].expires: 'soon' has another form",
        ),
        (
            {"waivers": [{**WAIVER, "scope": {"hosts": "a"}}]},
            r"w: waivers\[0\].scope.hosts: unknown key \(nearest: host\)",
        ),
        (
            {"waivers": [{**WAIVER, "scope": {"host": []}}]},
            r"w: waivers\[0\].scope.host: the list is empty",
        ),
        (
            {"waivers": [{**WAIVER, "scope": {"host": [5]}}]},
            r"w: waivers\[0\].scope.host\[0\]: 5 is not of type string",
        ),
        ({"format": 2, "waivers": []}, "w: format: 2 is another version"),
    ],
)
def test_what_is_no_waiver_is_refused_in_one_line(document: t.Any, told: str) -> None:
    with pytest.raises(InputError, match=f"^{told}") as raised:
        waivers(document, "w")
    assert "\n" not in str(raised.value)
