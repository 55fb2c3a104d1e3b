# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How templates are filled in, and how a text is quoted in what they make."""

from __future__ import annotations

import json
import pathlib
import re
import textwrap
import typing as t

import jinja2
import yaml

from ...module_utils._read.errors import one_line

_WORDS = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]+(?: [A-Za-z0-9_.-]+)*")
_WIDTH = 100
_TEMPLATE = re.compile(r"\{[{%#]")


def fill(template: str, **values: t.Any) -> str:
    """Fill in a template of the folder beside this module."""
    return _ENVIRONMENT.get_template(template).render(**values)


def commented(text: str, rest: str = "") -> str:
    r"""Write a text as comment lines; those after the first start with ``rest``.

    >>> commented("a\nb")
    '# a b'
    """
    return "\n".join(
        textwrap.wrap(
            one_line(text),
            _WIDTH,
            initial_indent="# ",
            subsequent_indent=f"# {rest}",
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def yaml_text(value: str) -> str:
    r"""Write a text as YAML, one without line breaks; plain where every reader takes it as text.

    >>> yaml_text("pinned"), yaml_text("yes"), yaml_text('a"b')
    ('pinned', '"yes"', '"a\\"b"')
    """
    plain = _WORDS.fullmatch(value) and yaml.safe_load(value) == value
    return value if plain else json.dumps(value, ensure_ascii=False)


def ansible_text(value: str) -> str:
    """Write a text as YAML for Ansible, which would take some of it for a template.

    >>> ansible_text("{{ x }}")
    '!unsafe "{{ x }}"'
    """
    text = yaml_text(value)
    return f"!unsafe {text}" if _TEMPLATE.search(value) else text


def hcl_text(value: str) -> str:
    """Write a text as Terraform's language has it, with nothing of it a template.

    >>> hcl_text("a${b}")
    '"a$${b}"'
    """
    return json.dumps(value, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")


def from_hcl(text: str) -> str:
    """Read what :func:`hcl_text` wrote, or at least the bare text of what another hand did."""
    text = text.replace("$${", "${").replace("%%{", "%{")
    try:
        found: str = json.loads(text)
    except ValueError:
        return text.strip('"')
    return found


_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent / "templates"),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # Plain text, not HTML.
)
_ENVIRONMENT.filters.update(ansible=ansible_text, commented=commented, hcl=hcl_text, yaml=yaml_text)
