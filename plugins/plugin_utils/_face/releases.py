# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that name releases."""

from __future__ import annotations

import typing as t

from .._model.schema import within
from .._nova.releases import release

if t.TYPE_CHECKING:
    from collections.abc import Mapping

OPTIONS = ("release", "target_release")


def refuse_unknown(args: Mapping[str, t.Any]) -> None:
    """Raise ``InputError`` that names the option for a release that is not known."""
    for option in OPTIONS:
        if args.get(option) is not None:
            with within(option):
                release(str(args[option]), host=True)
