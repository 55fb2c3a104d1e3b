# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Nova demands of a guest whose memory shall be encrypted."""

from __future__ import annotations

import typing as t

from .errors import NovaError
from .image_properties import truth

if t.TYPE_CHECKING:
    from .._model.flavor import Flavor
    from .image_properties import ImageProperties

_TRAITS = {
    "amd-sev": "HW_CPU_X86_AMD_SEV",
    "amd-sev-es": "HW_CPU_X86_AMD_SEV_ES",
    "amd-sev-snp": "HW_CPU_X86_AMD_SEV_SNP",
    "intel-tdx": "HW_CPU_X86_INTEL_TDX",
}


def trait(flavor: Flavor, image: ImageProperties) -> str | None:
    """Name the trait of the encryption that is asked for; None where none is.

    Raises as :func:`check` does.

    Source: ``nova/scheduler/utils.py``, ``_translate_mem_encryption_request``.
    """
    if not check(flavor, image):
        return None
    model = flavor.extra_specs.get("hw:mem_encryption_model") or image.mem_encryption_model
    return _TRAITS[model or "amd-sev"]


def check(flavor: Flavor, image: ImageProperties) -> bool:
    """Say whether flavor or image asks for encrypted memory, and check both if so.

    Raises ``FlavorImageConflict``, ``InvalidMachineType``, ``Invalid``,
    ``StatelessFirmwareRequired`` or ``InvalidVideoMode``.

    Source: ``nova/virt/hardware.py``, ``get_mem_encryption_constraint``.
    """
    value = flavor.extra_specs.get("hw:mem_encryption")
    asked = None if value is None else truth(value)
    wished = image.mem_encryption
    if asked is not None and wished is not None and asked != wished:
        raise NovaError("FlavorImageConflict", f"memory encryption: flavor {asked}, image {wished}")
    if not (asked or wished):
        return False
    if image.firmware_type != "uefi":
        raise NovaError("FlavorImageConflict", "encrypted memory needs hw_firmware_type=uefi")
    if image.machine_type is not None and "q35" not in image.machine_type:
        raise NovaError("InvalidMachineType", f"{image.machine_type} is not q35")
    model = flavor.extra_specs.get("hw:mem_encryption_model") or image.mem_encryption_model
    if model is None:
        return True
    if image.mem_encryption_model not in (None, model):
        raise NovaError("FlavorImageConflict", "flavor and image name other encryption models")
    if model not in _TRAITS:
        raise NovaError("Invalid", f"memory encryption model {model!r} is not known")
    if model == "amd-sev-snp":
        if not image.firmware_stateless:
            raise NovaError("StatelessFirmwareRequired", "SEV-SNP needs hw_firmware_stateless")
        if image.video_model not in (None, "none"):
            raise NovaError("InvalidVideoMode", f"SEV-SNP with video model {image.video_model}")
    return True
