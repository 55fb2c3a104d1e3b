# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look at the HTML reports in a real browser: ``real_browser.py FOLDER``.

FOLDER is the virtual environment that has axe-core. With ``SCREENSHOTS=FOLDER`` in the environment
pictures of what is looked at stay there.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import tempfile
import time
import typing as t

import chromium
from benching import fleet

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.gathering import Sources
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import (
    guest_report,
    plan_report,
    restart_report,
    run,
)

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
EVIL = "</script><script>hit()</script><img src=//evil.test/x onerror=hit()>'\"<svg/onload=hit()>"
MOST_BYTES = 5_000_000
MOST_SECONDS = 2.0
"""What the page of the large fleet may take."""
HOSTS, FLAVORS = 10_000, 1_000

Look = t.Callable[[chromium.Page, pathlib.Path], None]


def write(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """Let each command write its page."""
    made: dict[str, pathlib.Path] = {}

    def output(name: str) -> run.Output:
        made[name] = folder / f"{name}.html"
        return run.Output("never", {"html_path": str(made[name])})

    def given(**more: t.Any) -> Sources:
        paths = {"flavors": "flavors.yml", "images": "images.yml", **more}
        return Sources("27.1.0", facts="facts", folders=(str(EXAMPLES),), **paths)

    run.flavor_audit(given(), output("flavors"), "34.0.0")
    run.host_audit(given(), output("hosts"))
    guest_report.guest_audit(
        given(guests="guests", servers="realtime_servers.yml"), output("guests")
    )
    plan_report.upgrade_plan(given(servers="servers.yml"), "goal.yml", output("plan"))
    proposed = restart_report.Proposed({"vcpu_pin_set": None, "compute.cpu_dedicated_set": "4-7"})
    restart_report.restart_check(given(servers="servers.yml"), proposed, output("restart"))

    host = json.loads((EXAMPLES / "facts/cmp-03.json").read_text(encoding="utf-8"))
    specs = {"hw:cpu_realtime": "yes", "hw:cpu_polcy": EVIL}
    flavor = {"name": EVIL, "vcpus": 2, "ram": 1024, "disk": 0, "extra_specs": specs}
    run.flavor_audit(
        Sources("27.1.0", {f"{EVIL}{n}": host for n in range(3)}, flavors=[flavor]),
        output("hostile"),
    )
    large = folder / "large"
    large.mkdir()
    fleet.write(large, HOSTS, FLAVORS)
    run.flavor_audit(
        Sources("34.0.0", facts=str(large / "facts"), flavors=str(large / "flavors.json")),
        output("large"),
    )
    return made


def shown(page: chromium.Page, selector: str) -> int:
    """Count what is found and not hidden."""
    found = f"[...document.querySelectorAll({json.dumps(selector)})]"
    return int(page.run(f"{found}.filter(each => each.checkVisibility()).length"))


def text(page: chromium.Page, selector: str) -> str:
    return str(page.run(f"document.querySelector({json.dumps(selector)}).textContent"))


def enter(page: chromium.Page, selector: str, words: str) -> None:
    """Type into a field, and give the page the time to follow."""
    page.click(selector)
    page.run(f"document.querySelector({json.dumps(selector)}).select()")
    page.type(words)
    page.run("new Promise(done => setTimeout(() => done(0), 250))")


def quiet(page: chromium.Page, path: pathlib.Path) -> None:
    """Nothing but the file was asked for, nothing failed and nothing popped up."""
    requests = {
        each["params"]["request"]["url"]
        for each in page.events
        if each["method"] == "Network.requestWillBeSent"
    }
    assert requests == {path.as_uri()}, requests
    loud = ("Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening")
    assert not [each for each in page.events if each["method"] in loud]


def accessible(page: chromium.Page, axe: str) -> None:
    """axe-core finds nothing serious, in either theme, with everything opened that opens."""
    page.run(
        "document.querySelectorAll('details').forEach(each => { each.open = true; });"
        "document.querySelectorAll('.open').forEach(each => each.click())"
    )
    for scheme in ("light", "dark"):
        page.media(scheme)
        page.settle()
        page.run(axe)
        found = page.run("axe.run().then(found => found.violations)")
        bad = [each for each in found if each["impact"] in ("serious", "critical")]
        told = [
            f"{scheme} {each['id']}: {each['nodes'][0]['html'][:200]} "
            f"{each['nodes'][0]['failureSummary'][:300]}"
            for each in bad
        ]
        assert not told, "\n".join(told)
    page.media("light")


def narrow_screen(page: chromium.Page, _path: pathlib.Path) -> None:
    """A small screen needs no scrolling sideways, but within tables."""
    page.resize(360, 800)
    page.settle()
    wide = page.run(
        "[...document.querySelectorAll('body *')].filter(each => !each.closest('.wide, pre, .skip')"
        " && each.getBoundingClientRect().right > 360).map(each => each.outerHTML.slice(0, 200))"
    )
    page.resize(1280, 900)
    assert not wide, wide[:5]


def filters(page: chromium.Page, _path: pathlib.Path) -> None:
    total = int(text(page, "#count").split()[2])
    errors = shown(page, "#list > .error")
    assert 0 < errors < total
    page.click("[name=severity][value=error]")
    assert shown(page, "#list > li") == total - errors
    assert text(page, "#count").startswith(f"{total - errors} of {total} ")
    page.click("#filters [type=reset]")
    page.settle()
    assert shown(page, "#list > li") == min(total, 50)

    page.run("document.querySelector('#rule').focus()")
    page.press("ArrowDown", 40)
    page.press("Enter", 13)
    page.settle()
    code = page.run("document.querySelector('#rule').value")
    assert code
    assert 0 < shown(page, "#list > li") < total
    assert page.run(
        f"[...document.querySelectorAll('#list h3')].every(h => h.textContent.includes('{code}'))"
    )
    page.click("#filters [type=reset]")

    enter(page, "#text", "mask.only")
    assert 0 < shown(page, "#list > li") < total
    enter(page, "#text", "no such words")
    assert shown(page, "#list > li") == 0
    page.click("#filters [type=reset]")

    columns, maps = shown(page, "#matrix thead th"), shown(page, "#maps figure")
    enter(page, "#host", "CMP-03")
    assert (columns, shown(page, "#matrix thead th")) == (9, 2)
    assert (maps, shown(page, "#maps figure"), shown(page, "#hosts tbody tr")) == (8, 1, 1)
    assert text(page, "#narrowed") == "1 class of hosts match."
    threads = "[...document.querySelectorAll('#threads li[data-classes]:not([hidden])')]"
    narrowed = page.run(f"{threads}.length")
    assert 0 < narrowed < page.run("document.querySelectorAll('#threads li[data-classes]').length")
    enter(page, "#name", "rt.")
    found = page.run(
        "[...document.querySelectorAll('#list h3 span:last-child')].map(h => h.innerText)"
    )
    codes = {each.partition(":")[0] for each in found}
    assert {"HC-22", "HC-29", "HC-38", "FL-08", "FL-11"} <= codes, codes
    assert page.run(f"{threads}.every(li => li.dataset.names.includes('rt.'))")
    enter(page, "#name", "no such name")
    assert page.run(f"{threads}.length") == 0
    page.click("#narrow [type=reset]")
    page.settle()
    enter(page, "#name", "rt.small")
    assert 0 < shown(page, "#matrix tbody tr") < 6
    page.click("#narrow [type=reset]")
    page.settle()
    assert shown(page, "#matrix thead th") == 9


def steps(page: chromium.Page, _path: pathlib.Path) -> None:
    total = shown(page, ".timeline > li")
    enter(page, "#host", "cmp-08")
    assert (shown(page, "#maps figure"), 0 < shown(page, ".timeline > li") < total) == (1, True)
    page.click("#narrow [type=reset]")
    page.settle()
    assert shown(page, ".timeline > li") == total


def matrix(page: chromium.Page, _path: pathlib.Path) -> None:
    page.click("#matrix tbody .open")
    assert shown(page, "#matrix .why li") >= 2
    assert page.run("document.querySelector('.open').getAttribute('aria-expanded')") == "true"
    page.click("#matrix tbody .open")
    assert shown(page, "#matrix .why") == 0
    rows = shown(page, "#matrix tbody tr")
    page.click("[name=matrix][value='1']")
    label = page.run("document.querySelector('#matrix').getAttribute('aria-label')")
    assert (label, shown(page, "#matrix tbody tr")) == ("Flavors on hosts, at Nova 34.0.0", rows)
    page.click("[name=matrix][value='0']")


def copying(page: chromium.Page, _path: pathlib.Path) -> None:
    fix = page.run("document.querySelector('#list .code pre').textContent")
    page.click("#list .copy")
    page.run("new Promise(done => setTimeout(() => done(0), 200))")
    assert text(page, "#said") == "Text copied"
    page.run("document.querySelector('#text').value = ''")
    page.click("#text")
    page.run("document.execCommand('paste')")
    assert fix
    page.click("#copy-all")
    page.run("new Promise(done => setTimeout(() => done(0), 200))")
    assert text(page, "#said").endswith("fixes copied")


def themes(page: chromium.Page, _path: pathlib.Path) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.run(colour)
    page.media("dark")
    dark = page.run(colour)
    assert light != dark
    page.click("#theme")
    page.media("light")
    assert page.run(colour) == dark
    page.click("#theme")
    page.media("dark")
    assert page.run(colour) == light
    page.click("#theme")
    assert page.run(colour) == dark
    page.media("light")


def keyboard(page: chromium.Page, path: pathlib.Path) -> None:
    page.open(path)
    page.press("Tab", 9)
    assert text(page, ":focus") == "Skip to the report"
    page.press("Enter", 13)
    assert page.run("document.activeElement.id") == "main"
    page.open(path)
    reached: list[str] = []
    for _stop in range(120):
        page.press("Tab", 9)
        reached.append(page.run("document.activeElement.id || document.activeElement.className"))
        assert page.run(
            "document.activeElement === document.body"
            " || getComputedStyle(document.activeElement).outlineStyle !== 'none'"
        ), reached[-1]
    assert {"theme", "host", "name", "rule", "text", "copy-all", "open", "copy"} <= set(reached)
    page.run("document.querySelector('#matrix .open').focus()")
    page.press(" ", 32)
    assert shown(page, "#matrix .why") == 1
    page.run("document.querySelector('#maps summary').focus()")
    page.press("Enter", 13)
    assert "NUMA" not in text(page, "#maps details pre")
    assert "thread 0" in page.run("document.querySelector('#maps details[open] pre').innerText")


def landmarks(page: chromium.Page, _path: pathlib.Path) -> None:
    """What a screen reader is told: landmarks, headings, live counts, names of the drawings."""
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = [each["role"]["value"] for each in nodes if not each["ignored"]]
    assert {"banner", "navigation", "main", "contentinfo", "search", "status"} <= set(roles)
    drawings = [each for each in nodes if each["role"]["value"] in ("image", "img")]
    names = [each["name"]["value"] for each in drawings if not each["ignored"]]
    assert sum(name.startswith("Map of the CPUs: ") for name in names) == 8
    assert roles.count("columnheader") >= 16


def harmless(page: chromium.Page, path: pathlib.Path) -> None:
    page.call("Page.addScriptToEvaluateOnNewDocument", {"source": "window.hit = () => alert(1)"})
    page.open(path)
    page.click("#matrix tbody .open")
    page.settle()
    quiet(page, path)
    assert EVIL in text(page, "#matrix .open")
    assert EVIL in text(page, "#list")
    assert EVIL in text(page, "#maps figcaption")
    assert page.run("document.querySelectorAll('img, [onerror], [onload]').length") == 0
    # The policy stops a script even where one gets in.
    page.run(
        "document.body.append(Object.assign(document.createElement('script'),"
        " {textContent: 'window.ran = 1'}))"
    )
    assert page.run("window.ran") is None


def large(page: chromium.Page, path: pathlib.Path) -> None:
    size = path.stat().st_size
    took = sorted(page.open(path) for _time in range(3))
    print(f"browser: {HOSTS} hosts and {FLAVORS} flavors: {size} bytes, opens in {took[1]:.2f} s")
    assert size < MOST_BYTES
    assert took[1] < MOST_SECONDS
    assert shown(page, "#list > li") == 50
    page.click("#list-more")
    assert shown(page, "#list > li") == 100
    assert page.run("document.activeElement.matches('#list > li:nth-child(51)')")
    start = time.perf_counter()
    enter(page, "#host", "compute00007")
    print(
        f"browser: narrowed to a host in {time.perf_counter() - start:.2f} s, with a wait of 0.25"
    )
    assert (shown(page, "#hosts tbody tr"), shown(page, "#maps figure")) == (1, 1)
    page.click("#narrow [type=reset]")
    page.settle()
    assert shown(page, "#maps figure") == 30


LOOKS: dict[str, tuple[Look, ...]] = {
    "flavors": (filters, matrix, copying, themes, keyboard, landmarks),
    "hosts": (),
    "guests": (),
    "plan": (steps,),
    "restart": (),
    "hostile": (harmless,),
    "large": (large,),
}
"""What is looked at beyond what holds for every page."""


def main(environment: pathlib.Path) -> int:
    """Look at everything; give the exit status."""
    reason = chromium.why_not()
    if reason:
        print(f"browser: skipped, {reason}")
        return int(os.environ.get("BROWSER") == "force")
    axe = next(environment.rglob("axe.min.js")).read_text(encoding="utf-8")
    shots = os.environ.get("SCREENSHOTS")
    passed, failures = 0, []
    with tempfile.TemporaryDirectory() as folder, chromium.running() as page:
        made = write(pathlib.Path(folder))
        page.resize(1280, 900)
        page.media("light")
        for name, path in made.items():
            every: tuple[Look, ...] = (quiet, narrow_screen)
            if name != "large":  # The same as that of the flavors, and long to look through.
                every = (*every, lambda page, _path: accessible(page, axe))
            for look in (*every, *LOOKS[name]):
                page.open(path)
                try:
                    look(page, path)
                    passed += 1
                except (AssertionError, chromium.Refused) as error:
                    failures.append(f"{name}, {look.__name__}: {error!r}, line {line(error)}")
            if shots:
                page.open(path)
                page.shoot(pathlib.Path(shots) / f"{name}.png", whole=True)
    for failure in failures:
        print(f"browser: FAILED {failure}")
    print(f"browser: {passed} passed, {len(failures)} failed")
    return int(bool(failures))


def line(error: BaseException) -> int:
    """Find the line of this file that an error comes from."""
    found, trace = 0, error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == __file__:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
