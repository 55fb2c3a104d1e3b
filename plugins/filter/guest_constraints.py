# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import expressions
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.constraints import (
    check_api,
    guest,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release as named
from ansible_collections.pinguard.nova.plugins.plugin_utils._report import values

if t.TYPE_CHECKING:
    from collections.abc import Callable


def guest_constraints(
    value: t.Any, image: t.Any = None, release: t.Any = "34.0.0"
) -> dict[str, t.Any]:
    try:
        asked = (
            expressions.flavor(value),
            expressions.image(image),
            named(expressions.release(release)),
        )
        check_api(*asked)
        found = guest(*asked)
    except InputError as error:
        raise AnsibleFilterError(f"guest_constraints: {error}") from error
    except NovaError as error:
        return {"topology": None, "error": values.error(error)}
    return {"topology": values.guest(found), "error": None}


class FilterModule:
    def filters(self) -> dict[str, Callable[..., t.Any]]:
        return {"guest_constraints": guest_constraints}
