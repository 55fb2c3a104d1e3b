# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import guest_values

if t.TYPE_CHECKING:
    from collections.abc import Callable


def guest_xml(
    value: t.Any,
    host: t.Any,
    image: t.Any = None,
    release: t.Any = "34.0.0",
    pins: t.Any = None,
    reserved: t.Any = None,
) -> dict[str, t.Any]:
    try:
        given = guest_values.Given(value, host, image, release, pins, reserved)
        return guest_values.guest_xml(given)
    except InputError as error:
        raise AnsibleFilterError(f"guest_xml: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"guest_xml": guest_xml}
