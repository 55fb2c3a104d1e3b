# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Nova writes for one guest of a flavor on a host, as expressions of a playbook ask for it."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils._read.cpu_list import ids, mask, size, to_text
from ...module_utils._read.errors import InputError
from .._model import expressions
from .._model.server import CellPlace
from .._nova import xml_form
from .._nova.errors import NovaError
from .._nova.guest_xml import places_of, predict
from .._plan.emulator_flavors import kind
from .._rules.cases import flavor_case, host_case

if t.TYPE_CHECKING:
    from .._model.guest import GuestCell
    from .._model.guest_xml import GuestXml
    from .._rules.rule import FlavorCase


@dataclasses.dataclass(frozen=True, slots=True)
class Given:
    """What a playbook gave, unread."""

    flavor: object
    host: object
    image: object = None
    release: object = "34.0.0"
    pins: object = None
    reserved: object = None


@dataclasses.dataclass(frozen=True, slots=True)
class _Written:
    """The XML, or what refuses the guest."""

    case: FlavorCase
    xml: GuestXml | None = None
    stage: str | None = None
    reason: str = ""
    error: str = ""

    @property
    def refusal(self) -> dict[str, t.Any]:
        return {"stage": self.stage, "reason": self.reason, "error": self.error}


def guest_xml(given: Given) -> dict[str, t.Any]:
    """Give the elements of the domain as texts, by name and one after the other.

    Raises ``InputError`` for what cannot be read.
    """
    written = _written(given)
    xml = written.xml
    return {
        "text": xml_form.text(xml) if xml else None,
        "elements": xml_form.texts(xml) if xml else {},
        **written.refusal,
    }


def emulator_cpus(given: Given) -> dict[str, t.Any]:
    """Give the CPUs of emulator threads and vCPUs.

    Raises ``InputError`` for what cannot be read.
    """
    written = _written(given)
    xml, case = written.xml, written.case
    if xml is None:
        return {**dict.fromkeys(_CPUS), "pins": {}, **written.refusal}
    emulator = xml.emulator
    return {
        "emulator": None if emulator is None else to_text(emulator),
        "kind": None if emulator is None else kind(case, case.hosts[0], xml),
        "realtime_vcpus": to_text(xml.realtime),
        "realtime": to_text(xml.realtime_cpus),
        "ordinary": to_text(xml.ordinary_cpus),
        "pins": {str(vcpu): cpu for vcpu, cpu in sorted(xml.pins.items())},
        **written.refusal,
    }


_CPUS = ("emulator", "kind", "realtime_vcpus", "realtime", "ordinary")


def _written(given: Given) -> _Written:
    scheduler = expressions.scheduler(given.release, False)
    case = flavor_case(
        expressions.flavor(given.flavor),
        expressions.image(given.image),
        scheduler,
        (host_case(expressions.host(given.host, scheduler.release)),),
    )
    pins = expressions.pins(given.pins)
    reserved = 0 if given.reserved is None else _cpus(given.reserved)
    if reserved and pins is None:
        raise InputError("there are no pins beside it", "pins too", "reserved")
    host, outcome, fault = case.hosts[0], case.outcomes[0], case.refusal
    if pins is None and not outcome.boots:
        return _Written(case, None, outcome.stage, outcome.reason, outcome.error)
    if fault:
        return _Written(case, None, "api", fault.text, fault.name)
    if host.fault:
        return _Written(case, None, "startup", host.fault.text, host.fault.name)
    places = places_of(outcome.fitted) if pins is None else _places(case, pins, reserved)
    try:
        xml = predict(
            case.flavor,
            case.image,
            case.guest,
            places,
            host.host,
            host.release,
            outcome.fitted if pins is None else None,
        )
    except NovaError as error:
        return _Written(case, None, "driver", error.text, error.name)
    return _Written(case, xml)


def _cpus(reserved: object) -> int:
    try:
        return expressions.cpus(reserved)
    except InputError as error:
        raise error.at("reserved") from None


def _places(case: FlavorCase, pins: dict[int, int], reserved: int) -> tuple[CellPlace, ...]:
    """Put each cell of the guest where its pins say."""
    cells = case.guest.cells if case.guest else ()
    wanted = mask(vcpu for cell in cells for vcpu in ids(cell.pcpuset))
    if wanted != mask(pins):
        what = f"they are of vCPU {to_text(mask(pins)) or 'none'}"
        accepted = f"those of vCPU {to_text(wanted)}" if wanted else "none: no vCPU is pinned"
        raise InputError(what, accepted, "pins")
    isolates = case.guest is not None and case.guest.emulator_threads_policy == "isolate"
    if size(reserved) != int(isolates):
        what = f"{size(reserved)} CPUs are kept for emulator threads"
        raise InputError(what, "one CPU with policy isolate, else none", "reserved")
    return tuple(
        CellPlace(
            _host_cell(case, index, cell, pins),
            {vcpu: pins[vcpu] for vcpu in ids(cell.pcpuset)},
            0 if index else reserved,
            _page_size(case, index, cell),
        )
        for index, cell in enumerate(cells)
    )


def _host_cell(case: FlavorCase, index: int, cell: GuestCell, pins: dict[int, int]) -> int:
    """Find the host cell that all pins of a guest cell are in."""
    known = case.hosts[0].host.topology.cells
    used = mask(pins[vcpu] for vcpu in ids(cell.pcpuset))
    fitting = [each.id for each in known if not used & ~each.cpuset]
    if len(fitting) == 1:
        return fitting[0]
    what = f"those of guest cell {index} ({to_text(used) or 'none'}) do not tell its host cell"
    raise InputError(what, "host CPUs of one cell of the host for each cell of the guest", "pins")


def _page_size(case: FlavorCase, index: int, cell: GuestCell) -> int | None:
    """Give the page size that the flavor names, else that of a boot on the host."""
    if cell.page_size_kb is None or cell.page_size_kb > 0:
        return cell.page_size_kb
    fitted = case.outcomes[0].fitted
    return fitted.seats[index].page_size_kb if fitted else None
