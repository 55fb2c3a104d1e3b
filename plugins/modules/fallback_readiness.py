#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: fallback_readiness
short_description: Tell whether the scheduler can do without its fallback query for VCPU
version_added: 0.1.0
description:
  - On a fleet between C(vcpu_pin_set) and C(cpu_dedicated_set), the scheduler asks for the CPUs of
    a pinned guest twice, as PCPU and then as VCPU. C([workarounds] disable_fallback_pcpu_query) of
    the scheduler turns the second query off.
  - Tells which flavors and servers cannot do without that query, whom it harms while it is on, in
    which phase each host is, and what its next step is.
  - Where a flavor boots is decided on empty hosts, one of each class of equal hosts; whether they
    have room is another matter. A server is held against all other hosts as they are, as if it
    alone moved.
  - It works on facts and files alone, on the controller, and asks no API.
options:
  flavors:
    description:
      - The flavors, as the path of a file, as a document in any shape that such a file may have, or
        as a list of both. Those of O(fleet) come first.
      - Without any flavor the task fails.
    type: raw
  images:
    description:
      - The images, in the same forms. Each flavor is tried with each image that makes a difference.
    type: raw
  servers:
    description:
      - The servers, with the flavors that they were made of and what is allocated to them; paths of
        files and folders, documents, or a list of both.
      - Without any, nothing is told of servers that could not move.
    type: raw
  max_placement_results:
    description:
      - The scheduler's C([scheduler] max_placement_results). Placement gives no more hosts to a
        query, and always the same.
    type: int
    default: 1000
  fail_on:
    description:
      - What makes the task fail. V(error) where the fallback query cannot be done without,
        V(warning) also where something gets worse, or stays wrong, without it. The result is
        returned all the same.
    type: str
    choices: [error, warning, never]
    default: error
extends_documentation_fragment:
  - pinguard.nova._fleet
  - pinguard.nova._fleet.scheduler
  - pinguard.nova._fleet.report
  - pinguard.nova._attributes.controller
attributes:
  check_mode:
    description: Can run in check mode and reports what it would change.
    support: full
    details: Everything is judged; no file is written.
  diff_mode:
    description: Shows what changed, or would change, in diff mode.
    support: full
notes:
  - A flavor with C(hw:cpu_policy=mixed) or with C(resources:PCPU) never comes by the fallback query
    and is not told of.
seealso:
  - module: pinguard.nova.host_facts
  - module: pinguard.nova.flavor_audit
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: Tell whether the fallback query can go
  pinguard.nova.fallback_readiness:
    flavors: /etc/openstack_deploy/flavors.yml
    servers: servers.yml
    release: 27.1.0
    show: true
  run_once: true

- name: Judge a fleet on file, and keep the report
  pinguard.nova.fallback_readiness:
    fleet: fleet.yml
    fail_on: never
    report_path: /var/tmp/readiness.txt
    json_path: /var/tmp/readiness.json
  register: readiness

- name: Show what has to be done first
  ansible.builtin.debug:
    msg: "{{ readiness.blockers | map(attribute='fix') }}"
"""

RETURN = r"""
status:
  description: V(0) ready, V(1) ready with warnings, V(2) not ready.
  returned: success
  type: int
  sample: 2
may_turn_off:
  description: Whether every flavor and every server has a host without the fallback query.
  returned: success
  type: bool
is_off:
  description: Whether it is off today.
  returned: success
  type: bool
verdict:
  description: Both in one sentence.
  returned: success
  type: str
classes:
  description: The names of the hosts of each class. Flavors name classes by their places here.
  returned: success
  type: list
  elements: list
phases:
  description: The hosts by phase and next step.
  returned: success
  type: list
  elements: dict
  contains:
    phase:
      description: One of V(legacy), V(hybrid), V(new), V(shared only) and V(broken).
      returned: success
      type: str
    step:
      description: What to do next, in one line; V(nothing) where it is done.
      returned: success
      type: str
    hosts:
      description: The hosts.
      returned: success
      type: list
      elements: str
flavors:
  description: The flavors that come by the fallback query to any host.
  returned: success
  type: list
  elements: dict
  contains:
    flavor:
      description: Name of the flavor.
      returned: success
      type: str
    image:
      description: Name of the image, where it is one that makes a difference.
      returned: success
      type: str
    primary:
      description: Classes of hosts that it boots on by the PCPU query.
      returned: success
      type: list
      elements: int
    legacy:
      description: Legacy classes that it boots on by the fallback query.
      returned: success
      type: list
      elements: int
    wrong:
      description: Classes with dedicated CPUs that it boots on with VCPU, by the fallback query.
      returned: success
      type: list
      elements: int
    crashes:
      description:
        - Whether the scheduler falls over the record of a host from before Train that the fallback
          query lists, and no boot succeeds.
      returned: success
      type: bool
blockers:
  description: What has to be done before the fallback query is off, the most pressing first.
  returned: success
  type: list
  elements: dict
  contains: &point
    severity:
      description: One of V(error), V(warning) and V(info).
      returned: success
      type: str
    what:
      description: What is so.
      returned: success
      type: str
    effect:
      description: What happens then.
      returned: success
      type: str
    fix:
      description: What to do.
      returned: success
      type: str
    flavors:
      description: Flavors concerned, C(FLAVOR) or C(FLAVOR with image IMAGE).
      returned: success
      type: list
      elements: str
    servers:
      description: Names of servers concerned.
      returned: success
      type: list
      elements: str
    hosts:
      description: Hosts concerned.
      returned: success
      type: list
      elements: str
losses:
  description: What gets worse, or stays wrong, once the fallback query is off.
  returned: success
  type: list
  elements: dict
  contains: *point
hazards:
  description: What goes wrong while it is on.
  returned: success
  type: list
  elements: dict
  contains: *point
report:
  description: The report as text.
  returned: success
  type: str
"""
