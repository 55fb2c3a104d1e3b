#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_plan
short_description: Plan the rolling upgrade of a fleet
version_added: 0.1.0
description:
  - Orders the steps that take a fleet to a later release, from C(vcpu_pin_set) or nothing to
    C(cpu_shared_set) and C(cpu_dedicated_set), and to a scheduler without its fallback query for
    VCPU.
  - Every step is simulated on all that came before it. In each, every flavor in use finds a host
    that has the right class of inventory for it, the room that is asked for is there, no server
    lands on the wrong class or keeps pins that its host does not have any more, nova-compute
    starts, and no step brings services together that refuse each other.
  - Where there is no such order, the plan goes as far as it is safe and names the constraint that
    forbids more.
  - The same input gives the same plan. It works on facts and files alone, on the controller, and
    asks no API. Nothing is carried out.
options:
  servers:
    description:
      - The servers with their pins and what is allocated to them; paths of files and folders,
        documents, or a list of both.
      - Without any, hosts are taken to be empty, and the plan bears a warning. An empty list says
        that there is none.
    type: raw
  flavors:
    description:
      - The flavors, as the path of a file, as a document in any shape that such a file may have, or
        as a list of both. Those that a server has are in use. Where there is no server, all are.
    type: raw
  images:
    description:
      - The images, in the same forms, which O(servers) may name.
    type: raw
  goal:
    description:
      - The goal, as a mapping or as the path of a file of YAML or JSON.
      - C(release) is the release to reach, by default that of today.
      - C(hosts) lists what is to change, each with C(match), a name or pattern of names or a list
        of such, and either C(wish), which shares out the cores as in
        M(pinguard.nova.render_config), or C(sets) with C(cpu_shared_set) and C(cpu_dedicated_set).
        The first that matches a host counts.
      - C(batch_size) is how many hosts are out at once, by default 1. C(spare) is the number of
        further guests of each flavor in use that must find room meanwhile, by default 0.
      - C(leave) names hosts that stay as they are. C(live) says whether servers are migrated live
        where Nova can, and not cold, by default V(false). C(disable_fallback) says whether the
        fallback query is turned off in the end, by default V(true).
    type: raw
    required: true
  fail_on:
    description:
      - What makes the task fail. V(error) where the plan does not reach its goal, V(warning) also
        where it does with warnings. The result is returned all the same.
    type: str
    choices: [error, warning, never]
    default: error
  json_path:
    description:
      - The same for what RV(plan) describes, as JSON.
    type: path
extends_documentation_fragment:
  - pinguard.nova._fleet
  - pinguard.nova._fleet.scheduler
  - pinguard.nova._fleet.report
  - pinguard.nova._attributes.controller
attributes:
  check_mode:
    description: Can run in check mode and reports what it would change.
    support: full
    details: The plan is made; no file is written.
  diff_mode:
    description: Shows what changed, or would change, in diff mode.
    support: full
seealso:
  - module: pinguard.nova.host_facts
  - module: pinguard.nova.restart_check
  - module: pinguard.nova.fallback_readiness
  - module: pinguard.nova.nova_conf
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: Plan the move of a group of hosts
  pinguard.nova.upgrade_plan:
    hosts: [nova_compute]
    flavors: flavors.json
    servers: [servers.json, domains/cmp-01, domains/cmp-02]
    release: 27.5.1
    goal:
      release: 29.4.0
      hosts:
        - match: "cmp-*"
          wish: {housekeeping_cores: 1, shared_fraction: 0.25}
      batch_size: 2
      spare: 1
    report_path: plan.txt
    markdown_path: plan.md
    json_path: plan.json
  run_once: true

- name: Plan from files, and look at it whatever comes of it
  pinguard.nova.upgrade_plan:
    fleet: fleet.yml
    servers: servers.yml
    goal: goal.yml
    fail_on: never
    show: true
"""

RETURN = r"""
status:
  description: V(0) complete, V(1) complete with warnings, V(2) blocked.
  returned: success
  type: int
  sample: 0
verdict:
  description: The plan in one sentence.
  returned: success
  type: str
  sample: "COMPLETE: 12 steps with 8 hosts; 2 servers moved, 5 rebooted hard; each flavor in use
    keeps a host throughout; no host pins to VCPU any more."
plan:
  description: The plan, in the form of the schema C(plan.json) of this collection.
  returned: success
  type: dict
  contains:
    complete:
      description: Whether the steps reach the goal.
      returned: success
      type: bool
    release:
      description: Nova release C(current) and C(target).
      returned: success
      type: dict
    legacy:
      description: Number of hosts that pin to VCPU inventory, C(before) and C(after).
      returned: success
      type: dict
    batch_size:
      description: That of the goal.
      returned: success
      type: int
    spare:
      description: That of the goal.
      returned: success
      type: int
    flavors:
      description: The flavors in use, for which each step keeps a host.
      returned: success
      type: list
      elements: str
    unschedulable:
      description: Flavors in use that no host takes today; the plan does not look after them.
      returned: success
      type: list
      elements: str
    advisories:
      description: Known traps between the releases, each with C(code), C(text) and C(advice).
      returned: success
      type: list
      elements: dict
    blockers:
      description: What forbids to go on, each with its C(constraint), C(text), C(advice) and
        C(hosts).
      returned: success
      type: list
      elements: dict
    steps:
      description: The steps in order, as far as they are safe.
      returned: success
      type: list
      elements: dict
      contains:
        number:
          description: From 1 on.
          returned: success
          type: int
        kind:
          description: One of V(control), V(upgrade), V(reconfigure), V(flip) and V(clean).
          returned: success
          type: str
        release:
          description: Release that the services of the step run thereafter, where that changes.
          returned: success
          type: str
        note:
          description: What else there is to say.
          returned: success
          type: str
        room:
          description: Number of hosts that take one more guest of each flavor in use while those of
            the step are out.
          returned: success
          type: dict
        hosts:
          description: The hosts of the step.
          returned: success
          type: list
          elements: dict
          contains:
            name:
              description: The host.
              returned: success
              type: str
            settings:
              description: Options to set, as O(pinguard.nova.nova_conf#module:settings) takes them;
                none where they stay.
              returned: success
              type: dict
            moves:
              description: Servers to migrate before, each with C(id), C(name), the host that is its
                C(target), whether it goes C(live), and its CPU C(allocation) there.
              returned: success
              type: list
              elements: dict
            reshaped:
              description: Number of servers whose allocation the restart moves from VCPU to PCPU.
              returned: success
              type: int
            reboots:
              description: Servers to reboot hard thereafter, each with C(id) and C(name).
              returned: success
              type: list
              elements: dict
            expected:
              description: Totals of VCPU and PCPU in the inventory thereafter.
              returned: success
              type: dict
report:
  description: The plan as text.
  returned: success
  type: str
"""
