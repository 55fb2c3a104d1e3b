# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import typing as t

import hypothesis
import pytest
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import HostClass
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.waivers import Waiver
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import status_of
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.examples import TODAY, new_style
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.exceptions import (
    Baseline,
    Exceptions,
    key_of,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import (
    Finding,
    FlavorCase,
    HostCase,
    Severity,
)

LATER = TODAY + datetime.timedelta(days=1)
EARLIER = TODAY - datetime.timedelta(days=1)


def finding(subject: str, *names: str, code: str = "HC-11", what: str = "x") -> Finding:
    return Finding(code, Severity.ERROR, "title", subject, names, what, "y", "z", "")


def waiver(rule: str = "HC-11", expires: datetime.date = LATER, **scope: t.Any) -> Waiver:
    return Waiver(rule, "reason", "owner", expires, **scope)


def marked(
    found: Finding, *waivers: Waiver, classes: t.Sequence[HostClass] = ()
) -> list[tuple[tuple[str, ...], bool]]:
    """Mark a finding: the hosts of each part, and whether it counts."""
    parts = Exceptions(waivers, TODAY).marked([found], classes)
    return [(part.names, part.counts) for part in parts]


ALL = finding("host a1", "a1", "a2", "b1")


@pytest.mark.parametrize(
    ("waivers", "parts"),
    [
        ([waiver()], [(("a1", "a2", "b1"), False)]),
        ([waiver(host=("*",))], [(("a1", "a2", "b1"), False)]),
        ([waiver(host=("a?",))], [(("a1", "a2"), False), (("b1",), True)]),
        ([waiver(host=("c",))], [(("a1", "a2", "b1"), True)]),
        (
            [waiver(host=("a1",)), waiver(host=("a*",))],
            [(("a1",), False), (("a2",), False), (("b1",), True)],
        ),
        ([waiver(rule="HC-12")], [(("a1", "a2", "b1"), True)]),
        ([waiver(flavor=("*",))], [(("a1", "a2", "b1"), True)]),
        ([waiver(expires=EARLIER)], [(("a1", "a2", "b1"), True)]),
        ([waiver(expires=TODAY)], [(("a1", "a2", "b1"), False)]),
    ],
)
def test_hosts_are_waived_one_by_one(
    waivers: list[Waiver], parts: list[tuple[tuple[str, ...], bool]]
) -> None:
    assert marked(ALL, *waivers) == parts


def test_a_class_is_waived_by_any_of_its_hosts() -> None:
    host = new_style().host
    classes = [HostClass(host, ("a1", "a2")), HostClass(host, ("b1", "b2"))]
    parts = marked(ALL, waiver(host_class=("a2",)), classes=classes)
    assert parts == [(("a1", "a2"), False), (("b1",), True)]


@pytest.mark.parametrize(
    ("subject", "scope", "waived"),
    [
        ("flavor m1", {"flavor": ("m*",)}, True),
        ("flavor m1 with image web", {"flavor": ("m1",)}, True),
        ("flavor m1 with image web", {"image": ("web",)}, True),
        ("flavor m1", {"image": ("*",)}, False),
        ("image web", {"image": ("w*",)}, True),
        ("flavor m1", {"flavor": ("M1",)}, False),
        ("server db (5f)", {"guest": ("db",)}, True),
        ("guest db (5f)", {"guest": ("5f",)}, True),
        ("consumer 5f", {"guest": ("5f",)}, True),
        ("fleet", {"guest": ("*",)}, False),
        ("fleet", {}, True),
    ],
)
def test_the_scope_is_about_the_subject(
    subject: str, scope: dict[str, t.Any], waived: bool
) -> None:
    ((_names, counts),) = marked(finding(subject), waiver(**scope))
    assert counts is not waived


def test_a_flavor_is_waived_only_where_all_its_hosts_are() -> None:
    found = finding("flavor m1", "a1", "b1", code="FL-51")
    ((names, counts),) = marked(found, waiver("FL-51", host=("a1",)))
    assert (names, counts) == (("a1", "b1"), True)
    ((names, counts),) = marked(found, waiver("FL-51", host=("a1", "b1")))
    assert (names, counts) == (("a1", "b1"), False)


def test_a_rule_that_there_is_not_is_refused() -> None:
    with pytest.raises(InputError, match="there is no rule 'HC-1l'; accepted: a code"):
        Exceptions([waiver("HC-1l")], TODAY)
    with pytest.raises(InputError, match="WV-02 is about waivers"):
        Exceptions([waiver("WV-02")], TODAY)


def codes(exceptions: Exceptions, *subjects: type) -> list[str]:
    return [fault.code for fault in exceptions.faults(subjects)]


def test_a_waiver_is_used_or_a_fault_where_its_rule_was_run() -> None:
    used, unused, expired = waiver(), waiver(host=("c",)), waiver(expires=EARLIER)
    exceptions = Exceptions([used, unused, expired, waiver("FL-51")], TODAY)
    parts = exceptions.marked([ALL])
    assert codes(exceptions, HostCase) == ["WV-01", "WV-02"]
    assert codes(exceptions, FlavorCase) == ["WV-02"]
    assert codes(exceptions) == []
    assert status_of(parts) == 0
    assert status_of(exceptions.faults([HostCase])) == 1


def test_an_expired_waiver_says_whether_it_is_still_needed() -> None:
    exceptions = Exceptions([waiver(expires=EARLIER)], TODAY)
    assert exceptions.faults([HostCase])[0].effect == "it waives nothing any more"
    exceptions.marked([ALL])
    assert exceptions.faults([HostCase])[0].effect == "what it waived counts again"


def known(*found: Finding) -> Baseline:
    names = {key_of(each): set(each.names) for each in found}
    return Baseline(names, names)


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        (ALL, ALL, [False]),
        (finding("host a2", "a2", "b1", "a1"), ALL, [False]),
        (finding("host a1", "a1"), ALL, [False, True]),
        (
            finding("host a1", "a1", what="core 3"),
            finding("host a1", "a1", what="core 5,7"),
            [False],
        ),
        (finding("host a1", "a1", what="core"), finding("host a1", "a1", what="node"), [True]),
        (finding("flavor m1", "a1"), finding("flavor m1", "a1", "a2"), [False, True]),
        (finding("flavor m1", "a1"), finding("flavor m1", "a2"), [True]),
        (
            finding("flavor m1", "a1", code="FL-20", what="a1 for one"),
            finding("flavor m1", "a0", "a1", code="FL-20", what="a0 for one"),
            [False],
        ),
        (
            finding("flavor m1", code="FL-46", what="a1 refuses"),
            finding("flavor m1", code="FL-46", what="a1 refuses; b1 refuses"),
            [False],
        ),
        (
            finding("fleet", "a", "b", what="a has no set"),
            finding("fleet", "b", what="b has no set"),
            [False],
        ),
        (finding("flavor m1", "a1", "a2"), finding("flavor m1", "a1"), [False]),
        (finding("flavor m1"), finding("flavor m2"), [True]),
        (finding("flavor m1"), finding("flavor m1"), [False]),
        (finding("flavor m1"), finding("flavor m1", code="FL-51"), [True]),
    ],
)
def test_only_what_is_new_counts(before: Finding, after: Finding, counts: list[bool]) -> None:
    parts = Exceptions((), TODAY, known(before)).marked([after])
    assert [part.counts for part in parts] == counts
    assert sorted(name for part in parts for name in part.names) == sorted(after.names)


def test_what_is_new_names_a_host_that_it_is_new_for() -> None:
    before = finding("fleet", "a1", what="a1 has no set")
    after = finding("fleet", "a1", "b1", what="a1 has no set")
    parts = Exceptions((), TODAY, known(before)).marked([after])
    assert [part.what for part in parts] == ["a1 has no set", "b1 has no set"]


def test_what_is_waived_and_known_is_both() -> None:
    baseline = Baseline({}, {}, {key_of(ALL): ALL.names})
    (part,) = Exceptions([waiver()], TODAY, baseline).marked([ALL])
    assert (part.waiver, part.known) == (waiver(), True)
    (part,) = Exceptions([], TODAY, baseline).marked([ALL])
    assert part.counts


NAMES = st.lists(st.sampled_from(["a1", "a2", "b1", "b2", "c"]), min_size=1, unique=True)
SCOPES = st.builds(
    lambda host, days: waiver(host=tuple(host), expires=TODAY + datetime.timedelta(days=days)),
    st.lists(st.sampled_from(["a*", "b1", "?2", "c", "d"]), max_size=2),
    st.integers(-1, 1),
)


@hypothesis.given(NAMES, st.lists(SCOPES, max_size=3), NAMES)
def test_no_host_gets_lost_and_none_counts_twice(
    names: list[str], waivers: list[Waiver], before: list[str]
) -> None:
    found = finding(f"host {names[0]}", *names)
    exceptions = Exceptions(waivers, TODAY, known(finding(f"host {before[0]}", *before)))
    parts = exceptions.marked([found])
    assert sorted(name for part in parts for name in part.names) == sorted(names)
    assert all(part.subject == f"host {part.names[0]}" for part in parts)
    assert exceptions.marked(parts) == parts
