# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Property tests judge results, not the speed of a busy machine.

Each run draws the same examples, so that a change is what makes a test fail;
``--hypothesis-profile=explore`` draws others, and more of them.
"""

from __future__ import annotations

import hypothesis

hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=600)
hypothesis.settings.load_profile("steady")
