# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real Nova's verdicts on drawn cases, in the form of the recordings."""

from __future__ import annotations

import contextlib
import typing as t

from benching.real_nova import Nova
from nova import exception, objects
from nova.compute import api
from nova.conf import CONF
from nova.scheduler import utils
from nova.virt import hardware

Data = dict[str, t.Any]

IMAGE_ID = "00000000-0000-4000-8000-000000000000"


@contextlib.contextmanager
def options(conf: Data) -> t.Iterator[None]:
    """Set options for a while."""
    names = [(*key.rpartition("."), value) for key, value in conf.items()]
    for group, _dot, name, value in names:
        CONF.set_override(name, value, group or None)
    try:
        yield
    finally:
        for group, _dot, name, _value in names:
            CONF.clear_override(name, group or None)


def attempt(call: t.Callable[[], t.Any]) -> tuple[t.Any, Data | None]:
    """Give the result of a call, or what it raised; a crash of Nova is a verdict too."""
    try:
        return call(), None
    except Exception as error:  # noqa: BLE001
        named = isinstance(error, exception.NovaException)
        return None, {"error": type(error).__name__, "nova": named}


class Live:
    """Nova, asked case by case."""

    def __init__(self) -> None:
        self._nova = Nova()

    def verdict(self, case: Data) -> Data:
        """Decide a case: one guest, or a sequence of guests placed and freed."""
        with options(case["conf"]):
            host = self._nova.host(case["host"])
            placed: list[t.Any] = []
            steps = []
            for step in case.get("seq", [case]):
                if "free" in step:
                    shown, host = self._freed(host, placed[step["free"]])
                    placed.append(None)
                else:
                    shown, host, guest = self._placed(step, host, case)
                    placed.append(guest)
                steps.append(shown)
        return {"seq": steps} if "seq" in case else steps[0]

    def _placed(self, step: Data, host: t.Any, case: Data) -> tuple[Data, t.Any, t.Any]:
        """Place one guest: the verdict, the host thereafter, and the guest with its place."""
        nova, flavor = self._nova, self._nova.flavor(step["flavor"])
        shown: Data = {}
        asks = case.get("ops", ())
        if "api" in asks:
            _none, shown["api"] = attempt(lambda: checked(flavor, step["image"]))
        image, error = attempt(lambda: nova.image(step["image"]))
        if error:
            return {**shown, "image": error}, host, None
        if "placement" in asks:
            request, error = attempt(lambda: asked(flavor, image))
            shown["placement"] = error or request
        guest, error = attempt(lambda: nova.guest(flavor, image))
        shown["constraints"] = error or shown_guest(guest)
        if error:
            return shown, host, None
        limits = case["limits"] and objects.NUMATopologyLimits(**case["limits"])
        fitted, error = attempt(lambda: nova.fit(host, guest, limits))
        shown["fit"] = error or shown_guest(fitted)
        if fitted is None:
            return shown, host, None
        fitted = nova.loaded(fitted)
        after, error = attempt(lambda: hardware.numa_usage_from_instance_numa(host, fitted))
        shown["usage"] = error or shown_usage(after)
        return shown, host if error else nova.loaded(after), fitted

    def _freed(self, host: t.Any, guest: t.Any) -> tuple[Data, t.Any]:
        """Free one guest: the verdict, and the host thereafter."""
        after, error = attempt(
            lambda: hardware.numa_usage_from_instance_numa(host, guest, free=True)
        )
        return {"usage": error or shown_usage(after)}, host if error else after


def checked(flavor: t.Any, properties: Data) -> None:
    """Check flavor and image as the API does when a server is created."""
    image = {"id": IMAGE_ID, "name": "image", "properties": properties}
    api.API._validate_flavor_image_numa_pci(image, flavor)


def asked(flavor: t.Any, image: t.Any) -> Data:
    """Build the primary query."""
    request = objects.RequestSpec(
        flavor=flavor,
        image=image,
        is_bfv=False,
        requested_resources=[],
    )
    built = utils.ResourceRequest.from_request_spec(request)
    own = built.get_request_group(None)
    return {
        "resources": {name: int(amount) for name, amount in built.merged_resources().items()},
        "required": sorted(own.required_traits),
        "forbidden": sorted(own.forbidden_traits),
        "cpu_pinning_requested": built.cpu_pinning_requested,
    }


def shown_guest(guest: t.Any) -> Data | None:
    if guest is None:
        return None
    return {
        "emulator_threads_policy": guest.emulator_threads_policy,
        "cells": [_shown_cell(cell) for cell in guest.cells],
    }


def _shown_cell(cell: t.Any) -> Data:
    shown: Data = {
        "id": cell.id,
        "cpuset": sorted(cell.cpuset),
        "pcpuset": sorted(cell.pcpuset),
        "memory": cell.memory,
        "pagesize": cell.pagesize,
        "cpu_policy": cell.cpu_policy,
        "cpu_thread_policy": cell.cpu_thread_policy,
    }
    if cell.cpu_pinning:
        pins = sorted(cell.cpu_pinning.items())
        shown["cpu_pinning"] = {str(vcpu): cpu for vcpu, cpu in pins}
    if cell.cpuset_reserved is not None:
        shown["cpuset_reserved"] = sorted(cell.cpuset_reserved)
    return shown


def shown_usage(host: t.Any) -> list[Data]:
    return [
        {
            "id": cell.id,
            "cpu_usage": cell.cpu_usage,
            "memory_usage": cell.memory_usage,
            "pinned_cpus": sorted(cell.pinned_cpus),
            "mempages": [[p.size_kb, p.total, p.used, p.reserved] for p in cell.mempages],
        }
        for cell in host.cells
    ]
