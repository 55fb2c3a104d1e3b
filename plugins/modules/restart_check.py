#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: restart_check
short_description: Tell whether nova-compute will start with other options
version_added: 0.1.0
description:
  - Tries, host by host, a start of nova-compute with proposed options or of another release on a
    host that runs servers. Tells what it would refuse to start over, what would fail in silence
    while the service runs on, which allocations would move to PCPU and which would stay wrong, and
    what becomes of the inventory.
  - Nothing is written to any host or restarted. It works on facts and files alone, on the
    controller, and asks no API.
options:
  servers:
    description:
      - The servers on the hosts and what is allocated there, as the path of a file or folder, as a
        document, or as a list of both. Such a file may hold servers in the form of this collection,
        what the compute API or its client prints, rows of Nova's database, or allocations of
        Placement; a folder has libvirt's XML of the domains of one host, by whose name it goes.
      - Without any, and where it is not told to which CPUs a server is pinned, the restart cannot
        be judged; a warning says so.
    type: raw
  flavors:
    description:
      - Flavors that O(servers) name, in any form that M(pinguard.nova.flavor_audit) takes.
    type: raw
  images:
    description:
      - Images that O(servers) name, in the same forms.
    type: raw
  options:
    description:
      - Options that nova-compute is to start with on all hosts, by the names that they have in the
        facts, such as C(compute.cpu_dedicated_set). A value of V(null) unsets an option; options
        that are left out stay as they are.
      - Excludes O(proposed_facts), as O(proposed) does.
    type: dict
  proposed:
    description:
      - The same by the name of a host. They come on top of O(options).
    type: dict
  proposed_facts:
    description:
      - Path of a folder with the facts of the hosts as they are to be. The options of each host are
        taken from there, and nothing else.
    type: str
  target_release:
    description:
      - Nova release that is to start; by default each host's own.
    type: str
  release:
    description:
      - Nova release that hosts run now whose facts name none. A point release such as V(27.1.0), or
        a series such as V(2025.1), which stands for its first release.
    type: str
    default: 34.0.0
extends_documentation_fragment:
  - pinguard.nova._fleet
  - pinguard.nova._fleet.report
  - pinguard.nova._fleet.exceptions
  - pinguard.nova._attributes.controller
attributes:
  check_mode:
    description: Can run in check mode and reports what it would change.
    support: full
    details: The check is made; no file is written.
  diff_mode:
    description: Shows what changed, or would change, in diff mode.
    support: full
seealso:
  - module: pinguard.nova.host_facts
  - module: pinguard.nova.host_audit
  - module: pinguard.nova.nova_conf
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: See whether the hosts of a group take both sets
  pinguard.nova.restart_check:
    hosts: [nova_compute]
    servers:
      - servers.json
      - domains/cmp-01
    options:
      vcpu_pin_set:
      compute.cpu_shared_set: 0-1,16-17
      compute.cpu_dedicated_set: 2-15,18-31
  run_once: true

- name: See whether nova-compute of a newer release starts as things are
  pinguard.nova.restart_check:
    fleet: fleet.yml
    target_release: "2025.1"
"""

RETURN = r"""
status:
  description: V(0) success, V(1) warnings, V(2) failure.
  returned: success
  type: int
  sample: 2
verdict:
  description: What the restarts come to, in one sentence.
  returned: success
  type: str
  sample: "FAILURE: nova-compute starts on 11 of 12 hosts."
hosts:
  description: What becomes of the restart; hosts of which the same is told are one element.
  returned: success
  type: list
  elements: dict
  contains:
    names:
      description: The hosts.
      returned: success
      type: list
      elements: str
    release:
      description: Nova release C(before) and C(after).
      returned: success
      type: dict
    judged:
      description: Whether it is known which servers are there and where they are pinned. Where it
        is not, a good end is none.
      returned: success
      type: bool
    starts:
      description: Whether nova-compute runs.
      returned: success
      type: bool
    reports:
      description: Whether it runs and its updates succeed.
      returned: success
      type: bool
    error:
      description: What it dies of or its updates fail with, C(name) and C(text). C(crash) marks an
        error that Nova does not mean to raise.
      returned: success
      type: dict
    moved:
      description: Number of servers whose allocation moves from VCPU to PCPU.
      returned: success
      type: int
    inventory:
      description: What Placement knows of VCPU and PCPU C(before) and C(after), each with C(total),
        C(reserved) and C(ratio). A class that is not offered is left out.
      returned: success
      type: dict
    findings:
      description: What the rules found, worst first.
      returned: success
      type: list
      elements: dict
      contains:
        code:
          description: Code of the rule.
          returned: success
          type: str
          sample: FU-02
        severity:
          description: One of V(error), V(warning) and V(info).
          returned: success
          type: str
        title:
          description: What the rule is about.
          returned: success
          type: str
        what:
          description: What is wrong.
          returned: success
          type: str
        effect:
          description: What happens then.
          returned: success
          type: str
        fix:
          description: What to do, as options and commands where there are such.
          returned: success
          type: str
        where:
          description: File and line or key.
          returned: success
          type: str
        waived:
          description: C(reason), C(owner) and last day, C(expires), of its waiver; null without
            one.
          returned: success
          type: dict
        known:
          description: Whether the baseline has it.
          returned: success
          type: bool
waivers:
  description: What is wrong with the waivers, in the same form as the findings.
  returned: success
  type: list
  elements: dict
report:
  description: The report as text.
  returned: success
  type: str
"""
