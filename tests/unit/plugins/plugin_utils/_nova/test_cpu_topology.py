# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import (
    constraints,
    cpu_topology,
    image_properties,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.fit import fit
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release
from ansible_collections.pinguard.nova.tests.unit.plugins.plugin_utils._nova.building import (
    flavor,
    host_cell,
    image,
)


def best(specs: str, properties: str = "", vcpus: int = 4, *, threads: bool = True) -> str:
    """Write sockets, cores and threads as ``4:1:1``, or name the error."""
    read = image_properties.read(image(properties), release("34.0.0"))
    try:
        found = cpu_topology.best(flavor(specs, vcpus=vcpus), read, allow_threads=threads)
    except NovaError as error:
        return error.name
    return ":".join(map(str, found))


@pytest.mark.parametrize(
    ("specs", "properties", "vcpus", "result"),
    [
        ("", "", 4, "4:1:1"),
        ("", "", 7, "7:1:1"),
        ("cpu_max_sockets=1", "", 4, "1:4:1"),
        ("cpu_threads=2", "", 4, "2:1:2"),
        ("cpu_cores=2 cpu_threads=2", "", 4, "1:2:2"),
        (
            "cpu_max_sockets=1 cpu_max_cores=2 cpu_max_threads=1",
            "",
            4,
            "ImageVCPULimitsRangeImpossible",
        ),
        ("cpu_max_sockets=2", "cpu_max_sockets=4", 4, "ImageVCPULimitsRangeExceeded"),
        ("cpu_max_cores=1", "cpu_cores=2", 4, "ImageVCPUTopologyRangeExceeded"),
        ("cpu_sockets=x", "", 4, "InvalidRequest"),
        ("cpu_sockets=3", "", 4, "4:1:1"),
        ("cpu_sockets=4", "cpu_max_sockets=2", 4, "2:2:1"),
        ("cpu_max_sockets=0", "", 4, "4:1:1"),
        ("cpu_max_sockets=-1", "", 4, "ImageVCPULimitsRangeExceeded"),
        ("cpu_sockets=2 cpu_cores=2", "cpu_threads=2", 4, "2:1:2"),
        ("cpu_max_sockets=2", "", 5, "1:5:1"),
    ],
)
def test_examples(specs: str, properties: str, vcpus: int, result: str) -> None:
    assert best(specs, properties, vcpus) == result


def test_threads_may_be_ruled_out() -> None:
    assert best("cpu_threads=2", threads=False) == "4:1:1"


def pinned(specs: str, vcpus: int, properties: str = "") -> cpu_topology.Triple:
    """Choose as the releases do in which the pins narrow the choice."""
    old = release("20.6.1")
    assert old.threads_from_pinning
    asked = flavor(f"cpu_policy=dedicated {specs}", vcpus=vcpus)
    guest = constraints.guest(asked, NO_IMAGE, old)
    assert guest is not None
    fitted = fit((host_cell("0-7"),), guest, old)
    assert fitted is not None
    read = image_properties.read(image(properties), old)
    return cpu_topology.best(asked, read, fitted=fitted)


def test_pins_narrow_the_choice_up_to_wallaby() -> None:
    assert pinned("", 4) == (2, 1, 2)
    assert pinned("cpu_max_threads=1", 4) == (4, 1, 1)
    assert pinned("", 3) == (3, 1, 1)


def test_pins_may_leave_no_choice() -> None:
    with pytest.raises(NovaError, match="IndexError") as caught:
        pinned("cpu_max_sockets=2", 5, "cpu_max_cores=1")
    assert caught.value.crash
