# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import dataclasses
import datetime
import hashlib
import html.parser
import json
import pathlib
import re
import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import Sources
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import (
    cpu_drawing,
    guest_report,
    html_report,
    plan_report,
    restart_report,
    run,
)

HIDDEN = "\u202e"
EVIL = f"</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>'\"&amp;{HIDDEN}x"
VOID = {"meta", "rect", "path", "circle", "input"}


class Tree(html.parser.HTMLParser):
    """Elements with their attributes; every one that is opened must be closed in its turn."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def count(self, tag: str) -> int:
        return sum(tag == each for each, _attributes in self.tags)


def pages(
    tmp_path: pathlib.Path, host: dict[str, t.Any], flavor: dict[str, t.Any], name: str = "cmp"
) -> dict[str, str]:
    """Let each command that has a page of its own write it."""
    named = {f"{name}{number}": host for number in (1, 2)}
    given = Sources("27.1.0", named, flavors=[flavor], servers=[])
    goal = {"hosts": [{"match": "*", "wish": {"shared_cores": 1}}]}
    xml = {"vcpus": 1, "cputune": {"vcpupin": {"0": "2"}, "emulatorpin": "2-3"}}
    guest = {"id": "6f3c0000-0000-4000-8000-000000000001", "name": name, "running": True}
    told = {"format": 1, "domains": [{**guest, "live": xml, "persistent": xml}]}
    guests = dataclasses.replace(given, guests={f"{name}1": told})
    sets = restart_report.Proposed({"compute.cpu_dedicated_set": "1-3"})
    commands: dict[str, t.Callable[[run.Output], object]] = {
        "flavor": lambda output: run.flavor_audit(given, output, "34.0.0"),
        "host": lambda output: run.host_audit(given, output),
        "plan": lambda output: plan_report.upgrade_plan(given, goal, output),
        "restart": lambda output: restart_report.restart_check(given, sets, output),
        "guest": lambda output: guest_report.guest_audit(guests, output),
    }
    made = {}
    for command, audit in commands.items():
        path = tmp_path / f"{command}.html"
        audit(run.Output("never", {"html_path": str(path)}))
        made[command] = path.read_text(encoding="utf-8")
    return made


def page_of(tmp_path: pathlib.Path, sources: Sources) -> tuple[str, dict[str, t.Any]]:
    """Let flavor_audit write its page: that, and its result."""
    path = tmp_path / "page.html"
    result = run.flavor_audit(sources, run.Output("never", {"html_path": str(path)}))
    return path.read_text(encoding="utf-8"), result


def embedded(page: str) -> dict[str, t.Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return t.cast("dict[str, t.Any]", json.loads(found[1]))


def test_pages_are_well_formed_and_load_nothing(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    for page in pages(tmp_path, host, pinned).values():
        tree = Tree(page)
        assert tree.count("main") == tree.count("h1") == 1
        links = {each.get("src") or each.get("href") for _tag, each in tree.tags} - {None}
        ids = [each["id"] for _tag, each in tree.tags if "id" in each]
        assert len(ids) == len(set(ids))
        assert links <= {f"#{each}" for each in ids}


def test_hostile_names_stay_text(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    flavor = {**pinned, "name": EVIL, "extra_specs": {"hw:cpu_realtime": "yes"}}
    for page in pages(tmp_path, host, flavor, EVIL).values():
        tree = Tree(page)
        assert tree.count("script") == 2
        assert not tree.count("img")
        assert HIDDEN not in page
        assert "\\u202e" not in page
        names = embedded(page)["classes"][0]["names"]
        assert names[0].startswith(EVIL.replace(HIDDEN, "?"))


def test_only_its_own_script_and_style_may_run(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    tree = Tree(page_of(tmp_path, Sources("34.0.0", {"h": host}, flavors=[pinned]))[0])
    policies = [each for tag, each in tree.tags if tag == "meta" and "http-equiv" in each]
    policy = policies[0]["content"] or ""
    assert policy.startswith("default-src 'none'")
    for kind in ("style", "script"):
        source = tree.texts[kind][-1].encode()
        digest = base64.b64encode(hashlib.sha256(source).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_equal_hosts_rows_and_columns_stand_together(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    flavors = [{**pinned, "name": f"f{number}"} for number in range(100)]
    other = {**host, "nova": {"options": {"compute.cpu_shared_set": "0-3"}}}
    named = {f"h{number:04}": other if number % 10 else host for number in range(3000)}
    page, _result = page_of(tmp_path, Sources("34.0.0", named, flavors=flavors))
    data = embedded(page)
    assert [len(each["names"]) for each in data["classes"]] == [300, 2700]
    assert [len(row["names"]) for row in data["matrices"][0]["rows"]] == [100]
    assert Tree(page).count("figure") == 2
    assert len(page) < 200_000


def test_the_page_has_the_text_report_where_scripts_are_off(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    page, result = page_of(tmp_path, Sources("34.0.0", {"h": host}, flavors=[pinned]))
    assert result["report"] in "".join(Tree(page).texts["pre"])


def test_a_map_has_who_is_where_and_what_changes(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    made = pages(tmp_path, host, pinned, "vm")
    assert "a vCPU is pinned here (vm vCPU 0)" in made["guest"]
    assert "emulator threads of a guest may run here (vm)" in made["guest"]
    assert "; before: " in made["restart"]
    assert made["restart"].count("<h3>Before</h3>") == 1


@pytest.mark.parametrize(("limit", "columns"), [(1, (1, 1)), (10**6, (2, 0))])
def test_columns_beyond_the_limit_are_counted(
    limit: int,
    columns: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: pathlib.Path,
    host: dict[str, t.Any],
    pinned: dict[str, t.Any],
) -> None:
    monkeypatch.setattr(html_report, "MOST_CELLS", limit)
    other = {**host, "nova": {"options": {"compute.cpu_shared_set": "0-3"}}}
    page, _result = page_of(tmp_path, Sources("34.0.0", {"a": host, "b": other}, flavors=[pinned]))
    matrix = embedded(page)["matrices"][0]
    assert (len(matrix["columns"]), matrix["left_out"]) == columns


def test_maps_beyond_the_limit_are_counted(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: pathlib.Path,
    host: dict[str, t.Any],
    pinned: dict[str, t.Any],
) -> None:
    monkeypatch.setattr(cpu_drawing, "MOST", 1)
    other = {**host, "nova": {"options": {"compute.cpu_shared_set": "0-3"}}}
    page, _result = page_of(tmp_path, Sources("34.0.0", {"a": host, "b": other}, flavors=[pinned]))
    assert Tree(page).count("figure") == 1
    assert "The maps of 1 more are left out" in page


def test_what_is_waived_stays_and_comes_last(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    wrong = [
        {**pinned, "name": name, "extra_specs": {"hw:cpu_realtime": "yes"}} for name in ("a", "b")
    ]
    given = Sources("34.0.0", {"h": host}, flavors=wrong)
    _page, result = page_of(tmp_path, given)
    code = result["findings"][0]["code"]
    waivers = tmp_path / "waivers.yml"
    waivers.write_text(
        f"format: 1\nwaivers: [{{rule: {code}, scope: {{flavor: a}}, reason: known, owner: me,"
        " expires: 2027-01-01}]",
        encoding="utf-8",
    )
    exceptions = run.exceptions(str(waivers), None, (), datetime.date(2026, 1, 1))
    path = tmp_path / "waived.html"
    run.flavor_audit(given, run.Output("never", {"html_path": str(path)}, exceptions=exceptions))
    found = embedded(path.read_text(encoding="utf-8"))["findings"]
    assert [each["subjects"] for each in found if each["code"] == code] == [["b"], ["a"]]
    assert found[-1]["standing"].endswith("by me: known")


def test_only_what_is_there_can_be_narrowed(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    made = pages(tmp_path, host, pinned)
    names = {"flavor": ["Flavor"], "guest": ["Guest"], "host": [], "plan": [], "restart": []}
    for command, labels in names.items():
        assert re.findall(r"<label>(.+) <input id=.name.", made[command]) == labels


def test_sets_that_nova_refuses_are_told_as_such(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    options = {"compute.cpu_shared_set": "0-1 # two", "compute.cpu_dedicated_set": "2-3"}
    broken = {**host, "nova": {"options": options}}
    page, _result = page_of(tmp_path, Sources("34.0.0", {"a": broken}, flavors=[pinned]))
    assert '"note">shared unreadable, dedicated 2-3; Nova refuses them<' in page
    assert page.count('<p class="fault">nova-compute does not start: Invalid') == 1


def test_emulator_threads_say_what_they_are_narrowed_by(
    tmp_path: pathlib.Path, host: dict[str, t.Any], pinned: dict[str, t.Any]
) -> None:
    specs = {**pinned["extra_specs"], "hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "^0"}
    flavor = {**pinned, "name": "rt", "extra_specs": specs}
    page, _result = page_of(tmp_path, Sources("34.0.0", {"h": host}, flavors=[flavor]))
    lines = [each for tag, each in Tree(page).tags if tag == "li" and "data-names" in each]
    assert len(lines) == 2
    assert {(each["data-classes"], each["data-names"]) for each in lines} == {("0", '["rt"]')}


def test_pages_of_findings_count_what_is_waived(
    tmp_path: pathlib.Path, host: dict[str, t.Any]
) -> None:
    waivers = tmp_path / "waivers.yml"
    waivers.write_text(
        "waivers: [{rule: FU-01, reason: so, owner: me, expires: 2027-01-01}]", encoding="utf-8"
    )
    path = tmp_path / "restart.html"
    restart_report.restart_check(
        Sources("34.0.0", {"h": host}, servers=[]),
        restart_report.Proposed({"compute.cpu_dedicated_set": "0-3"}),
        run.Output(
            "never",
            {"html_path": str(path)},
            exceptions=run.exceptions(str(waivers), None, (), datetime.date(2026, 1, 1)),
        ),
    )
    assert "<dt>waived</dt><dd>1</dd>" in path.read_text(encoding="utf-8")
