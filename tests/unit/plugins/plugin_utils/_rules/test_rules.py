# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every rule owes: an example that it finds, one near to it that it does not, and its page."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils import _rules
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.catalog import RULES
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import (
    Case,
    Detail,
    Severity,
)

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import Rule

MODULE = re.compile(r"(dm|fl|fu|hc|wv)_[0-9]{2}_[a-z0-9_]+")
"""Name of a rule's file: its code, then its slug."""


def folder() -> pathlib.Path:
    return pathlib.Path(str(inspect.getfile(_rules))).parent


def modules() -> dict[str, t.Any]:
    """Map the name of each rule's file to its module."""
    names = sorted(path.stem for path in folder().glob("*.py") if MODULE.fullmatch(path.stem))
    return {name: importlib.import_module(f"{_rules.__name__}.{name}") for name in names}


def module_of(rule: Rule[t.Any]) -> t.Any:
    return next(module for module in modules().values() if module.RULE is rule)


def code_of(rule: Rule[t.Any]) -> str:
    return rule.code


@pytest.fixture(params=RULES, ids=code_of)
def rule(request: pytest.FixtureRequest) -> Rule[t.Any]:
    return t.cast("Rule[t.Any]", request.param)


def found(rule: Rule[t.Any], case: t.Any) -> list[Detail]:
    assert isinstance(case, rule.subject)
    return list(rule.check(case))


def test_its_bad_example_is_found(rule: Rule[t.Any]) -> None:
    details = found(rule, rule.bad())
    assert details
    for detail in details:
        assert detail.what.strip()
        assert detail.effect.strip()
        assert detail.fix.strip()


def test_its_good_example_is_not_found(rule: Rule[t.Any]) -> None:
    assert found(rule, rule.good()) == []


def test_its_page_has_a_title_and_a_source(rule: Rule[t.Any]) -> None:
    page = inspect.getdoc(module_of(rule)) or ""
    title, _rest, body = page.partition("\n\n")
    assert re.fullmatch(r"\S.*\S\.", title)
    assert re.fullmatch(r"\S.*[^\s.]", rule.title)
    assert re.search(r"^Source: \S", body, re.MULTILINE)
    assert body.split("Source:")[0].strip()


def test_its_file_is_named_by_its_code(rule: Rule[t.Any]) -> None:
    name = module_of(rule).__name__.rpartition(".")[2]
    assert name.startswith(rule.code.lower().replace("-", "_") + "_")


def test_its_subject_and_severity_are_known(rule: Rule[t.Any]) -> None:
    assert rule.subject in Case.__constraints__
    assert rule.severity in Severity


def test_codes_are_unique_and_in_order() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes))


def test_the_catalog_lists_every_file() -> None:
    assert list(RULES) == [module.RULE for module in modules().values()]
