# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import expressions
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.constraints import guest
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release as named

if t.TYPE_CHECKING:
    from collections.abc import Callable


def pinned(value: t.Any, image: t.Any = None, release: t.Any = "34.0.0") -> bool:
    try:
        found = guest(
            expressions.flavor(value),
            expressions.image(image),
            named(expressions.release(release)),
        )
    except InputError as error:
        raise AnsibleFilterError(f"pinned: {error}") from error
    except NovaError:
        return False
    return found is not None and any(cell.pinned for cell in found.cells)


class TestModule:
    def tests(self) -> dict[str, Callable[..., bool]]:
        return {"pinned": pinned}
