#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_facts
short_description: Read what decides about CPU pinning on a compute host
version_added: 0.1.0
description:
  - Reads the hardware topology, the CPU and memory options of C(nova.conf), the kernel's command
    line and the profile
    of tuned, and returns them as fact C(pinguard), which the audits of this collection take.
  - It reads files only, runs no command and needs no library beyond Python's own.
  - For captured trees on the controller there is M(pinguard.nova.tree_facts).
options:
  root:
    description:
      - Directory below which the files of the host stand.
      - Symbolic links below another directory than V(/) lead nowhere outside of it.
    type: path
    default: /
extends_documentation_fragment:
  - pinguard.nova._host_facts.sources
  - pinguard.nova._attributes.reads
  - pinguard.nova._attributes.facts
seealso:
  - module: pinguard.nova.tree_facts
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: Read the facts of each compute host
  pinguard.nova.host_facts:
    release: 27.1.0
  become: true

- name: Read a configuration that stands in an unusual place
  pinguard.nova.host_facts:
    nova_conf:
      - /srv/nova/nova.conf
      - /srv/nova/conf.d
    data_path_cpus: "0x30"
  become: true

- name: Keep them as one file a host for an audit without the hosts
  ansible.builtin.copy:
    content: "{{ ansible_facts.pinguard | ansible.builtin.to_nice_json }}"
    dest: facts/{{ inventory_hostname }}.json
    mode: "0644"
  delegate_to: localhost
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

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.host import (
    ARGUMENTS,
    NO_FILE,
    host_facts,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={"root": {"type": "path", "default": "/"}, **ARGUMENTS},
        supports_check_mode=True,
    )
    try:
        facts = host_facts(**module.params)
    except InputError as error:
        module.fail_json(msg=str(error))
    if not facts["nova"]["files"]:
        module.warn(NO_FILE)
    module.exit_json(changed=False, ansible_facts={"pinguard": facts})


if __name__ == "__main__":
    main()
