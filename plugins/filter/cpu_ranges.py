# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import to_text
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.expressions import cpus

if t.TYPE_CHECKING:
    from collections.abc import Callable


def cpu_ranges(value: t.Any, form: str = "nova", last: int | None = None) -> str:
    try:
        return to_text(cpus(value, form, last))
    except InputError as error:
        raise AnsibleFilterError(f"cpu_ranges: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"cpu_ranges": cpu_ranges}
