# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cmdline import (
    ALL,
    BARE,
    FIRST,
    LAST,
    arguments,
    isolcpus,
    read,
    words,
)
from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import (
    CpuListError,
    parse_hex,
    to_text,
)

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree

    Attempt = Callable[..., t.Any]
    Plant = Callable[[Mapping[str, str]], Tree]

WORDS: list[tuple[str, list[tuple[str, str | None]]]] = [
    ("", []),
    (" \n", []),
    ("ro a=1 b=", [("ro", None), ("a", "1"), ("b", "")]),
    ("a=b=c", [("a", "b=c")]),
    ('a="1 2" b', [("a", "1 2"), ("b", None)]),
    ('"a=1 2" b', [("a", "1 2"), ("b", None)]),
    ('"a b"', [("a b", None)]),
    ('a=1" "2', [("a", '1" "2')]),
    ('a="1 2', [("a", "1 2")]),
    ("a=1 -- b=2", [("a", "1")]),
    ("a=-- b=2", [("a", "--"), ("b", "2")]),
]
ARGUMENTS: list[tuple[str, dict[str, t.Any]]] = [
    ("ro isolcpus=2-15,18-31 quiet", {"isolcpus": "2-15,18-31"}),
    (
        "skew_tick=1 nohz_full=2-15 rcu_nocbs=2-15 tuned.non_isolcpus=00030003",
        {"nohz_full": "2-15", "rcu_nocbs": "2-15", "tuned.non_isolcpus": "00030003"},
    ),
    ("xisolcpus=1 isolcpusx=1 my.isolcpus=1 ISOLCPUS=1", {}),
    ("nohz-full=2", {"nohz_full": "2"}),
    ("isolcpus=1 isolcpus=2 nohz_full=3 nohz_full=4", {"isolcpus": "1", "nohz_full": "3"}),
    ("irqaffinity=0 irqaffinity=1 nosmt nosmt=force", {"irqaffinity": "1", "nosmt": "force"}),
    ("nosmt rcu_nocbs isolcpus nohz_full", {"nosmt": None, "rcu_nocbs": None}),
    ("isolcpus=", {"isolcpus": ""}),
    (
        "default_hugepagesz=1G hugepagesz=1G hugepages=16 hugepagesz=2M hugepages=64",
        {"default_hugepagesz": "1G", "hugepagesz": ["1G", "2M"], "hugepages": ["16", "64"]},
    ),
    ("hugepages=16", {"hugepages": ["16"]}),
    ("root=secret password=secret init=/bin/secret", {}),
    ("a -- isolcpus=1", {}),
]
ISOLCPUS = [
    ("2-3", "2-3", ("domain",), ()),
    ("", "", ("domain",), ()),
    ("nohz,domain,managed_irq,4-7,12-15", "4-7,12-15", ("domain", "managed_irq", "nohz"), ()),
    ("nohz,domain,managed_irq,", "", ("domain", "managed_irq", "nohz"), ()),
    ("managed_irq,4-7,12-15", "4-7,12-15", ("managed_irq",), ()),
    ("nohz,1", "1", ("nohz",), ()),
    ("newflag,1", "1", ("domain",), ("newflag",)),
    ("new_flag,nohz,1", "1", ("nohz",), ("new_flag",)),
    ("domain", "", ("domain",), ("domain without a comma",)),
    ("Domain,1", "1", ("domain",), ("Domain",)),
    ("all", "", ("domain",), ("all",)),
    ("0-N:1/4", "0,4,8,12", ("domain",), ()),
]


@pytest.mark.parametrize(("text", "found"), WORDS)
def test_words(text: str, found: list[tuple[str, str | None]]) -> None:
    assert list(words(text)) == found


@pytest.mark.parametrize(("text", "found"), ARGUMENTS)
def test_arguments(text: str, found: dict[str, t.Any]) -> None:
    assert arguments(text) == found


def test_the_command_line_of_a_host(plant: Plant) -> None:
    assert read(plant({"proc/cmdline": "ro isolcpus=1\n"})) == {"isolcpus": "1"}


def test_a_host_whose_command_line_was_not_captured(plant: Plant) -> None:
    assert read(plant({})) is None


@pytest.mark.parametrize(("text", "cpus", "flags", "unknown"), ISOLCPUS)
def test_isolcpus(text: str, cpus: str, flags: tuple[str, ...], unknown: tuple[str, ...]) -> None:
    found = isolcpus(text, last=15)
    assert (to_text(found.cpus), found.flags, found.unknown) == (cpus, flags, unknown)


def test_isolcpus_tells_flags_that_isolate_nothing() -> None:
    assert isolcpus("domain,managed_irq,").named == ("domain", "managed_irq")
    assert isolcpus("").named == ()


@pytest.mark.parametrize("text", ["nohz,domain1,3,5", "N-15", "2-1", "1,x", "nohz,4-", "^3"])
def test_isolcpus_that_the_kernel_drops(text: str) -> None:
    with pytest.raises(CpuListError, match="accepted"):
        isolcpus(text, last=15)


def test_a_mask_of_tuned_is_no_list() -> None:
    mask = arguments("tuned.non_isolcpus=00030003")["tuned.non_isolcpus"]
    assert to_text(parse_hex(str(mask))) == "0-1,16-17"


@given(st.one_of(st.text(), st.text('ab=-" \n', max_size=20)))
def test_any_text_gives_words(text: str) -> None:
    assert all("=" not in name for name, _rest in words(text))
    assert sum(len(name) + len(value or "") for name, value in words(text)) <= len(text)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(LAST | FIRST | ALL | {"secret", "non_isolcpus"})),
            st.one_of(st.none(), st.text("0123456789-,:/Nabc_", max_size=9)),
        ),
        max_size=8,
    )
)
def test_only_listed_arguments_are_given(given_words: list[tuple[str, str | None]]) -> None:
    text = " ".join(name if value is None else f"{name}={value}" for name, value in given_words)
    found = arguments(text)
    assert set(found) == {
        name
        for name, value in given_words
        if name in BARE or (name in LAST | FIRST | ALL and value is not None)
    }
    for name in set(found) - ALL:
        values = [v for n, v in given_words if n == name and (v is not None or name in BARE)]
        assert found[name] == values[0 if name in FIRST else -1]


@given(st.one_of(st.text(), st.text("nohzdomain_irq,N0123456789-:/", max_size=30)))
def test_any_isolcpus_has_a_meaning_or_a_refusal_of_one_line(attempt: Attempt, text: str) -> None:
    found = attempt(isolcpus, text, 63)
    assert found is None or found.flags


def test_a_mebibyte_takes_no_minutes() -> None:
    assert arguments('"' * (1 << 20)) == {}
    assert arguments("hugepages=1 " * 80_000)["hugepages"] == ["1"] * 80_000
    assert len(isolcpus("a," * 500_000).named) == 500_000
