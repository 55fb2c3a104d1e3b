# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the engine as plain data, in the form in which they leave the collection."""

from __future__ import annotations

import typing as t

from ...module_utils._read.cpu_list import to_text

if t.TYPE_CHECKING:
    from .._model.guest import Guest
    from .._nova.errors import NovaError
    from .._nova.outcome import Outcome
    from .._nova.request import Group, Request


def outcome(value: Outcome) -> dict[str, t.Any]:
    """Show where a guest lands, or which stage refuses it and why."""
    return {
        "boots": value.boots,
        "query": value.query,
        "stage": value.stage,
        "reason": value.reason,
        "error": value.error,
        "cells": list(value.cells),
        "pins": {str(vcpu): cpu for vcpu, cpu in sorted(value.pins.items())},
        "reserved": ",".join(map(str, sorted(value.reserved))),
        "allocation": dict(value.allocation),
    }


def guest(value: Guest | None) -> dict[str, t.Any] | None:
    """Show the NUMA topology of a guest; None stands for a guest without one."""
    if value is None:
        return None
    return {
        "emulator_threads_policy": value.emulator_threads_policy,
        "cells": [
            {
                "id": cell.id,
                "floating": to_text(cell.cpuset),
                "pinned": to_text(cell.pcpuset),
                "memory_mb": cell.memory_mb,
                "page_size_kb": cell.page_size_kb,
                "cpu_policy": cell.cpu_policy,
                "cpu_thread_policy": cell.cpu_thread_policy,
            }
            for cell in value.cells
        ],
    }


def request(value: Request | None) -> dict[str, t.Any] | None:
    """Show a query of allocation candidates; groups with a suffix stand apart."""
    if value is None:
        return None
    return {
        **_group(value.unsuffixed),
        "groups": {group.suffix: _group(group) for group in value.groups if group.suffix},
        "group_policy": value.group_policy,
    }


def _group(value: Group) -> dict[str, t.Any]:
    return {
        "resources": dict(value.resources),
        "required": sorted(value.required),
        "forbidden": sorted(value.forbidden),
    }


def error(value: NovaError | None) -> dict[str, t.Any] | None:
    """Show what Nova refuses with."""
    if value is None:
        return None
    return {"name": value.name, "text": value.text, "crash": value.crash}
