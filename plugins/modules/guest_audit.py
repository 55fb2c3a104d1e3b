#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: guest_audit
short_description: Find running guests whose threads are where they hurt
version_added: 0.1.0
description:
  - Holds the XML of domains, and the threads of their QEMU processes, against what Nova of the
    release that generated them writes for flavor, image and pins, and against each other.
  - Finds emulator threads and vhost workers on the CPUs of realtime vCPUs, pins that two guests
    share or that their host no longer gives away, masks and policies that are not as the XML says,
    masks over isolated CPUs, which the kernel does not balance, memory on the wrong node, and
    domains that differ from what the next start would make of them.
  - Shows what is predicted, what runs and what would be better side by side, and sorts the guests
    by what they need, be it a hard reboot, a migration, a look, or nothing. What flavor and
    C(nova.conf) can say comes first, as Nova overwrites what is written into the XML by hand.
  - What could not be read is named. It is never taken for sound, and makes a warning at least.
  - It works on facts and files alone, on the controller, asks no API and changes nothing.
options:
  guests:
    description:
      - The guests, in place of the facts that M(pinguard.nova.guest_facts) gathered of the hosts;
        paths, documents, or a list of both.
      - A folder holds such facts, one file a host, named after it, or the XML of domains as
        C(HOST/DOMAIN.xml), from C(virsh dumpxml). XML alone tells nothing of threads.
      - A document maps names of hosts to such facts.
      - With O(fleet) and O(facts) it is needed.
    type: raw
  servers:
    description:
      - The servers as the API or the database has them, in the forms of
        O(pinguard.nova.allocation_audit#module:servers). Before Nova 32 a domain does not tell its
        extra specs; of servers that are not given they are inferred from the XML, which finds
        less.
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
  - A hard reboot and a cold migration stop the guest for a while; Nova writes the XML anew in both.
  - A live migration carries the XML over. What was added by hand stays in it.
seealso:
  - module: pinguard.nova.guest_facts
  - module: pinguard.nova.host_facts
  - module: pinguard.nova.flavor_audit
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: Read the hosts
  pinguard.nova.host_facts:
  become: true

- name: Read the guests
  pinguard.nova.guest_facts:
  become: true

- name: Find guests whose threads are where they hurt
  pinguard.nova.guest_audit:
    release: 29.2.0
    show: true
  run_once: true

- name: Audit what was kept as files
  pinguard.nova.guest_audit:
    facts: facts
    guests: guests
    servers: servers.json
    flavors: flavors.json
    fail_on: never
    report_path: /var/tmp/guests.txt
    json_path: /var/tmp/guests.json
  register: guests
  delegate_to: localhost

- name: Show what to run
  ansible.builtin.debug:
    msg: "{{ guests.guests | map(attribute='commands') | flatten }}"
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
summary:
  description: Numbers of hosts, guests, findings, and guests by what they need.
  returned: success
  type: dict
  contains:
    hosts:
      description: Number of hosts. C(untold) counts those whose guests nobody told.
      returned: success
      type: int
    guests:
      description: Number of guests. C(running) counts those that run, C(foreign) those that Nova
        does not manage, C(unread) those of which something could not be read.
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
    needs:
      description: Number of guests by what they need; C(reboot), C(migrate), C(look) and
        C(nothing).
      returned: success
      type: dict
hosts:
  description: The hosts, with what could not be read of them.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the host.
      returned: success
      type: str
    guests:
      description: Number of its guests; null where nobody told them.
      returned: success
      type: int
    unread:
      description: What could not be read, one line each.
      returned: success
      type: list
      elements: str
guests:
  description: The guests, by host.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: UUID of the domain, which is that of the server.
      returned: success
      type: str
    name:
      description: Name of the server, or of the domain where Nova does not manage it.
      returned: success
      type: str
    domain:
      description: Name of the domain.
      returned: success
      type: str
    host:
      description: The host that it is on.
      returned: success
      type: str
    running:
      description: Whether it runs.
      returned: success
      type: bool
    managed:
      description: Whether Nova manages it.
      returned: success
      type: bool
    release:
      description: Nova release that generated its XML, or that of the host where the XML does not
        tell.
      returned: success
      type: str
    flavor:
      description: Name of its flavor.
      returned: success
      type: str
    inferred:
      description: Whether the extra specs were read off the XML for want of a better source.
      returned: success
      type: bool
    policy:
      description: Emulator threads policy; V(share), V(isolate), or empty.
      returned: success
      type: str
    realtime:
      description: vCPUs under a realtime policy, as a list of CPUs.
      returned: success
      type: str
    pins:
      description: Host CPU of each pinned vCPU.
      returned: success
      type: dict
    emulator:
      description: CPUs of the emulator threads as C(predicted), as they are C(live) in the XML, as
        the C(threads) have them, and as they are C(proposed); null where that is not known.
      returned: success
      type: dict
    reported_form:
      description: Whether the emulator threads may run on the CPUs of all of its vCPUs, realtime
        ones included.
      returned: success
      type: bool
    needs:
      description: V(migrate), V(reboot), V(look) or V(nothing).
      returned: success
      type: str
    first:
      description: What flavor and C(nova.conf) can do about the emulator threads of a realtime
        guest, and what that costs, before any edit of the XML.
      returned: success
      type: list
      elements: str
    commands:
      description: What to run, in order.
      returned: success
      type: list
      elements: str
    differs:
      description: For each C(element) of the XML that differs what is C(predicted), C(live),
        C(persistent) and C(proposed).
      returned: success
      type: list
      elements: dict
    notes:
      description: What the proposed XML costs, and what is to be known of it.
      returned: success
      type: list
      elements: str
    unpredicted:
      description: Why there is no prediction; empty where there is one.
      returned: success
      type: str
    unread:
      description: What could not be read, one line each.
      returned: success
      type: list
      elements: str
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
      sample: DM-02
    severity:
      description: One of V(error), V(warning) and V(info).
      returned: success
      type: str
    title:
      description: What the rule is about.
      returned: success
      type: str
    subject:
      description: C(guest NAME (ID\)), or C(host NAME).
      returned: success
      type: str
    id:
      description: ID of the guest; null for what is found in the guests of a host together.
      returned: success
      type: str
    host:
      description: The host that it is on.
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
      description: What to do.
      returned: success
      type: str
    where:
      description: Where the guest was read from.
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
report:
  description: The report as text.
  returned: success
  type: str
"""
