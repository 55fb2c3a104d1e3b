#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_audit
short_description: Audit the configuration of compute hosts
version_added: 0.1.0
description:
  - Holds the CPU and memory options of each host against its hardware, its Nova release and the
    rules, and draws a map of its CPUs.
  - It works on facts and files alone, on the controller, and asks no API.
extends_documentation_fragment:
  - pinguard.nova._fleet
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
seealso:
  - module: pinguard.nova.host_facts
  - module: pinguard.nova.flavor_audit
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: Audit the hosts of a group
  pinguard.nova.host_audit:
    hosts: [nova_compute]
  run_once: true

- name: Audit captured hosts
  pinguard.nova.host_audit:
    facts: facts
    release: 27.1.0
"""

RETURN = r"""
status:
  description: V(0) success, V(1) warnings, V(2) failure.
  returned: success
  type: int
  sample: 2
summary:
  description: Numbers of hosts, flavors, decisions and findings, and all of it in one sentence.
  returned: success
  type: dict
  contains:
    verdict:
      description: The sentence.
      returned: success
      type: str
    hosts:
      description: Number of hosts. C(host_classes) counts those that differ.
      returned: success
      type: int
    flavors:
      description: Number of flavors.
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
    primary:
      description:
        - Boots by the primary query, counted by flavor and class of hosts; C(fallback) and
          C(refused) alike.
      returned: success
      type: int
hosts:
  description: Classes of equal hosts. Rows and findings name them by their places in this list.
  returned: success
  type: list
  elements: dict
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
      sample: FL-08
    severity:
      description: One of V(error), V(warning) and V(info).
      returned: success
      type: str
    title:
      description: What the rule is about.
      returned: success
      type: str
    subject:
      description: What it is found in.
      returned: success
      type: str
      sample: flavor rt.large
    what:
      description: What is wrong.
      returned: success
      type: str
    effect:
      description: What happens then.
      returned: success
      type: str
    fix:
      description: What to do, as commands where there are such.
      returned: success
      type: str
    where:
      description: File and line or key.
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
    hosts:
      description: Hosts concerned, in short.
      returned: success
      type: str
      sample: cmp-01..cmp-20 (20 hosts)
    classes:
      description: Their classes.
      returned: success
      type: list
      elements: int
rows:
  description: For each flavor, alone and with images that make a difference, the decisions on
    hosts.
  returned: success
  type: list
  elements: dict
report:
  description: The report as text.
  returned: success
  type: str
maps:
  description: The map of the CPUs of one host of each class, by its name.
  returned: success
  type: dict
"""
