# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read import nova_options, oslo_ini
from ansible_collections.pinguard.nova.plugins.module_utils._read.conf_edit import (
    changes,
    edited,
    propose,
)
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError

if t.TYPE_CHECKING:
    import pathlib
    from collections.abc import Mapping

SHARED = "compute.cpu_shared_set"
DEDICATED = "compute.cpu_dedicated_set"
PAGES = "reserved_huge_pages"
TWO_PAGES = ["node:0,size:2048,count:1", "node:1,size:2048,count:1"]

EDITS: list[tuple[str, dict[str, t.Any], str]] = [
    ("[compute]\ncpu_shared_set=0\n", {SHARED: "1"}, "[compute]\ncpu_shared_set=1\n"),
    ("[compute]\ncpu_shared_set : 0", {SHARED: "1"}, "[compute]\ncpu_shared_set : 1"),
    ("[compute]\ncpu_shared_set =\n", {SHARED: "1"}, "[compute]\ncpu_shared_set = 1\n"),
    ("[compute]\ncpu_shared_set = 0,\n  1\n#c", {SHARED: "1"}, "[compute]\ncpu_shared_set = 1\n#c"),
    (
        "[compute]\ncpu_shared_set = 0\ncpu_shared_set = 1\n",
        {SHARED: "2"},
        "[compute]\ncpu_shared_set = 0\ncpu_shared_set = 2\n",
    ),
    (
        "[compute]\ncpu_shared_set = 0\n[a]\n[COMPUTE]\ncpu_shared_set = '1'\n",
        {SHARED: "2"},
        "[compute]\ncpu_shared_set = 0\n[a]\n[COMPUTE]\ncpu_shared_set = 2\n",
    ),
    (
        "[compute]\ncpu_shared_set = 0,\n 1\n# c\ncpu_shared_set = 2\n[a]\nk = v\n",
        {SHARED: None},
        "[compute]\n# c\n[a]\nk = v\n",
    ),
    ("[compute]\r\n# c\r\n", {SHARED: 1}, "[compute]\r\ncpu_shared_set = 1\r\n# c\r\n"),
    (
        "[compute]\nk = v\n\n# of a\n[a]",
        {SHARED: 1},
        "[compute]\nk = v\ncpu_shared_set = 1\n\n# of a\n[a]",
    ),
    ("[compute]", {SHARED: 1}, "[compute]\ncpu_shared_set = 1"),
    ("[a]\nk = v", {SHARED: 1}, "[a]\nk = v\n\n[compute]\ncpu_shared_set = 1"),
    (
        "",
        {SHARED: 0, DEDICATED: 1, "reserved_host_memory_mb": 512},
        "[compute]\ncpu_shared_set = 0\ncpu_dedicated_set = 1\n\n"
        "[DEFAULT]\nreserved_host_memory_mb = 512\n",
    ),
    (
        "[compute]\ncpu_shared_set = 0\n",
        {SHARED: None, DEDICATED: "0"},
        "[compute]\ncpu_dedicated_set = 0\n",
    ),
    (
        "[compute]\ncpu_shared_set = 0\n",
        {DEDICATED: "0", SHARED: None},
        "[compute]\ncpu_dedicated_set = 0\n",
    ),
    (
        f"[DEFAULT]\n{PAGES} = x\n{PAGES} = y\n{PAGES} = z\n",
        {PAGES: TWO_PAGES},
        f"[DEFAULT]\n{PAGES} = {TWO_PAGES[0]}\n{PAGES} = {TWO_PAGES[1]}\n",
    ),
    (
        f"[DEFAULT]\n{PAGES} = {TWO_PAGES[0]}\n# c\n",
        {PAGES: TWO_PAGES},
        f"[DEFAULT]\n{PAGES} = {TWO_PAGES[0]}\n{PAGES} = {TWO_PAGES[1]}\n# c\n",
    ),
    (
        "[libvirt]\n",
        {"libvirt.cpu_power_management": True},
        "[libvirt]\ncpu_power_management = true\n",
    ),
    ("[Default]\n", {"vcpu_pin_set": "0"}, "[Default]\n\n[DEFAULT]\nvcpu_pin_set = 0\n"),
]


@pytest.mark.parametrize(("text", "settings", "expected"), EDITS)
def test_edits(text: str, settings: dict[str, t.Any], expected: str) -> None:
    assert edited(text, changes(settings), "f") == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"connection": "x"}, "settings: 'connection' is no option to set"),
        ({"cpu_shared_set": "x"}, "'cpu_shared_set' is no option to set"),
        ({SHARED: "0\n[database]"}, f"settings: {SHARED}: .* is no value"),
        ({SHARED: "$vcpu_pin_set"}, "text of one line without"),
        ({SHARED: ["0"]}, "is no value"),
        ({PAGES: [None]}, "None is no value"),
    ],
)
def test_what_cannot_be_set_is_refused(settings: dict[str, t.Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        changes(settings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[compute]\nword\n", "f:2: neither a section"),
        ("[compute]\ncpu_shared_set = 0\n  password = s3cret\n", "f:2: .* hold another key"),
        ("[compute]\ncpu_shared_set = 0\n  password: s3cret\n", "f:2: .* hold another key"),
    ],
)
def test_a_file_that_cannot_be_edited_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        edited(text, changes({SHARED: None}), "f")
    assert "s3cret" not in str(caught.value)


LINES = [
    "[DEFAULT]",
    "[compute]",
    "[Compute]",
    "[libvirt]",
    "",
    "  ",
    "# c",
    "; c",
    "vcpu_pin_set = 0-3",
    "cpu_shared_set=0",
    'cpu_shared_set: "0"',
    "cpu_dedicated_set = 1,\r\n  2-3\n\t# 4",
    "reserved_huge_pages = node:0,size:2048,count:1",
    "virt_type = kvm",
    "connection = s3cret",
    "connection = s3cret\n  more",
]


def _is_read(text: str) -> bool:
    try:
        oslo_ini.parse(text, "f")
    except InputError:
        return False
    return True


TEXTS = st.builds(
    lambda first, pairs, last: first + "".join(map("".join, pairs)) + last,
    st.sampled_from(["", "# c\n[DEFAULT]\n", "[compute]\n"]),
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(["\n", "\n", "\r\n", "\r"]))),
    st.sampled_from(["", *LINES]),
).filter(_is_read)
VALUES = st.none() | st.text("0123456789-,^ \"'#;=:[]\u00e9", max_size=8)
SETTINGS = st.dictionaries(
    st.sampled_from(["vcpu_pin_set", SHARED, DEDICATED, "libvirt.virt_type"]), VALUES
)
PAGE_LISTS = st.none() | st.lists(st.sampled_from([*TWO_PAGES, "x"]), max_size=4)


def values(text: str) -> dict[tuple[str, str], list[str]]:
    """List all values of each option of a file, in their order."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in oslo_ini.parse(text, "f"):
        found.setdefault((oslo_ini.group(each.section), each.key), []).append(each.value)
    return found


@given(TEXTS, SETTINGS, PAGE_LISTS)
def test_the_file_gives_what_is_asked_for_and_all_else_as_before(
    text: str, settings: Mapping[str, t.Any], pages: list[str] | None
) -> None:
    asked = changes({**settings, PAGES: pages})
    before = values(text)
    after = edited(text, asked, "f")
    found = values(after)
    for option, wanted in asked.items():
        given_now = tuple(found.pop(option, ()))
        every = option[1] in nova_options.REPEATED or not wanted
        assert (given_now if every else given_now[-1:]) == wanted
        before.pop(option, None)
    assert found == before
    assert edited(after, asked, "f") == after
    comments = [line for line in text.splitlines() if line.startswith(("#", ";"))]
    assert [line for line in after.splitlines() if line.startswith(("#", ";"))] == comments
    if text and all(asked.values()):
        assert after.endswith(("\n", "\r")) == text.endswith(("\n", "\r"))


@given(TEXTS)
def test_what_is_there_already_changes_nothing(text: str) -> None:
    wanted = {
        option: tuple(each if option[1] in nova_options.REPEATED else each[-1:])
        for option, each in values(text).items()
        if option in nova_options.OPTIONS
    }
    assert edited(text, wanted, "f") == text


def test_a_mebibyte_takes_no_minutes() -> None:
    text = "[compute]\n" + "cpu_shared_set" + " " * 300_000 + "= 0\n" + "k = v\n" * 100_000
    after = edited(text, changes({SHARED: "1", DEDICATED: "2"}), "f")
    assert values(after)["compute", "cpu_dedicated_set"] == ["2"]


@pytest.fixture
def conf(tmp_path: pathlib.Path) -> pathlib.Path:
    """Make a configuration that holds a password, and give its path."""
    path = tmp_path / "nova.conf"
    path.write_text(
        "[database]\nconnection = s3cret\n[compute]\ncpu_shared_set = 0\n"
        "[libvirt]\nvirt_type = kvm\n"
    )
    return path


def test_a_change_is_told_without_secrets(conf: pathlib.Path) -> None:
    edit = propose(str(conf), {SHARED: "0-1", DEDICATED: "2-3"}, [str(conf)])
    assert edit.changed
    assert edit.options == {
        SHARED: {"before": "0", "after": "0-1"},
        DEDICATED: {"before": None, "after": "2-3"},
    }
    assert edit.shown_before == "[compute]\ncpu_shared_set = 0\n[libvirt]\nvirt_type = kvm\n"
    assert "cpu_dedicated_set = 2-3\n" in edit.shown_after
    assert edit.nova_after["options"][DEDICATED] == {"value": "2-3", "where": f"{conf}:5"}
    assert "s3cret" not in str((edit.nova_after, edit.options, edit.shown_before, edit.shown_after))
    assert "s3cret" in edit.after
    assert "dedicated" not in conf.read_text()


def test_a_change_is_shown_in_the_order_of_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "nova.conf"
    path.write_text(
        "[libvirt]\nvirt_type = kvm\n[Compute]\ncpu_shared_set = 0\n"
        "[DEFAULT]\nram_allocation_ratio = 1\ncpu_allocation_ratio = 2\n"
    )
    edit = propose(str(path), {SHARED: "0-1", "libvirt.cpu_power_management": True}, [str(path)])
    assert edit.shown_after == (
        "[libvirt]\nvirt_type = kvm\ncpu_power_management = true\n[compute]\ncpu_shared_set = 0-1\n"
        "[DEFAULT]\nram_allocation_ratio = 1\ncpu_allocation_ratio = 2\n"
    )


def test_a_file_that_is_read_later_must_not_say_otherwise(conf: pathlib.Path) -> None:
    later = conf.parent / "later.conf"
    later.write_text("[compute]\ncpu_shared_set = 7\n")
    with pytest.raises(InputError, match=rf"^{later}:2: .*cpu_shared_set is set here too"):
        propose(str(conf), {SHARED: "0-1"}, [str(conf), str(later)])
    assert propose(str(conf), {SHARED: "0-1"}, [str(later), str(conf)]).changed
    with pytest.raises(InputError, match=rf"^{later}:2: "):
        propose(str(conf), {SHARED: None}, [str(later), str(conf)])
    assert propose(str(conf), {DEDICATED: "1"}, [str(conf), str(later)]).changed


def test_every_value_of_an_option_that_repeats_counts(conf: pathlib.Path) -> None:
    earlier = conf.parent / "earlier.conf"
    earlier.write_text(f"[DEFAULT]\n{PAGES} = x\n")
    with pytest.raises(InputError, match=rf"^{earlier}:2: "):
        propose(str(conf), {PAGES: TWO_PAGES}, [str(earlier), str(conf)])


def test_a_file_that_nova_does_not_read_is_refused(conf: pathlib.Path) -> None:
    other = conf.parent / "other.conf"
    other.write_text("")
    with pytest.raises(InputError, match="nova-compute does not read this file"):
        propose(str(other), {SHARED: "0"}, [str(conf)])


def test_a_new_file_of_a_folder_is_read_in_its_place(conf: pathlib.Path) -> None:
    folder = conf.parent / "nova.conf.d"
    folder.mkdir()
    new = folder / "50-cpu.conf"
    with pytest.raises(InputError, match="no such file; accepted: an existing file, or create"):
        propose(str(new), {SHARED: "0-1"}, [str(conf), str(folder)])
    edit = propose(str(new), {SHARED: "0-1"}, [str(conf), str(folder)], create=True)
    assert (edit.exists, edit.after) == (False, "[compute]\ncpu_shared_set = 0-1\n")
    assert edit.options == {SHARED: {"before": "0", "after": "0-1"}}
    (folder / "60.conf").write_text("[compute]\ncpu_shared_set = 7\n")
    with pytest.raises(InputError, match=r"60\.conf:2: "):
        propose(str(new), {SHARED: "0-1"}, [str(conf), str(folder)], create=True)
    with pytest.raises(InputError, match="no such directory"):
        propose(str(conf.parent / "none/x.conf"), {SHARED: "0"}, [str(conf)], create=True)


def test_a_link_stands_for_its_file(conf: pathlib.Path) -> None:
    link = conf.parent / "link.conf"
    link.symlink_to(conf.name)
    edit = propose(str(link), {SHARED: "0-1"}, [str(conf)])
    assert edit.target == str(conf.resolve())


def test_other_options_follow_their_references(conf: pathlib.Path) -> None:
    conf.write_text("[compute]\ncpu_shared_set = 0\ncpu_dedicated_set = $cpu_shared_set\n")
    edit = propose(str(conf), {SHARED: "0-1"}, [str(conf)])
    assert edit.nova_after["options"][DEDICATED]["value"] == "0-1"
