# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an expression of a playbook holds to values: CPUs, one flavor, image, host, release.

Each function raises ``InputError`` that names the argument and the key in it.
"""

from __future__ import annotations

import re
import typing as t

from ...module_utils._read import cpu_list
from ...module_utils._read.errors import InputError, quoted
from . import documents, flavor_files
from .flavor import NO_IMAGE, Flavor, Image
from .gathering import settled
from .host import Scheduler
from .schema import check, plain, within

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from .host import Host

_Value = t.TypeVar("_Value", Flavor, Image)

FORMS = ("nova", "kernel", "hex")
"""How a list of CPUs may be spelled."""


def cpus(value: object, form: str = "nova", last: int | None = None) -> int:
    """Read CPUs, given as text of one of :data:`FORMS` or as a list of ids, to a bitmask.

    YAML reads a list of one CPU as a number. ``last`` is the id that ``N`` of the kernel means.
    """
    if form not in FORMS:
        raise InputError(f"{quoted(form)} is no form of a list", ", ".join(FORMS), "form")
    if last is not None and not _is_id(last):
        raise InputError(f"{quoted(last)} is no CPU id", _IDS, "last")
    if isinstance(value, list | tuple):
        return _members(list(value))
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{quoted(value)} is no list of CPUs", "a text, or a list of ids")
    if form == "kernel":
        return cpu_list.parse_kernel(str(value), last)
    return cpu_list.parse_hex(str(value)) if form == "hex" else cpu_list.parse_nova(str(value))


def _members(value: list[t.Any]) -> int:
    for item in value:
        if not _is_id(item):
            raise InputError(f"{quoted(item)} is no CPU id", _IDS)
    return cpu_list.mask(value)


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < cpu_list.LIMIT


_SHORT = re.compile(r"[0-9]{1,6}")
_IDS = f"numbers from 0 to {cpu_list.LIMIT - 1}"


def flavor(value: object) -> Flavor:
    """Take the one flavor that ``value`` is, in any shape of ``flavor_files``."""
    return _only(value, flavor_files.flavors, "flavor")


def image(value: object) -> Image:
    """Take the one image that ``value`` is; None is an image that asks for nothing."""
    return NO_IMAGE if value is None else _only(value, flavor_files.images, "image")


def host(value: object, default_release: str) -> Host:
    """Build a host from its facts, or from an entry of a fleet's hosts, which has a name too.

    ``default_release`` is taken where they name none.
    """
    given = settled(value)
    if isinstance(given, dict) and {"name", "names"} & given.keys():
        return documents.fleet({"hosts": [given]}, default_release, "host").classes[0].host
    return documents.host(given, "host", default_release, "host")


def pins(value: object) -> dict[int, int] | None:
    """Read the pins of a guest, vCPU to host CPU, as a verdict has them; None where none are given.

    YAML and JSON write numbers as keys in two ways: as such, or as text.
    """
    given = settled(value)
    if given is None:
        return None
    if not isinstance(given, dict):
        raise InputError(f"{quoted(given)} is no mapping", "vCPU to host CPU", "pins")
    found = {}
    for vcpu, cpu in given.items():
        number = int(vcpu) if isinstance(vcpu, str) and _SHORT.fullmatch(vcpu) else vcpu
        for each in (number, cpu):
            if not _is_id(each):
                raise InputError(f"{quoted(each)} is no CPU id", _IDS, "pins")
        if number in found:
            raise InputError(f"vCPU {number} is there twice", "each vCPU once", "pins")
        found[number] = cpu
    return found


def provider(value: object, argument: str) -> dict[str, t.Any]:
    """Take what Placement knows of a provider, or is to know: inventories and traits."""
    with within(argument):
        given: dict[str, t.Any] = plain(settled(value))
        check(given, "placement:1")
    return given


def release(value: object) -> str:
    """Take the name of a release; YAML reads ``2025.1`` as a number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        what = f"{quoted(value)} is no release of Nova"
        raise InputError(what, "a point release such as 27.1.0, or a series", "release")
    return str(value)


def scheduler(named: object, disable_fallback_pcpu_query: object) -> Scheduler:
    """Make the control plane of a release, with or without the fallback query."""
    if not isinstance(disable_fallback_pcpu_query, bool):
        what = f"{quoted(disable_fallback_pcpu_query)} is neither true nor false"
        raise InputError(what, "a boolean", "disable_fallback_pcpu_query")
    return Scheduler(release(named), disable_fallback_pcpu_query)


def _only(value: object, reader: Callable[[object, str], tuple[_Value, ...]], kind: str) -> _Value:
    given = settled(value)
    if not isinstance(given, dict):
        raise InputError(f"{quoted(given)} is no {kind}", f"a mapping that is one {kind}", kind)
    found = reader(given, kind)
    if len(found) != 1:
        raise InputError(f"there are {len(found)} of them", f"one {kind}", kind)
    return found[0]
