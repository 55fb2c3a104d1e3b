# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import expressions
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.schedule import decide
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import values

if t.TYPE_CHECKING:
    from collections.abc import Callable


def verdict(
    value: t.Any,
    host: t.Any,
    image: t.Any = None,
    release: t.Any = "34.0.0",
    disable_fallback_pcpu_query: bool = False,
) -> dict[str, t.Any]:
    try:
        scheduler = expressions.scheduler(release, disable_fallback_pcpu_query)
        outcome = decide(
            expressions.flavor(value),
            expressions.image(image),
            expressions.host(host, scheduler.release),
            scheduler,
        )
    except InputError as error:
        raise AnsibleFilterError(f"verdict: {error}") from error
    return values.outcome(outcome)


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"verdict": verdict}
