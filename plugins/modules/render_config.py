#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: render_config
short_description: Render CPU sets of compute hosts into the input of a deployer
version_added: 0.1.0
description:
  - Works out which CPUs of each host are for floating vCPUs, for pinned vCPUs and for the host
    itself, and writes the options of C(nova.conf) that say so, in the shape and at the path that
    the deployer takes.
  - The settings of tuned and the kernel's arguments that go with them are rendered beside them.
  - Nothing is written unless everything can be. What a rule at C(error) finds in the result, and
    what would stop C(nova-compute), is refused.
options:
  servers:
    description:
      - Servers on the hosts; a path of a file or folder of them, a document, or a list of such.
        CPUs that servers are pinned to become dedicated on all hosts that are otherwise equal, and
        options that C(nova-compute) would not start with beside them are refused.
      - Without any, hosts are taken to be empty unless their facts tell what is in use, and CPUs
        that servers are pinned to may be lost; a warning says so. An empty list says that there is
        no server.
    type: raw
  flavors:
    description:
      - Flavors that O(servers) name, in any form that M(pinguard.nova.flavor_audit) takes.
    type: raw
  images:
    description:
      - Images that O(servers) name, in the same forms.
    type: raw
  release:
    description:
      - Nova release of hosts whose facts name none. A point release such as V(27.1.0), or a series
        such as V(2025.1), which stands for its first release.
    type: str
    default: 34.0.0
  wish:
    description:
      - How the cores of each NUMA cell are shared out, always whole cores with all of their
        threads. The lowest cores of a cell are kept for the host, the next ones are shared, the
        rest is dedicated.
      - CPUs of the data path that the facts name stay out of it with their thread siblings. Cores
        that guests are pinned to stay dedicated.
      - Excludes O(sets); one of both is required. V({}) takes all defaults.
    type: dict
    suboptions:
      housekeeping_cores:
        description: Cores of a cell that are kept for the host.
        type: int
        default: 1
      housekeeping_in_each_cell:
        description: Whether each cell keeps such cores, or the cell of CPU 0 alone.
        type: bool
        default: true
      shared_fraction:
        description: Part of a cell's other cores that is shared, from 0 to 1.
        type: float
        default: 0.0
      shared_cores:
        description: Number of a cell's other cores that are shared, in place of
          O(wish.shared_fraction).
        type: int
      leave_out:
        description: CPUs that are left out, with their thread siblings; such as V(4,64).
        type: str
  sets:
    description:
      - Both sets as they are to be, the same on all hosts.
    type: dict
    suboptions:
      cpu_shared_set:
        description: CPUs for floating vCPUs.
        type: str
      cpu_dedicated_set:
        description: CPUs for pinned vCPUs.
        type: str
  phase:
    description:
      - V(new) sets C(cpu_shared_set) and C(cpu_dedicated_set).
      - V(legacy) sets C(vcpu_pin_set) as it is today, or to the CPUs of both sets where it is not
        set; tuned and kernel are left alone.
    type: str
    choices: [new, legacy]
    default: new
  intent:
    description:
      - V(pinned) lets tuned keep the host's own tasks off the CPUs of pinned guests and of the data
        path, with its profile C(cpu-partitioning). The kernel's arguments stay as they are.
      - V(realtime) isolates these CPUs by the kernel's arguments too, and takes the profile
        C(realtime-virtual-host).
    type: str
    choices: [pinned, realtime]
    default: pinned
  deployer:
    description:
      - V(nova_conf_d) is a file for C(/etc/nova/nova.conf.d), V(nova_conf) the sections for
        C(nova.conf) itself.
      - V(kolla_ansible) is C(nova/HOST/nova.conf) below C(/etc/kolla/config), V(kayobe)
        C(kolla/config/nova/HOST/nova.conf) below C($KAYOBE_CONFIG_PATH).
      - V(openstack_ansible) is C(host_vars/HOST/pinguard.yml) below C(/etc/openstack_deploy), with
        C(nova_nova_conf_overrides) and C(openstack_host_custom_grub_options).
      - V(edpm) is a ConfigMap with the file C(25-nova-cpu-pinning.conf), and the variables of the
        node set. V(charm) is an overlay of a bundle with the options of nova-compute. Both are one
        for all hosts of the same contents, named after the first of them.
    type: str
    required: true
    choices: [nova_conf_d, nova_conf, kolla_ansible, kayobe, openstack_ansible, edpm, charm]
  dest:
    description:
      - Folder on the controller that the files are written below. It must exist. Each file is
        replaced at once, and only if it changes; one that an operator wrote never is. A relative
        path starts in the current directory.
      - What earlier runs wrote and this one does not render is left where it is.
      - Without it the texts are returned alone.
    type: path
extends_documentation_fragment:
  - pinguard.nova._fleet
  - pinguard.nova._attributes.controller
attributes:
  check_mode:
    description: Can run in check mode and reports what it would change.
    support: full
  diff_mode:
    description: Shows what changed, or would change, in diff mode.
    support: full
seealso:
  - module: pinguard.nova.host_facts
  - module: pinguard.nova.host_audit
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: Keep a core of each cell, share a quarter of the others
  pinguard.nova.render_config:
    hosts: [compute]
    wish:
      shared_fraction: 0.25
    deployer: kolla_ansible
    dest: /etc/kolla/config
  run_once: true

- name: Show what real-time hosts would take
  pinguard.nova.render_config:
    facts: facts
    wish:
      housekeeping_cores: 2
    intent: realtime
    deployer: edpm
  register: rendered
"""

RETURN = r"""
files:
  description: The files, in the order of the hosts.
  returned: success
  type: list
  elements: dict
  contains:
    hosts:
      description: Hosts that the file is for.
      returned: success
      type: list
      elements: str
    path:
      description: Path below O(dest).
      returned: success
      type: str
      sample: nova/cmp-01/nova.conf
    text:
      description: What the file says.
      returned: success
      type: str
    notes:
      description: What is left to do by hand.
      returned: success
      type: list
      elements: str
"""
