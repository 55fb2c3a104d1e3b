# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flavors and images, as the compute and image APIs show them."""

from __future__ import annotations

import dataclasses
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class Flavor:
    """One flavor. Extra specs keep the order in which they were given: Nova's result may hang
    on it (two keys for one trait)."""

    name: str
    vcpus: int
    memory_mb: int
    extra_specs: Mapping[str, str]
    disk_gb: int = 0
    ephemeral_gb: int = 0
    swap_mb: int = 0
    id: str = ""
    where: str = ""
    """File, or file and key, that the flavor was read from; "" where unknown."""


@dataclasses.dataclass(frozen=True, slots=True)
class Image:
    """One image with its properties (texts, numbers or booleans, as the source had them)."""

    name: str
    properties: Mapping[str, t.Any]
    where: str = ""


NO_IMAGE = Image("", {})
"""An image without properties, which asks for nothing."""
