#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: tree_facts
short_description: Read what decides about CPU pinning from a captured tree of files
version_added: 0.1.0
description:
  - Reads the same facts as M(pinguard.nova.host_facts), on the controller, from files that were
    captured on a compute host, such as an unpacked sosreport or a copy of C(/sys), C(/proc) and
    C(/etc).
  - They become facts of the host that the task is for.
options:
  root:
    description:
      - Directory on the controller that holds C(sys), C(proc) and C(etc) of the host.
      - A relative path starts at the playbook.
      - Symbolic links in the tree lead nowhere outside of it; absolute ones mean a place in it.
    type: path
    required: true
extends_documentation_fragment:
  - pinguard.nova._host_facts.sources
  - pinguard.nova._attributes.reads
  - pinguard.nova._attributes.facts
  - pinguard.nova._attributes.controller
seealso:
  - module: pinguard.nova.host_facts
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: Read the facts of a host from its unpacked sosreport
  pinguard.nova.tree_facts:
    root: captured/sosreport-{{ inventory_hostname }}
    release: 27.1.0

- name: Read them from a host with Arm's large pages, with the files of its nova-compute named
  pinguard.nova.tree_facts:
    root: captured/{{ inventory_hostname }}
    page_kb: 64
    nova_conf:
      - /etc/nova/nova.conf
"""

RETURN = r"""
ansible_facts:
  description: The facts of the host under one name.
  returned: success
  type: dict
  contains:
    pinguard:
      description: What audits take for a host. This is also the form of a file of facts.
      returned: success
      type: dict
      contains:
        format:
          description: Version of this form.
          returned: success
          type: int
          sample: 1
        release:
          description: The Nova release that O(release) gave.
          returned: when O(release) is given
          type: str
          sample: 27.1.0
        topology:
          description:
            - The hardware as libvirt shows it to Nova. Sets of CPUs are lists of ids and ranges.
          returned: success
          type: dict
          contains:
            online:
              description: CPUs that are online.
              returned: success
              type: str
              sample: 0-15
            present:
              description: CPUs that exist, online or not.
              returned: success
              type: str
              sample: 0-15
            isolated:
              description:
                - CPUs that the kernel keeps its scheduler off, or null where the kernel does not
                  tell.
              returned: success
              type: str
              sample: 2-7,10-15
            cells:
              description: NUMA cells by their ids, those with memory alone or CPUs alone too.
              returned: success
              type: list
              elements: dict
              contains:
                id:
                  description: Id of the cell.
                  returned: success
                  type: int
                  sample: 0
                cpus:
                  description: Its online CPUs.
                  returned: success
                  type: str
                  sample: 0-3,8-11
                memory_mb:
                  description: Its memory in MiB.
                  returned: success
                  type: int
                  sample: 64231
                pages:
                  description: Its pages in all, by their size in KiB.
                  returned: success
                  type: dict
                  sample: {"4": 12248839, "2048": 8192, "1048576": 0}
            siblings:
              description: The online threads of each core that has two or more.
              returned: success
              type: list
              elements: str
              sample: ["0,8", "1,9"]
            sockets:
              description: Online CPUs by the id of their socket.
              returned: success
              type: dict
              sample: {"0": "0-3,8-11", "1": "4-7,12-15"}
        nova:
          description: What C(nova.conf) says, read as oslo.config reads it.
          returned: success
          type: dict
          contains:
            options:
              description:
                - Options that are set. Their names have the section in front unless it is
                  C(DEFAULT).
                - The value of C(reserved_huge_pages) is a list, for all values of this option
                  count.
              returned: success
              type: dict
              sample:
                compute.cpu_dedicated_set:
                  value: 2-7,10-15
                  where: /etc/nova/nova.conf:12
            strays:
              description:
                - Keys that were probably meant to be one of the options, but that Nova does not
                  read where they stand.
              returned: success
              type: list
              elements: dict
              sample:
                - key: cpu_shared_set
                  section: DEFAULT
                  where: /etc/nova/nova.conf:3
                  belongs: "[compute] cpu_shared_set"
            files:
              description: The files that were read, in order.
              returned: success
              type: list
              elements: str
              sample: [/etc/nova/nova.conf, /etc/nova/nova-compute.conf]
        kernel:
          description: The running kernel.
          returned: where C(/proc/cmdline) exists
          type: dict
          contains:
            cmdline:
              description:
                - Arguments of its command line that concern CPUs and pages, with their values as
                  written, null without one.
                - The values of C(hugepages) and C(hugepagesz) are lists.
              returned: success
              type: dict
              sample:
                isolcpus: managed_irq,domain,2-7,10-15
        tuned:
          description: What the tuning daemon was told.
          returned: where a profile is active
          type: dict
          contains:
            profile:
              description: The active profile.
              returned: success
              type: str
              sample: cpu-partitioning
            isolated_cores:
              description: Cores that the profile was told to isolate, as written.
              returned: when they are listed, not computed by the profile
              type: str
              sample: 2-7,10-15
        data_path_cpus:
          description: The CPUs that O(data_path_cpus) gave, as a list.
          returned: when O(data_path_cpus) is given
          type: str
          sample: 4,64
"""
