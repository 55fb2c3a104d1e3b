# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest


@pytest.fixture
def host() -> dict[str, t.Any]:
    """Make the facts of a host with two cores of two threads, one of them dedicated."""
    return {
        "format": 1,
        "release": "27.1.0",
        "topology": {
            "online": "0-3",
            "cells": [{"id": 0, "cpus": "0-3", "memory_mb": 8192, "pages": {"4": 2097152}}],
            "siblings": ["0,2", "1,3"],
        },
        "nova": {
            "options": {
                "compute.cpu_shared_set": {"value": "0,2"},
                "compute.cpu_dedicated_set": {"value": "1,3"},
            }
        },
    }


@pytest.fixture
def pinned() -> dict[str, t.Any]:
    """Make a flavor that pins both of its vCPUs."""
    return {
        "name": "pinned",
        "vcpus": 2,
        "ram": 1024,
        "extra_specs": {"hw:cpu_policy": "dedicated"},
    }
