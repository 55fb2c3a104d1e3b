# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Nova answers when it refuses."""

from __future__ import annotations


class NovaError(Exception):
    """An exception that Nova raises.

    ``name`` is its class. ``crash`` marks a plain Python error where Nova means to answer and
    falls over instead: a defect of Nova, reproduced here, that users see as a server error.
    """

    def __init__(self, name: str, text: str, *, crash: bool = False) -> None:
        self.name = name
        self.text = text
        self.crash = crash
        super().__init__(f"Nova crashes here ({name}): {text}" if crash else f"{name}: {text}")


def crash(name: str, text: str) -> NovaError:
    """Make the error of a spot where Nova falls over."""
    return NovaError(name, text, crash=True)
