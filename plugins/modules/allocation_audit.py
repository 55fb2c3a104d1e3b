#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: allocation_audit
short_description: Find what Placement has wrong about servers, and what puts it right
version_added: 0.1.0
description:
  - Holds what each server is allocated in Placement, and the host CPUs that it is pinned to,
    against what it is due on its host. Finds pinned servers that hold VCPU beside dedicated CPUs,
    wrong amounts, thread siblings that Placement does not count, servers that hold nothing, classes
    that the host does not report, pins that the host does not have or that two servers share, and
    allocations of consumers that are no servers.
  - For each finding it works out the repair. A server is tried on every other host, and those are
    named on which nothing is found in it thereafter; where there is none, it says why. Servers that
    are given a host take their room there from those that follow.
  - Says of each server what C(nova-manage placement heal_allocations) would do, which goes by the
    flavor alone.
  - It works on facts and files alone, on the controller, asks no API and changes nothing.
options:
  servers:
    description:
      - The servers, with the flavors that they were made of and what is allocated to them, and what
        is allocated to other consumers; paths of files and folders, documents, or a list of both.
      - Those of O(fleet) come first. Without any server or allocation the task fails.
      - Of a server whose allocation is not told, only the pins are judged.
    type: raw
  flavors:
    description:
      - Flavors that servers name, as the path of a file, as a document in any shape that such a
        file may have, or as a list of both. Those of O(fleet) come first.
    type: raw
  images:
    description:
      - Images that servers name, in the same forms.
    type: raw
extends_documentation_fragment:
  - pinguard.nova._fleet
  - pinguard.nova._fleet.scheduler
  - pinguard.nova._fleet.report
  - pinguard.nova._fleet.exceptions
  - pinguard.nova._attributes.controller
attributes:
  check_mode:
    description: Can run in check mode and reports what it would change.
    support: full
    details: The audit is made; no file is written.
  diff_mode:
    description: Shows what changed, or would change, in diff mode.
    support: full
notes:
  - A server that is being moved accounts for one consumer that holds as much as it asks for, its
    migration. Others are reported; make the checks that the report names before anything is
    deleted.
  - A cold migration, as a resize, stops the server for a while.
seealso:
  - module: pinguard.nova.host_facts
  - module: pinguard.nova.fallback_readiness
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: Hold the allocations of all servers against what they are due
  pinguard.nova.allocation_audit:
    servers: [servers.json, allocations.json]
    flavors: /etc/openstack_deploy/flavors.yml
    release: 27.1.0
    show: true
  run_once: true

- name: Audit a fleet on file, and keep the report
  pinguard.nova.allocation_audit:
    fleet: fleet.yml
    fail_on: never
    report_path: /var/tmp/allocations.txt
    json_path: /var/tmp/allocations.json
  register: allocations

- name: Show what to run
  ansible.builtin.debug:
    msg: "{{ allocations.findings | map(attribute='repair.commands') | flatten }}"
"""

RETURN = r"""
status:
  description: V(0) success, V(1) warnings, V(2) failure.
  returned: success
  type: int
  sample: 2
verdict:
  description: All of it in one sentence.
  returned: success
  type: str
release:
  description: Nova release of API and scheduler.
  returned: success
  type: str
summary:
  description: Numbers of hosts, servers and findings.
  returned: success
  type: dict
  contains:
    hosts:
      description: Number of hosts.
      returned: success
      type: int
    servers:
      description: Number of servers that are on a host. C(untold) counts those whose allocation
        nobody told.
      returned: success
      type: int
    error:
      description: Number of findings of this severity; C(warning) and C(info) alike.
      returned: success
      type: int
    waived:
      description: Number of findings that are waived; they are not among those by severity.
      returned: success
      type: int
    known:
      description: Number of findings that the baseline has; they are not among those by severity
        either.
      returned: success
      type: int
    repairable:
      description: Number of findings that a repair is known for.
      returned: success
      type: int
findings:
  description: What is wrong, worst first.
  returned: success
  type: list
  elements: dict
  contains:
    code:
      description: Code of the rule.
      returned: success
      type: str
      sample: FU-10
    severity:
      description: One of V(error), V(warning) and V(info).
      returned: success
      type: str
    title:
      description: What the rule is about.
      returned: success
      type: str
    subject:
      description: C(server NAME (ID\)) or C(consumer ID).
      returned: success
      type: str
    id:
      description: ID of the server or of the other consumer.
      returned: success
      type: str
    host:
      description: The host that it is on.
      returned: success
      type: str
    kind:
      description: How the host is configured.
      returned: success
      type: str
      sample: shared and dedicated
    what:
      description: What is wrong.
      returned: success
      type: str
    effect:
      description: What happens then.
      returned: success
      type: str
    fix:
      description: What to do, in one line.
      returned: success
      type: str
    where:
      description: File and key that the server was read from.
      returned: success
      type: str
    waived:
      description: C(reason), C(owner) and last day, C(expires), of its waiver; null without one.
      returned: success
      type: dict
    known:
      description: Whether the baseline has it.
      returned: success
      type: bool
    repair:
      description: How to put it right.
      returned: success
      type: dict
      contains:
        way:
          description: One of V(migrate), V(resize), V(heal), V(delete), V(unset) and V(none).
          returned: success
          type: str
        first:
          description: What to do or to make sure of before.
          returned: success
          type: list
          elements: str
        commands:
          description: What to run, in order. A command names the first of C(hosts).
          returned: success
          type: list
          elements: str
        hosts:
          description: Up to three hosts on which nothing is found in the server thereafter.
            C(host_count) counts all of them.
          returned: success
          type: list
          elements: str
        refusals:
          description: Where there is no such host, each C(reason) with the C(hosts) that it holds
            for.
          returned: success
          type: list
          elements: dict
        heal:
          description: What C(nova-manage placement heal_allocations) would do.
          returned: success
          type: str
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
