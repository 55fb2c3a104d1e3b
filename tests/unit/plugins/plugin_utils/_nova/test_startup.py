# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.pinguard.nova.plugins.plugin_utils._model.config import (
    HostConfig,
    OptionFault,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import startup
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release


def started(version: str = "34.0.0", **options: t.Any) -> str:
    """Name the error that stops the service; "" where it starts."""
    try:
        startup.check(HostConfig(**options), release(version, host=True))
    except NovaError as error:
        return error.name
    return ""


@pytest.mark.parametrize(
    ("pin", "shared", "dedicated", "reserved", "error"),
    [
        (None, None, None, 0, ""),
        (None, None, None, 2, ""),
        ("0-3", None, None, 0, ""),
        ("0-3", None, None, 2, ""),
        ("0-3", "2-5", None, 2, ""),
        ("0-3", None, "4-7", 0, "InvalidConfiguration"),
        ("0-3", "4", "5-7", 0, "InvalidConfiguration"),
        (None, "0-3", None, 0, ""),
        (None, None, "0-3", 0, ""),
        (None, "0-3", "4-7", 0, ""),
        (None, "0-4", "4-7", 0, "InvalidConfiguration"),
        (None, "0-3", None, 1, "InvalidConfiguration"),
        (None, None, "4-7", 1, "InvalidConfiguration"),
        (None, "0-3", "4-7", 1, "InvalidConfiguration"),
        ("", "", "", 1, ""),
        ("x", None, None, 0, "Invalid"),
        (None, "^1", None, 0, "Invalid"),
        ("0-3", "3-1", "0", 0, "Invalid"),
        (None, "0-3", "0-3,^0-3", 1, "Invalid"),
    ],
)
def test_which_options_start(
    pin: str | None, shared: str | None, dedicated: str | None, reserved: int, error: str
) -> None:
    for version in ("20.0.0", "34.0.0"):
        found = started(
            version,
            vcpu_pin_set=pin,
            cpu_shared_set=shared,
            cpu_dedicated_set=dedicated,
            reserved_host_cpus=reserved,
        )
        assert found == error


def test_stein_reads_the_pin_set_alone() -> None:
    assert started("19.0.0", vcpu_pin_set="0-3", cpu_dedicated_set="odd") == ""
    assert started("19.0.0", vcpu_pin_set="odd") == "Invalid"


@pytest.mark.parametrize(
    ("version", "dedicated", "error"),
    [
        ("26.3.0", None, ""),
        ("27.0.0", None, "InvalidConfiguration"),
        ("27.1.0", None, "InvalidConfiguration"),
        ("27.2.0", None, ""),
        ("28.0.0", None, "InvalidConfiguration"),
        ("28.0.1", None, ""),
        ("34.0.0", None, ""),
        ("27.0.0", "0-3", ""),
    ],
)
def test_power_management_without_dedicated_cpus(
    version: str, dedicated: str | None, error: str
) -> None:
    assert started(version, cpu_power_management=True, cpu_dedicated_set=dedicated) == error


def test_a_value_that_cannot_be_read_comes_first() -> None:
    fault = OptionFault("reserved_host_cpus", "many", "a whole number")
    assert started(faults=(fault,), vcpu_pin_set="odd") == "ConfigFileValueError"


def test_an_option_is_a_bitmask() -> None:
    assert startup.cpu_option("0-3,^1", "x") == 0b1101
    assert startup.cpu_option(None, "x") is None
    assert startup.cpu_option("", "x") is None
