# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an operator wishes a flavor to be for."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.errors import InputError, quoted
from . import documents, gathering, loading
from .schema import Path, as_mapping, check, path_text, plain, within

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Intent = t.Literal["pinned", "pinned-realtime", "mixed", "numa"]

SETTLED = (
    "hw:cpu_policy",
    "hw:cpu_thread_policy",
    "hw:cpu_dedicated_mask",
    "hw:cpu_realtime",
    "hw:cpu_realtime_mask",
    "hw:emulator_threads_policy",
    "hw:mem_page_size",
    "hw:numa_nodes",
)
"""Extra specs that follow from the other keys of a wish, and cannot be given beside them."""

TIES = ("trait", "aggregate_instance_extra_specs:")
"""How extra specs begin that tie a flavor to hosts."""


@dataclasses.dataclass(frozen=True, slots=True)
class FlavorWish:
    """One flavor: its sizes, and what its guests need."""

    name: str
    intent: Intent
    vcpus: int
    memory_mb: int
    disk_gb: int = 0
    ephemeral_gb: int = 0
    swap_mb: int = 0
    id: str = ""
    """Id in the compute API; "" lets Nova make one."""
    public: bool = True
    numa_cells: int = 1
    ordinary_vcpus: int = 1
    """First vCPUs of each guest cell that are not pinned (mixed) or not realtime."""
    page_size: str = "auto"
    """"auto", "none", or a value of ``hw:mem_page_size``."""
    threads: str = "auto"
    """"auto", or a value of ``hw:cpu_thread_policy``."""
    emulator: str = "auto"
    """"auto", "none", or a value of ``hw:emulator_threads_policy``."""
    extra_specs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Further ones, as they are."""
    hosts: tuple[str, ...] = ()
    """Patterns of the names of hosts that a trait or an aggregate ties it to; () for all."""
    where: str = ""
    """File or option, and key, that it was read from."""


def read(given: object, folders: Sequence[str]) -> tuple[FlavorWish, ...]:
    """Read wishes: the path of a file, its document, or a list of wishes.

    Raises ``InputError`` that names the key.
    """
    settled = gathering.settled(given)
    if isinstance(settled, str):
        path = gathering.located(settled, folders)
        return wishes(loading.load(path), path)
    return wishes(settled)


def wishes(document: object, where: str = "") -> tuple[FlavorWish, ...]:
    """Build wishes from a document: ``{wishes: [...]}``, or the list alone.

    Raises ``InputError`` that names the key.
    """
    with within(where):
        given = plain(document)
        if isinstance(given, list):
            given = {"wishes": given}
        as_mapping(given, ("wishes",))
        check(given, "flavor_wishes:1")
        paths = [("wishes", index) for index in range(len(given["wishes"]))]
        found = list(map(_wish, given["wishes"], paths))
        _refuse_twins(found)
    return tuple(
        dataclasses.replace(wish, where=documents.origin(where, path))
        for wish, path in zip(found, paths, strict=True)
    )


def _refuse_twins(found: Sequence[FlavorWish]) -> None:
    """Refuse names and ids that several have: clients take either for a flavor."""
    seen: set[str] = set()
    for wish in found:
        own = {wish.name, wish.id} - {""}
        if twice := sorted(own & seen):
            what = f"{quoted(twice[0])} is wished twice"
            raise InputError(what, "each name and id once", "wishes")
        seen |= own


_KEYS = {"ram": "memory_mb", "disk": "disk_gb", "ephemeral": "ephemeral_gb", "swap": "swap_mb"}


def _wish(entry: dict[str, t.Any], path: Path) -> FlavorWish:
    given = {_KEYS.get(key, key): value for key, value in entry.items()}
    given["page_size"] = str(given.get("page_size", "auto"))
    given["hosts"] = tuple(given.get("hosts", ()))
    given["extra_specs"] = _extra_specs(given.get("extra_specs", {}), (*path, "extra_specs"))
    wish = FlavorWish(**given)
    if not wish.name.isprintable():
        raise InputError(f"{quoted(wish.name)} is no name", "printable characters", path_text(path))
    for key, accepted in _faults(wish, "ordinary_vcpus" in entry):
        value = getattr(wish, _KEYS.get(key, key))
        what = f"{quoted(value)} does not go with the rest of {quoted(wish.name)}"
        raise InputError(what, accepted, path_text((*path, key)))
    return wish


def _extra_specs(given: dict[str, t.Any], path: Path) -> dict[str, str]:
    found = {key: documents.extra_spec(value) for key, value in given.items()}
    for key, value in found.items():
        where = path_text((*path, key))
        if key in SETTLED:
            raise InputError("follows from the other keys", "none of it here", where)
        if not value.isprintable():
            what = f"{quoted(value)} is no value of an extra spec"
            raise InputError(what, "printable characters", where)
    return found


def _faults(wish: FlavorWish, told: bool) -> t.Iterator[tuple[str, str]]:
    """List the keys that do not go with the others, with what would.

    ``told`` says whether the wish itself names the number of ordinary vCPUs.
    """
    cells = wish.numa_cells
    if wish.vcpus % cells:
        yield "vcpus", f"a multiple of numa_cells, which is {cells}"
    if wish.memory_mb % cells:
        yield "ram", f"a multiple of numa_cells, which is {cells}"
    if wish.intent in ("mixed", "pinned-realtime"):
        least = int(wish.intent == "mixed")
        if not least <= wish.ordinary_vcpus < wish.vcpus // cells:
            most = wish.vcpus // cells - 1
            yield (
                "ordinary_vcpus",
                f"{least} to {most}, so that one vCPU of each cell is left"
                if most >= least
                else "more vCPUs in each cell",
            )
    elif told:
        yield "ordinary_vcpus", "the intents mixed and pinned-realtime"
    if wish.hosts and not any(key.startswith(TIES) for key in wish.extra_specs):
        yield "hosts", f"an extra spec that ties the flavor to them: {' or '.join(TIES)}"
