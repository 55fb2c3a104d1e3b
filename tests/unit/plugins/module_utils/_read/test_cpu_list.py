# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import (
    LIMIT,
    CpuListError,
    ids,
    mask,
    parse_hex,
    parse_kernel,
    parse_nova,
    size,
    to_text,
)

if t.TYPE_CHECKING:
    from collections.abc import Callable

    Attempt = Callable[..., t.Any]

SETS = st.sets(st.integers(0, 1200)).map(mask)

NOVA = [
    ("2 - 11 , ^ 5 , 14", "2-4,6-11,14"),
    ("1-4,,6", "1-4,6"),
    ("^0-3,0-8", "4-8"),
    ("0-3,^5", "0-3"),
    ("0-3,^0-1,0", "2-3"),
    ("^0,^2", ""),
    ("", ""),
    (" , ", ""),
    ("\n2,\n 3", "2-3"),
    ("+1,1_0", "1,10"),
    ("715", "715"),
    ("2-2", "2"),
]
NOVA_REFUSES = [
    "2 3 4",
    "0-3;8",
    "0-",
    "5-2",
    "-1",
    "0-3:2",
    "0xff",
    "4-$",
    "^0^2",
    "4-11    # guests",
    "0-3-5",
    "a",
    "0-99999999999",
    str(LIMIT),
    "9" * 5000,
    f"0-{'9' * 5000}",
]
KERNEL = [
    ("0-7:2/4", None, "0-1,4-5"),
    ("0-6:2/4,9", None, "0-1,4-5,9"),
    ("0-3:4/4", None, "0-3"),
    ("0-3:1/100", None, "0"),
    ("0-3:50/100", None, "0-3"),
    ("8-15:1/999999999", None, "8"),
    ("N", 15, "15"),
    ("4-N", 7, "4-7"),
    ("all", 3, "0-3"),
    ("ALL", 3, "0-3"),
    ("0-1 4", None, "0-1,4"),
    ("\n", None, ""),
    ("0-1,\n", None, "0-1"),
]
KERNEL_REFUSES = [
    ("N", None),
    ("all", None),
    ("0-N:1/2", None),
    ("5-2", None),
    ("0-7:0/4", None),
    ("0-7:5/4", None),
    ("4:1/2", None),
    ("^3", None),
    ("0x3", None),
    ("(null)", None),
    ("0-99999999999", None),
    ("9" * 5000, None),
    ("٣", None),
    (f"0-{LIMIT}", None),
]
HEX = [
    ("00030003", "0-1,16-17"),
    ("0xff", "0-7"),
    ("0X1E", "1-4"),
    ("00000001,00000003", "0-1,32"),
    ("1,00000000,00000000", "64"),
    (" f\n", "0-3"),
    ("0", ""),
]
HEX_REFUSES = ["", "0x", "-1", "0-3", "1,000000000", "1,,2", "g", "f" * LIMIT]


@pytest.mark.parametrize(("text", "expected"), NOVA)
def test_novas_grammar(text: str, expected: str) -> None:
    assert to_text(parse_nova(text)) == expected


@pytest.mark.parametrize("text", NOVA_REFUSES)
def test_what_nova_refuses(text: str) -> None:
    with pytest.raises(CpuListError, match="accepted: ids"):
        parse_nova(text)


@pytest.mark.parametrize(("text", "last", "expected"), KERNEL)
def test_the_kernels_grammar(text: str, last: int | None, expected: str) -> None:
    assert to_text(parse_kernel(text, last)) == expected


@pytest.mark.parametrize(("text", "last"), KERNEL_REFUSES)
def test_what_the_kernels_grammar_refuses(text: str, last: int | None) -> None:
    with pytest.raises(CpuListError, match="accepted"):
        parse_kernel(text, last)


@pytest.mark.parametrize(("text", "expected"), HEX)
def test_masks(text: str, expected: str) -> None:
    assert to_text(parse_hex(text)) == expected


@pytest.mark.parametrize("text", HEX_REFUSES)
def test_what_is_no_mask(text: str) -> None:
    with pytest.raises(CpuListError, match=r"accepted: (hexadecimal|ids)"):
        parse_hex(text)


def test_a_message_is_one_short_line_whatever_was_given() -> None:
    with pytest.raises(CpuListError) as caught:
        parse_nova("x\n" * 500)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@given(SETS)
def test_what_is_written_reads_back_in_both_grammars(cpus: int) -> None:
    assert parse_nova(to_text(cpus)) == cpus
    assert parse_kernel(to_text(cpus)) == cpus


@given(SETS)
def test_masks_read_back(cpus: int) -> None:
    assert parse_hex(f"{cpus:x}") == cpus
    assert parse_hex(f"0x{cpus:x}") == cpus
    digits = f"{cpus:x}".zfill(-(-len(f"{cpus:x}") // 8) * 8)
    assert parse_hex(",".join(digits[i : i + 8] for i in range(0, len(digits), 8))) == cpus


@given(SETS)
def test_text_is_canonical_and_shortest(cpus: int) -> None:
    runs = [tuple(map(int, run.split("-"))) for run in to_text(cpus).split(",") if run]
    assert all(len(run) == 1 or run[0] < run[1] for run in runs)
    assert all(runs[i][-1] + 1 < runs[i + 1][0] for i in range(len(runs) - 1))


@given(st.sets(st.integers(0, 1200)))
def test_sets_are_sets(cpus: set[int]) -> None:
    assert list(ids(mask(cpus))) == sorted(cpus)
    assert size(mask(cpus)) == len(cpus)


@given(SETS, SETS)
def test_what_is_excluded_stays_out_wherever_it_stands(cpus: int, excluded: int) -> None:
    carets = [f"^{run}" for run in to_text(excluded).split(",") if run]
    for text in (",".join([to_text(cpus), *carets]), ",".join([*carets, to_text(cpus)])):
        assert parse_nova(text) == cpus & ~excluded


def _model(text: str) -> set[int] | None:
    """Read Nova's grammar naively; None where it is broken."""
    kept: set[int] = set()
    dropped: set[int] = set()
    for item in text.split(","):
        bare = item.replace(" ", "")
        if not bare:
            continue
        found = re.fullmatch(r"(\^?)(\d+)(?:-(\d+))?", bare)
        if not found or re.search(r"\d +\d", item):
            return None
        low, high = int(found[2]), int(found[3] or found[2])
        if low > high:
            return None
        (dropped if found[1] else kept).update(range(low, high + 1))
    return kept - dropped


@given(st.text("0123456789 -^,", max_size=14))
def test_novas_grammar_equals_a_naive_model(text: str) -> None:
    beyond = any(int(number) >= LIMIT for number in re.findall(r"\d+", text))
    expected = None if beyond else _model(text)
    if expected is None:
        with pytest.raises(CpuListError):
            parse_nova(text)
    else:
        assert set(ids(parse_nova(text))) == expected


@given(
    st.integers(0, 60), st.integers(0, 60), st.integers(1, 12), st.integers(1, 70), st.booleans()
)
def test_strides_equal_a_naive_model(
    low: int, length: int, used: int, group: int, other: bool
) -> None:
    used = min(used, group)
    high = low + length
    expected = {cpu for cpu in range(low, high + 1) if (cpu - low) % group < used}
    text = f"{low}-{high}:{used}/{group}"
    assert set(ids(parse_kernel(text))) == expected
    assert parse_kernel(f"{text},{text}" if other else text) == mask(expected)


@pytest.mark.parametrize("reader", [parse_nova, parse_kernel, parse_hex])
@given(text=st.one_of(st.text(), st.text("0123456789abcxN-^,:/ \n", max_size=40)))
def test_any_text_gives_a_set_or_a_refusal_of_one_line(
    attempt: Attempt, reader: Callable[[str], int], text: str
) -> None:
    cpus = attempt(reader, text)
    assert cpus is None or cpus in range(1 << LIMIT)


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (parse_nova, "".join(f"{cpu}," for cpu in range(0, LIMIT, 2)) * 3),
        (parse_nova, "0-65535," * 100_000),
        (parse_kernel, "0-65535:1/1," * 80_000),
        (parse_kernel, "0-65535:1/2 " * 80_000),
    ],
    ids=["alternating", "ranges", "strides of one", "strides of two"],
)
def test_a_mebibyte_of_list_takes_no_minutes(reader: Callable[[str], int], text: str) -> None:
    whole_items = text[: 1 << 20].rpartition(text[-1])[0]
    assert to_text(reader(whole_items))
