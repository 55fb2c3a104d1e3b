# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A list of CPUs cannot be read, or names no CPU.

Nova knows ids, rising ranges, commas and ^ for exclusions; an exclusion takes from what the same
list names, so exclusions alone leave nothing. There are no open ends, steps, blanks in place of
commas or nested quotes.

Source: ``nova/virt/hardware.py``, ``parse_cpu_spec``, ``get_cpu_shared_set`` and its like.
"""

from __future__ import annotations

import re
import typing as t

from ...module_utils._read.cpu_list import CpuListError, parse_nova, to_text
from ...module_utils._read.errors import quoted
from . import hosts
from .examples import a_host, legacy
from .rule import Detail, HostCase, Rule, Severity

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.topology import Topology

_OTHERS = re.compile(r"[#;]|\n\s*[A-Za-z_][\w.-]*\s*[=:]")
"""What HC-60 and HC-63 speak of: comments and keys within a value."""


def _check(case: HostCase) -> Iterator[Detail]:
    for option, value in hosts.read_options(case):
        if _OTHERS.search(value) or hosts.listed(case, option):
            continue
        guess = _guess(value, case.host.topology)
        section = "DEFAULT" if option == "vcpu_pin_set" else "compute"
        yield Detail(
            f"{option} = {quoted(value)}: {_fault(value)}",
            "nova-compute does not start: Invalid",
            f"[{section}]\n{option} = {guess}\n(a guess at what was meant: compare before use)"
            if guess
            else f"write {option} as ids and rising ranges with commas between them (0-7,^3)",
            case.host.config.where(option),
        )


def _fault(value: str) -> str:
    for item in filter(None, map(str.strip, value.split(","))):
        try:
            parse_nova(item)
        except CpuListError as error:
            return f"in {quoted(item)}, {error.what}" if item.startswith("^") else error.what
    if all(item.strip().startswith("^") for item in value.split(",") if item.strip()):
        return "exclusions without anything to exclude from leave no CPU"
    return "no CPU is left"


def _guess(value: str, machine: Topology) -> str:
    """Repair the usual slips; "" where the result would not be a list for this host."""
    last = machine.present.bit_length() - 1
    text = re.sub(r"[\"'\[\]()]", "", value)
    text = re.sub(r"\s*-\s*", "-", text)
    text = re.sub(r"(?<=[\d$])\s+(?=[\d^])", ",", text)
    text = re.sub(r"(?<=\d)\^", ",^", text)
    text = re.sub(r"([0-9]+)-(?:\$|N)?(?=,|$)", rf"\1-{last}", text)
    text = re.sub(r"\b([0-9]{1,6})-([0-9]{1,6})\b", _rising, text)
    try:
        if all(item.strip().startswith("^") for item in text.split(",") if item.strip()):
            text = f"{to_text(machine.online)},{text}"
        cpus = parse_nova(text)
    except CpuListError:
        return ""
    return to_text(cpus) if cpus and not cpus & ~machine.present else ""


def _rising(span: re.Match[str]) -> str:
    first, last = sorted((span[1], span[2]), key=int)
    return f"{first}-{last}"


RULE = Rule(
    code="HC-07",
    severity=Severity.ERROR,
    title="A list of CPUs cannot be read, or names no CPU",
    subject=HostCase,
    check=_check,
    bad=lambda: a_host(vcpu_pin_set="^0,^16"),
    good=lambda: legacy(vcpu_pin_set="0-31,^0,^16"),
)
