# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    # How a list of CPUs is spelled.
    CPUS = r"""
options:
  _input:
    description:
      - A list of CPUs as text in the spelling that O(form) names, or a list of CPU ids.
      - A number stands for itself, since YAML reads a list of one CPU as one.
    type: raw
    required: true
  form:
    description:
      - V(nova) is the spelling of Nova's options, extra specs and image properties, ids and rising
        ranges with commas between them; what has a V(^) in front is taken out.
      - V(kernel) is that of C(/sys) and of the kernel's command line, with C(A-B:used/group), C(N)
        and C(all).
      - V(hex) is a mask of hexadecimal digits, as Open vSwitch and C(/proc) have it.
    type: str
    choices: [nova, kernel, hex]
    default: nova
  last:
    description:
      - The highest CPU id of the host, which C(N) and C(all) of the form V(kernel) mean. Without it
        both are refused.
    type: int
"""

    # What is asked about one flavor.
    FLAVOR = r"""
options:
  _input:
    description:
      - One flavor, in any shape that a file of flavors may have, such as an item of what
        M(openstack.cloud.compute_flavor_info) returns.
    type: dict
    required: true
  image:
    description:
      - One image, such as an item of what M(openstack.cloud.image_info) returns.
      - By default an image without properties.
    type: dict
  release:
    description:
      - Nova release of API and scheduler, as a point release such as V(27.1.0) or a series such as
        V(2025.1), which stands for its first release.
    type: str
    default: 34.0.0
"""

    # The scheduler before Placement.
    SCHEDULER = r"""
options:
  disable_fallback_pcpu_query:
    description:
      - The scheduler's C([workarounds] disable_fallback_pcpu_query).
    type: bool
    default: false
"""

    # One compute host.
    HOST = r"""
options:
  host:
    description:
      - The facts of one compute host, as M(pinguard.nova.host_facts) returns them under
        C(pinguard), or one entry of the C(hosts) of a fleet file, which also tells what is in use.
      - A host whose facts name no release runs that of O(release).
    type: dict
    required: true
"""

    # Where a guest is, if it is anywhere already.
    PINS = r"""
options:
  pins:
    description:
      - Host CPU of each pinned vCPU, as the filter P(pinguard.nova.verdict#filter) or the facts of
        a guest have them.
      - By default those that Nova chooses on the host as it is given. They are one possible
        placement, exact only where the host's past is known.
    type: dict
  reserved:
    description:
      - Host CPU that is kept for the emulator threads, beside O(pins) of a guest whose flavor has
        C(hw:emulator_threads_policy=isolate).
    type: str
"""
