# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import documents
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import catalog
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import (
    audit,
    audit_hosts,
    new_findings,
    upgraded,
)


def fleet(host: dict[str, t.Any], *flavors: dict[str, t.Any], **more: t.Any) -> t.Any:
    entry = {"names": ["a1", "a2"], **host}
    return documents.fleet(
        {"hosts": [entry], "flavors": list(flavors), "scheduler": {"release": "27.1.0"}, **more}
    )


def test_the_catalogue_holds_every_rule() -> None:
    folder = pathlib.Path(catalog.__file__).parent
    files = sorted(
        path.stem for kind in ("dm", "fl", "hc", "fu", "wv") for path in folder.glob(f"{kind}_*.py")
    )
    assert [rule.check.__module__.rpartition(".")[2] for rule in catalog.RULES] == files
    codes = [rule.code for rule in catalog.RULES]
    assert len(set(codes)) == len(codes)


def test_hosts_are_looked_at_by_class(host: dict[str, t.Any], pinned: dict[str, t.Any]) -> None:
    result = audit(fleet(host, pinned))
    assert [case.names for case in result.hosts] == [("a1", "a2")]
    assert [len(row.outcomes) for row in result.rows] == [1]


def test_an_image_gets_a_row_where_it_makes_a_difference(
    host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    images = [
        {"name": "same", "properties": {"hw_disk_bus": "virtio"}},
        {"name": "other", "properties": {"hw_cpu_thread_policy": "isolate"}},
    ]
    result = audit(fleet(host, pinned, images=images))
    assert [row.image.name for row in result.rows] == ["", "other"]


def test_equal_flavors_have_equal_outcomes_under_their_own_names(
    host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    result = audit(fleet(host, pinned, {**pinned, "name": "twin"}))
    assert [row.flavor.name for row in result.rows] == ["pinned", "twin"]
    assert result.rows[0].outcomes is result.rows[1].outcomes


def test_findings_are_in_order_and_make_the_status(
    host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    wrong = {**pinned, "name": "wrong", "extra_specs": {"hw:cpu_realtime": "yes"}}
    result = audit(fleet(host, wrong, pinned))
    order = [
        (["error", "warning", "info"].index(finding.severity.value), finding.code, finding.subject)
        for finding in result.findings
    ]
    assert order == sorted(order)
    assert result.findings[0].subject == "flavor wrong"
    assert result.status == 2


def test_progress_is_told(host: dict[str, t.Any], pinned: dict[str, t.Any]) -> None:
    told: list[tuple[int, int]] = []
    audit(fleet(host, pinned), lambda done, total: told.append((done, total)))
    assert told == [(1, 1)]


def test_hosts_alone_have_no_rows(host: dict[str, t.Any]) -> None:
    result = audit_hosts(fleet(host))
    assert not result.rows
    assert all(finding.subject.startswith("host ") for finding in result.findings)


def test_an_upgrade_makes_classes_one(host: dict[str, t.Any]) -> None:
    old = {**host, "name": "b", "release": "26.0.0"}
    mixed = documents.fleet({"hosts": [{**host, "name": "a"}, old]}, "27.1.0")
    then = upgraded(mixed, "34.0.0")
    assert [each.names for each in then.classes] == [("a", "b")]
    assert then.scheduler.release == "34.0.0"


def test_what_is_known_is_not_new(host: dict[str, t.Any], pinned: dict[str, t.Any]) -> None:
    result = audit(fleet(host, pinned))
    assert new_findings(result, result) == ()
    assert new_findings(audit_hosts(fleet(host)), result) == tuple(
        finding for finding in result.findings if finding.subject.startswith("flavor ")
    )


def test_what_is_found_on_more_hosts_is_new_for_these(host: dict[str, t.Any]) -> None:
    every = audit_hosts(documents.fleet({"hosts": [{**host, "name": n} for n in "abc"]}, "27.1.0"))
    one = audit_hosts(documents.fleet({"hosts": [{**host, "name": "b"}]}, "27.1.0"))
    found = new_findings(one, every)
    assert found
    assert {(each.subject, each.names) for each in found} == {("host a", ("a", "c"))}


def test_an_unknown_release_is_refused(host: dict[str, t.Any]) -> None:
    with pytest.raises(InputError, match="no release of Nova"):
        upgraded(fleet(host), "x")
