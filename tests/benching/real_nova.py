# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real Nova beside ours: the objects that its scheduler filter holds, and its calls."""

from __future__ import annotations

import json
import logging
import os
import typing as t

os.environ.setdefault("OS_NOVA_DISABLE_EVENTLET_PATCHING", "1")

import nova.conf
from nova import objects
from nova.virt import hardware

Data = dict[str, t.Any]


class Nova:
    """Nova, set up with its defaults and its log switched off."""

    def __init__(self) -> None:
        logging.disable(logging.CRITICAL)
        objects.register_all()
        nova.conf.CONF([], project="nova", default_config_files=[], default_config_dirs=[])
        nova.conf.neutron.register_dynamic_opts(nova.conf.CONF)
        self.no_image = self.image({})

    def image(self, properties: Data) -> t.Any:
        """Build an image."""
        return objects.ImageMeta.from_dict({"name": "image", "properties": properties})

    def flavor(self, flavor: Data) -> t.Any:
        """Build a flavor."""
        return objects.Flavor(
            id=1,
            name=flavor["name"],
            flavorid=flavor["name"],
            vcpus=flavor["vcpus"],
            memory_mb=flavor["memory_mb"],
            root_gb=1,
            ephemeral_gb=0,
            swap=0,
            extra_specs=flavor["extra_specs"],
        )

    def host(self, host: Data) -> t.Any:
        """Build a host's topology and load it as the scheduler does, from its stored form."""
        cells = [
            objects.NUMACell(
                id=cell["id"],
                cpuset=set(cell["cpuset"]),
                pcpuset=set(cell["pcpuset"]),
                memory=cell["memory"],
                cpu_usage=cell["cpu_usage"],
                memory_usage=cell["memory_usage"],
                pinned_cpus=set(cell["pinned_cpus"]),
                siblings=[set(core) for core in cell["siblings"]],
                mempages=[
                    objects.NUMAPagesTopology(size_kb=size, total=total, used=used, reserved=kept)
                    for size, total, used, kept in cell["mempages"]
                ],
                socket=cell["id"],
            )
            for cell in host["cells"]
        ]
        return self.loaded(objects.NUMATopology(cells=cells))

    def loaded(self, topology: t.Any) -> t.Any:
        """Load the topology of a host or guest from the form in which Nova stores and sends it."""
        text = json.dumps(topology.obj_to_primitive())
        return type(topology).obj_from_primitive(json.loads(text))

    def guest(self, flavor: t.Any, image: t.Any = None) -> t.Any:
        """Work out the constraints of a flavor and image."""
        return hardware.numa_get_constraints(flavor, image or self.no_image)

    def fit(self, host: t.Any, guest: t.Any, limits: t.Any = None) -> t.Any:
        """Fit a fresh copy of the guest, as the filter does; None where it does not fit.

        Source: ``nova/scheduler/filters/numa_topology_filter.py``, which copies the whole request.
        """
        copy = None if guest is None else guest.obj_clone()
        return hardware.numa_fit_instance_to_host(host, copy, provider_mapping=None, limits=limits)

    def verdict(self, fitted: t.Any) -> tuple[int, ...] | None:
        """List the host cells of a fitted guest."""
        return None if fitted is None else tuple(cell.id for cell in fitted.cells)

    def pins(self, fitted: t.Any) -> tuple[dict[int, int], frozenset[int]] | None:
        """Give every pin and the host CPUs reserved for emulator threads."""
        if fitted is None:
            return None
        pins: dict[int, int] = {}
        kept: set[int] = set()
        for cell in fitted.cells:
            pins.update(cell.cpu_pinning or {})
            kept |= cell.cpuset_reserved or set()
        return pins, frozenset(kept)
