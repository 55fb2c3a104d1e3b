#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: guest_facts
short_description: Read where the guests of a compute host run
version_added: 0.1.0
description:
  - Reads the domains of libvirt, live and as the next start would make them, together with the
    CPUs, the scheduling policy and the priority that the kernel gives each thread of their
    processes. It returns them as fact C(pinguard_guests).
  - libvirt is asked with C(virsh), read-only where it allows that. Nothing is changed, and no guest
    is touched.
  - It needs no library beyond Python's own.
options:
  virsh:
    description:
      - The command that asks libvirt, with its first arguments. It is run without a shell.
    type: list
    elements: str
    default: [virsh]
  container:
    description:
      - Container in which O(virsh) is run, where the host itself has none or does not reach
        libvirt, such as V(nova_libvirt).
      - It is run with the one of C(podman) and C(docker) that has this container. For anything else
        write the whole command in O(virsh).
    type: str
  uri:
    description: The connection of libvirt.
    type: str
    default: qemu:///system
  xml:
    description:
      - Files with the XML of domains, and folders of them, as absolute paths on the host. They are
        read in place of libvirt, and no command is run. Of a folder the files C(*.xml) are read
        and those with C(dumpxml) in their names, as a sosreport has them.
      - The XML of a running domain has an id and is taken as the live one, any other as what the
        next start would make.
    type: list
    elements: path
  root:
    description:
      - Directory below which the files of O(xml) and C(/proc) stand.
      - Another directory than V(/) needs O(xml).
    type: path
    default: /
  domains:
    description:
      - UUIDs and libvirt names of the domains to read, by default all. What the host does not have
        is passed over, so that one list can serve many hosts.
    type: list
    elements: str
  memory:
    description:
      - Whether to read on which NUMA cells of the host the memory of each guest is.
      - The kernel walks the page tables of the whole process for it, and meanwhile the process can
        get no memory. That can stall a guest, those with much memory in small pages for long.
    type: bool
    default: false
  timeout:
    description:
      - Seconds that one call of O(virsh) may take. After three calls without an answer libvirt is
        asked for no other domain.
    type: int
    default: 30
notes:
  - Root is needed (C(become)). Others do not reach libvirt, or do not see all of its domains, and
    cannot read where memory is.
  - With Kolla Ansible libvirt is in the container C(nova_libvirt), and so it is in TripleO, as
    C(nova_libvirt) or C(nova_virtqemud). On the data plane nodes of RHOSO (EDPM) and with
    OpenStack-Ansible C(virsh) of the host reaches it. The threads are read in C(/proc) of the host
    in each case.
  - A domain whose XML cannot be used is named in RV(ansible_facts.pinguard_guests.unread), and the
    others are read. A domain or thread that ends meanwhile is passed over.
  - Of the XML only what is listed below is returned. Passwords are not even asked for. Of Nova's
    metadata the names of user and project are left out.
extends_documentation_fragment:
  - pinguard.nova._attributes.reads
  - pinguard.nova._attributes.facts
seealso:
  - module: pinguard.nova.host_facts
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: Read the guests where virsh of the host reaches libvirt (EDPM, OpenStack-Ansible, packages)
  pinguard.nova.guest_facts:
  become: true

- name: Read them where libvirt is in a container (Kolla Ansible)
  pinguard.nova.guest_facts:
    container: nova_libvirt
  become: true

- name: Read two of them, and where their memory is, with the whole command written
  pinguard.nova.guest_facts:
    virsh: [podman, exec, nova_virtqemud, virsh]
    domains:
      - instance-00000012
      - 6f3c1d0a-6a3e-4a52-9c0b-2f1d6a3c9e11
    memory: true
  become: true

- name: Keep them as one file a host
  ansible.builtin.copy:
    content: "{{ ansible_facts.pinguard_guests | ansible.builtin.to_nice_json }}"
    dest: guests/{{ inventory_hostname }}.json
    mode: "0644"
  delegate_to: localhost

- name: Read what a sosreport holds
  pinguard.nova.guest_facts:
    root: /srv/sosreport-cmp-01
    xml: [/sos_commands/virsh]
  delegate_to: localhost
"""

RETURN = r"""
ansible_facts:
  description: The guests of the host under one name.
  returned: success
  type: dict
  contains:
    pinguard_guests:
      description: What audits take for the guests of a host. It is also the form of a file of them.
      returned: success
      type: dict
      contains:
        format:
          description: Version of this form.
          returned: success
          type: int
          sample: 1
        libvirt:
          description: The RV(ansible_facts.pinguard_guests.libvirt.version) of the daemon.
          returned: where libvirt was asked and tells it
          type: dict
          contains:
            version:
              description: Its version.
              returned: success
              type: str
              sample: 9.0.0
        domains:
          description: The domains by name, those that Nova does not manage too.
          returned: success
          type: list
          elements: dict
          contains:
            id:
              description: UUID, which is also that of the server.
              returned: success
              type: str
              sample: 6f3c1d0a-6a3e-4a52-9c0b-2f1d6a3c9e11
            name:
              description: libvirt's name.
              returned: success
              type: str
              sample: instance-00000012
            running:
              description: Whether it runs, be it paused, as libvirt or its process tell.
              returned: success
              type: bool
              sample: true
            pid:
              description: Its process on the host.
              returned: where a process with its UUID was found
              type: int
              sample: 4711
            nova:
              description:
                - What Nova wrote into the XML when it last generated it, the RV(ignore:package)
                  that did, name, flavor, and from release 32 on extra specs and image.
              returned: for domains of Nova
              type: dict
              sample:
                package: 32.1.0-1.el9
                name: db-1
                flavor: {name: pinned, vcpus: 4, ram: 2048, disk: 20, ephemeral: 0, swap: 0}
            live:
              description: What the XML of the running domain says of its CPUs and memory.
              returned: where the domain runs and libvirt tells it
              type: dict
              sample:
                vcpus: 2
                cputune:
                  emulatorpin: "6"
                  vcpupin: {"0": "6", "1": "7"}
                  vcpusched: {"1": {policy: fifo, priority: 1}}
                numatune: {mode: strict, nodeset: "0", memnode: {"0": "0"}}
            persistent:
              description: The same of what the next start outside of Nova would make.
              returned: where libvirt tells it
              type: dict
              sample: {vcpus: 2}
            threads:
              description:
                - The threads of its process, and the kernel's vhost workers that serve it.
              returned: where the process was found and its threads have their names
              type: list
              elements: dict
              contains:
                id:
                  description: Id of the thread on the host.
                  returned: success
                  type: int
                  sample: 4720
                name:
                  description: Its name.
                  returned: success
                  type: str
                  sample: CPU 0/KVM
                kind:
                  description:
                    - What it is for, V(vcpu), V(iothread) or V(vhost). All others are V(emulator).
                  returned: success
                  type: str
                  sample: vcpu
                index:
                  description: Number of the vCPU or of the I/O thread.
                  returned: for these two
                  type: int
                  sample: 0
                main:
                  description: True for the main thread of the process.
                  returned: for this one
                  type: bool
                  sample: true
                cpus:
                  description: CPUs of the host that it may run on, those of its cpuset alone.
                  returned: success
                  type: str
                  sample: "6"
                policy:
                  description:
                    - Its scheduling policy, V(other), V(fifo), V(rr), V(batch), V(idle),
                      V(deadline) or V(ext).
                  returned: success
                  type: str
                  sample: fifo
                priority:
                  description: Its priority with V(fifo) and V(rr), else 0.
                  returned: success
                  type: int
                  sample: 1
                last_cpu:
                  description: CPU of the host that it ran on last.
                  returned: success
                  type: int
                  sample: 6
            memory:
              description: Memory of its process.
              returned: where the process was found
              type: dict
              contains:
                locked_kb:
                  description: KiB that are locked.
                  returned: success
                  type: int
                  sample: 0
                swapped_kb:
                  description: KiB that are swapped out.
                  returned: success
                  type: int
                  sample: 0
                cells:
                  description:
                    - KiB by NUMA cell of the host, of all mappings of the process. QEMU's own are
                      among them.
                  returned: when O(memory=true)
                  type: dict
                  sample: {"0": 2135212}
            unread:
              description: What of this domain could not be read and why, one line each.
              returned: where there is something
              type: list
              elements: str
              sample: ["persistent: broken XML in line 3 (syntax error)"]
        unread:
          description: What of the host could not be read and why, one line each.
          returned: where there is something
          type: list
          elements: str
          sample: ["domain 6f3c1d0a-6a3e-4a52-9c0b-2f1d6a3c9e11: there is no vcpu"]
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.guests import (
    ARGUMENTS,
    guest_facts,
)


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        facts = guest_facts(**module.params)
    except InputError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, ansible_facts={"pinguard_guests": facts})


if __name__ == "__main__":
    main()
