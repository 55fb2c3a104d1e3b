# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import expressions
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.safety import safe

if t.TYPE_CHECKING:
    from collections.abc import Callable


def safe_on(
    value: t.Any,
    host: t.Any,
    image: t.Any = None,
    release: t.Any = "34.0.0",
    disable_fallback_pcpu_query: bool = False,
) -> bool:
    try:
        scheduler = expressions.scheduler(release, disable_fallback_pcpu_query)
        return safe(
            expressions.flavor(value),
            expressions.image(image),
            expressions.host(host, scheduler.release),
            scheduler,
        )
    except InputError as error:
        raise AnsibleFilterError(f"safe_on: {error}") from error


class TestModule:
    def tests(self) -> dict[str, Callable[..., bool]]:
        return {"safe_on": safe_on}
