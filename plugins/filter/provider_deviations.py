# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import expressions
from ansible_collections.pinguard.nova.plugins.plugin_utils._report.prediction import deviations

if t.TYPE_CHECKING:
    from collections.abc import Callable


def provider_deviations(provider: t.Any, predicted: t.Any) -> list[str]:
    try:
        has = expressions.provider(provider, "provider")
        return list(deviations(has, expressions.provider(predicted, "predicted")))
    except InputError as error:
        raise AnsibleFilterError(f"provider_deviations: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"provider_deviations": provider_deviations}
