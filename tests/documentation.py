# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the documentation site below ``build/site``: ``PYTHONPATH=build documentation.py``.

Guides come from ``docs``; pages of rules, formats and releases are made from the sources, and those
of modules, filters and roles by antsibull-docs. Warnings are errors. Nothing is fetched.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

from documenting import formats, releases, rules

ROOT = pathlib.Path(__file__).resolve().parent.parent
SITE = ROOT / "build/site"
SPHINX = ("-q", "-W", "--keep-going", "-j", "auto")
GENERATED = {
    "rules/index.md": "Rules",
    "reference/index.rst": "Modules, filters, tests and roles",
    "formats/index.md": "File formats",
    "releases.md": "What changed in Nova when",
}
"""Pages that are not in ``docs``, with their names in the menu."""

LINKS = (
    (r"rules\.md#(\w\w)-(\d\d)", r"rules/\1-\2.md"),
    (r"rules\.md", "rules/index.md"),
    (r"\.\./plugins/plugin_utils/_nova/releases\.py", "releases.md"),
    (r"\.\./plugins/plugin_utils/_\w+/schemas/(\w+)\.json", r"formats/\1.md"),
    (r"\.\./plugins/plugin_utils/_\w+/schemas", "formats/index.md"),
    (r"\.\./roles/(\w+)/README\.md", r"reference/\1_role.rst"),
    (r"\.\./README\.md#files", "formats/index.md"),
    (r"\.\./README\.md", "index.md"),
    (r"\.\./(CONTRIBUTING\.md|CHANGELOG\.rst)", r"\1"),
)
"""Where links of the guides, which hold in the repository, lead within the site."""


def main() -> int:
    source, trees = SITE / "source", SITE / "doctrees"
    # Each page has the menu, and with it the titles of others.
    anew = ["-a"] if _write(source, pages()) else []
    _run(
        "antsibull-docs",
        *("--config-file", str(ROOT / "tests/documenting/antsibull.cfg")),
        *["collection", "--use-current", "--squash-hierarchy", "--no-breadcrumbs"],
        *["--no-add-antsibull-docs-version", "--fail-on-error", "--cleanup", "everything"],
        *("--dest-dir", str(source / "reference"), "pinguard.nova"),
    )
    places = ["-c", str(ROOT / "tests/documenting"), "-d", str(trees), str(source)]
    try:
        _run("sphinx-build", *SPHINX, *anew, *places, str(SITE / "html"))
    except SystemExit:
        # A page that was warned about would not be warned about again.
        shutil.rmtree(trees, ignore_errors=True)
        raise
    print(f"docs: {SITE / 'html/index.html'}")
    return 0


def _write(folder: pathlib.Path, texts: dict[str, str]) -> bool:
    """Write what differs, and delete what is no longer there; tell whether there was any."""
    changed = False
    for old in folder.rglob("*.*"):
        name = str(old.relative_to(folder))
        if old.is_file() and name not in texts and not name.startswith("reference/"):
            old.unlink()
            changed = True
    for name, text in texts.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            changed = True
    (folder / "reference").mkdir(exist_ok=True)
    return changed


def pages() -> dict[str, str]:
    """Give every page that is made or taken from ``docs``, by its path within the site."""
    guides = {
        path.name: linked(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "docs").glob("*.md"))
        if path.name not in ("rules.md", "index.md")
    }
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    guides["CONTRIBUTING.md"] = linked(contributing.replace("](docs/", "]("))
    guides["CHANGELOG.rst"] = (ROOT / "CHANGELOG.rst").read_text(encoding="utf-8")
    made = rules.pages() | formats.pages() | releases.pages()
    return {"index.md": index(list(guides))} | guides | made


def linked(text: str) -> str:
    """Lead the links of a guide to the pages of the site.

    >>> linked("[HC-12](rules.md#hc-12), [role](../roles/audit/README.md)")
    '[HC-12](rules/hc-12.md), [role](reference/audit_role.rst)'

    Files of the example are not in it, and are named only.

    >>> linked("[examples/flavors.yml](../examples/flavors.yml)")
    '`examples/flavors.yml`'
    """
    text = re.sub(r"\[`?([^\]`]+)`?\]\(\.\./examples/[\w./-]+\)", r"`\1`", text)
    for old, new in LINKS:
        text = re.sub(rf"\]\({old}\)", rf"]({new})", text)
    return text


def index(guides: list[str]) -> str:
    """Make the first page: ``docs/index.md``, what is generated, and all of it as a menu.

    Guides that it does not name come after those that it names.
    """
    text = linked((ROOT / "docs/index.md").read_text(encoding="utf-8")).rstrip()
    parts = re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    menus = {
        heading: {page: title for title, page in re.findall(r"\[(.+?)\]\(([\w./-]+)\)", part)}
        for heading, part in parts
    }
    named = {page for pages in menus.values() for page in pages}
    menus["More"] = {page: "" for page in guides if page not in named}
    menus["Reference"] = GENERATED
    listed = "".join(f"- [{title}]({page})\n" for page, title in GENERATED.items())
    trees = "".join(_menu(heading, pages) for heading, pages in menus.items() if pages)
    return f"{text}\n\n## Reference\n\n{listed}\n{trees}"


def _menu(heading: str, pages: dict[str, str]) -> str:
    """List pages in the menu; one without a name has its own title there."""
    lines = [f"{title} <{page}>" if title else page for page, title in pages.items()]
    return f"```{{toctree}}\n:hidden:\n:caption: {heading}\n\n" + "\n".join(lines) + "\n```\n\n"


def _run(*command: str) -> None:
    """Run a tool of the environment that runs this; its failure ends the build."""
    tool, *arguments = command
    python = pathlib.Path(sys.executable).parent
    done = subprocess.run(
        [str(python / tool), *arguments],
        cwd=ROOT,
        env=os.environ | {"PATH": os.pathsep.join([str(python), os.environ["PATH"]])},
        check=False,
    )
    if done.returncode:
        sys.exit(f"docs: {tool} failed")


if __name__ == "__main__":
    sys.exit(main())
