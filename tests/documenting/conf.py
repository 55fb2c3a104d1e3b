# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration of Sphinx for the documentation site, which ``make docs`` builds."""

from __future__ import annotations

import pathlib
import re
import typing as t
import zlib

if t.TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "pinguard.nova"
author = "Pinguard contributors"
copyright = author  # noqa: A001
extensions = ["myst_parser", "sphinx.ext.intersphinx", "sphinx_antsibull_ext"]
html_theme = "furo"
html_title = project
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
exclude_patterns = ["reference/environment_variables.rst"]
myst_heading_anchors = 3
highlight_language = "none"

ANSIBLE = {
    "action_plugins": "plugins/action.html",
    "common_return_values": "reference_appendices/common_return_values.html",
    **{
        f"ansible_collections.openstack.cloud.{name}_module": (
            f"collections/openstack/cloud/{name}_module.html"
        )
        for name in ("compute_flavor", "compute_flavor_info", "image_info", "server_info")
    },
}
"""Labels in Ansible's own documentation that the reference links to, and their pages."""


def _inventory() -> str:
    """Write the labels as Sphinx would fetch them from there, so that nothing is fetched."""
    head = "# Sphinx inventory version 2\n# Project: Ansible\n# Version: \n"
    lines = "".join(f"{name} std:label -1 {page} {name}\n" for name, page in ANSIBLE.items())
    path = pathlib.Path(__file__).resolve().parent.parent.parent / "build/site/ansible.inv"
    path.parent.mkdir(parents=True, exist_ok=True)
    about = "# The remainder of this file is compressed using zlib.\n"
    path.write_bytes((head + about).encode() + zlib.compress(lines.encode()))
    return str(path)


intersphinx_mapping = {"ansible": ("https://docs.ansible.com/ansible/latest/", _inventory())}


def setup(app: Sphinx) -> None:
    """Take out the lists of contents that antsibull-docs writes: the theme has its own."""
    app.connect("source-read", _without_contents)


def _without_contents(_app: Sphinx, _name: str, source: list[str]) -> None:
    source[0] = re.sub(r"^\.\. contents::.*\n(?: +:.*\n)*", "", source[0], flags=re.MULTILINE)
