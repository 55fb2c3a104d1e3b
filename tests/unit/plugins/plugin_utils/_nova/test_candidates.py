# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import candidates
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.candidates import (
    BadQuery,
    Provider,
    Scope,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.inventory import Inventory
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.request import Group, Request

HT = frozenset(["HW_CPU_HYPERTHREADING"])


def provider(name: str, traits: frozenset[str] = frozenset(), **totals: int) -> Provider:
    rows = {key: Inventory(total, max_unit=total) for key, total in totals.items()}
    return Provider(name, rows, traits=traits)


FLEET = (
    provider("S", VCPU=8),
    provider("L", HT, VCPU=8),
    provider("l", VCPU=8),
    provider("N", HT, PCPU=4, VCPU=4),
    provider("n", PCPU=4, VCPU=4),
    provider("P", HT, PCPU=8),
    provider("p", PCPU=8),
    provider("H", HT, VCPU=4),
    provider("N2", HT, PCPU=2, VCPU=6),
    provider("n1", PCPU=7, VCPU=1),
)


def query(
    resources: dict[str, int], required: str = "", forbidden: str = "", suffix: str = ""
) -> Request:
    words = frozenset(required.split()), frozenset(forbidden.split())
    return Request((Group(suffix, resources, *words),))


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (query({"VCPU": 2}), "S L l N n H N2"),
        (query({"PCPU": 2}), "N n P p N2 n1"),
        (query({"PCPU": 2}, forbidden="HW_CPU_HYPERTHREADING"), "n p n1"),
        (query({"PCPU": 2}, required="HW_CPU_HYPERTHREADING"), "N P N2"),
        (query({"PCPU": 3}), "N n P p n1"),
        (query({"PCPU": 1, "VCPU": 1}), "N n N2 n1"),
        (query({"PCPU": 1, "VCPU": 1}, forbidden="HW_CPU_HYPERTHREADING"), "n n1"),
        (query({"VCPU": 2}, forbidden="HW_CPU_HYPERTHREADING"), "S l n"),
        (query({"PCPU": 9}), ""),
        (query({"CUSTOM_X": 1}), ""),
    ],
)
def test_who_can_serve_a_query(asked: Request, names: str) -> None:
    found = candidates.candidates(FLEET, asked)
    assert [name for name, _amounts in found] == names.split()
    assert all(amounts == asked.resources for _name, amounts in found)


@pytest.mark.parametrize(
    ("total", "reserved", "ratio", "used", "fits"),
    [
        (4, 1, 2.0, 0, {1, 2, 3, 4}),
        (4, 1, 2.0, 4, {1, 2}),
        (3, 0, 1.5, 3, {1}),
        (8, 0, 16.0, 127, {1}),
    ],
)
def test_arithmetic(total: int, reserved: int, ratio: float, used: int, fits: set[int]) -> None:
    row = Inventory(total, reserved, ratio, max_unit=total)
    one = Provider("one", {"VCPU": row}, {"VCPU": used})
    found = {n for n in range(1, 9) if candidates.refusal(one, query({"VCPU": n})) is None}
    assert found == fits


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (Request(()), "no resources"),
        (query({}), "no resources"),
        (query({"VCPU": 1}, "CUSTOM_A", "CUSTOM_A"), "both required and forbidden"),
        (query({"VCPU": 1}, "HW_NO_SUCH_TRAIT"), "does not exist"),
        (query({"VCPU": 1}, "", "HW_NO_SUCH_TRAIT"), "does not exist"),
        (
            Request((Group("", {"VCPU": 1}), Group("1", {}, frozenset(["CUSTOM_A"])))),
            "traits but no resources",
        ),
        (
            Request((Group("", {}, frozenset(["CUSTOM_A"])), Group("1", {"VCPU": 1}))),
            "traits but no resources",
        ),
        (Request((Group("1", {"VCPU": 1}), Group("2", {"PCPU": 1}))), "no group_policy"),
    ],
)
def test_bad_queries(asked: Request, text: str) -> None:
    with pytest.raises(BadQuery, match=text):
        candidates.candidates(FLEET, asked)


@pytest.mark.parametrize(("policy", "names"), [("none", ["N", "n"]), ("isolate", [])])
def test_group_policy(policy: str, names: list[str]) -> None:
    asked = Request((Group("1", {"VCPU": 4}), Group("2", {"PCPU": 4})), policy)
    assert [name for name, _amounts in candidates.candidates(FLEET, asked)] == names


@pytest.mark.parametrize(
    ("parts", "fits"),
    [((2, 2), True), ((2, 4), True), ((1, 3), False), ((4, 4), False)],
)
def test_each_group_fits_by_itself_and_so_does_the_sum(parts: tuple[int, int], fits: bool) -> None:
    one = Provider("one", {"VCPU": Inventory(8, step_size=2, max_unit=6)}, {"VCPU": 2})
    groups = (Group(suffix, {"VCPU": part}) for suffix, part in zip("ab", parts, strict=True))
    asked = Request(tuple(groups), "none")
    assert (candidates.refusal(one, asked) is None) == fits


def test_aggregates_need_resources_without_suffix() -> None:
    scope = Scope(member_of=candidates.member_of("A"))
    with pytest.raises(BadQuery, match="aggregates but no resources"):
        candidates.candidates(FLEET, Request((Group("1", {"VCPU": 1}),)), scope)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("A", True),
        ("in:A,C", True),
        ("in:C", False),
        ("!A", False),
        ("!in:C,D", True),
        (None, True),
    ],
)
def test_aggregates(text: str | None, fits: bool) -> None:
    one = Provider("one", {"VCPU": Inventory(4)}, aggregates=frozenset("AB"))
    scope = Scope(member_of=candidates.member_of(text))
    assert (candidates.refusal(one, query({"VCPU": 1}), scope) is None) == fits


def test_traits_of_the_root() -> None:
    one = provider("one", frozenset(["COMPUTE_STATUS_DISABLED"]), VCPU=4)
    forbids = Scope(root_forbidden=frozenset(["COMPUTE_STATUS_DISABLED"]))
    assert candidates.refusal(one, query({"VCPU": 1}), forbids)
    assert candidates.refusal(one, query({"VCPU": 1})) is None
    requires = Scope(root_required=frozenset(["OWNER_NOVA"]))
    assert candidates.refusal(one, query({"VCPU": 1}), requires)
