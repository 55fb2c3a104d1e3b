#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: render_flavors
short_description: Render flavors that are safe on the hosts into the form of a client or deployer
version_added: 0.1.0
description:
  - Works out the extra specs of flavors from what they are wished to be for, and writes them in the
    form that the C(openstack) client or a deployer takes.
  - What a wish leaves open is tried out on each class of equal hosts, taken to be empty, and held
    against the rules. Of the ways that are safe the one is taken that keeps most hosts and has
    least warnings; the result says why, and what else the audit finds.
  - A wish is refused, with the reason, where no host takes it, where the scheduler would choose a
    host on which it fails, or where a rule at C(error) finds something in it.
  - Flavors of the same names that are there today are compared. What deletes one, and what changes
    one that servers run on, is refused unless O(accept) names it.
options:
  flavors:
    description:
      - The flavors as they are today, in any form that M(pinguard.nova.flavor_audit) takes.
      - Without any, all wishes are taken to be new; a warning says so.
    type: raw
  images:
    description:
      - The images, in the same forms. What is found with them is shown, and refuses nothing.
    type: raw
  servers:
    description:
      - The servers; a path of a file or folder of them, a document, or a list of such. An empty
        list says that there is none.
      - Without any, each flavor of today is taken to be in use.
    type: raw
  wishes:
    description:
      - What the flavors are to be for; a list of mappings, or the path of a file with such a list,
        or with it under C(wishes).
      - Each has C(name), C(intent), C(vcpus) and C(ram) (MiB), and may have C(disk), C(ephemeral)
        (GiB), C(swap) (MiB), C(id) and C(public), which is V(true).
      - Of the intents, V(pinned) gives each vCPU a host CPU of its own; V(pinned-realtime) does
        too, with realtime priority; V(mixed) pins some of the vCPUs, and lets the others float;
        V(numa) floats, with NUMA cells.
      - C(numa_cells) is the number of NUMA cells of the guest, which are alike; V(1) by default.
      - C(ordinary_vcpus) is the number of the first vCPUs of each cell that float (V(mixed)) or are
        not realtime (V(pinned-realtime)); V(1) by default.
      - C(page_size) is V(auto), V(none), V(small), V(large), V(any) or a size such as V(1GB).
        C(threads) is V(auto), V(prefer), V(require) or V(isolate). C(emulator) is V(auto), V(none),
        V(share) or V(isolate). V(auto) is the default of all three and settles it by the hosts.
      - C(extra_specs) are further ones, which are taken as they are.
      - C(hosts) is a list of names of hosts, or patterns such as V(rt-*), where a trait or an
        aggregate among C(extra_specs) ties the flavor to these hosts. The others do not count then.
    type: raw
    required: true
  form:
    description:
      - V(commands) is a shell script of C(openstack flavor) commands, which take each flavor from
        what it is today to what it is to be.
      - V(tasks) are tasks of M(openstack.cloud.compute_flavor).
      - V(openstack_ansible) is C(openstack_resources_compute) of OpenStack-Ansible, V(kayobe) is
        C(openstack_flavors).
      - V(osism) are the definitions of C(openstack-flavor-manager).
      - V(terraform) are resources C(openstack_compute_flavor_v2).
    type: str
    required: true
    choices: [commands, tasks, openstack_ansible, kayobe, osism, terraform]
  accept:
    description:
      - Names of flavors that may be deleted, made anew, or changed although servers run on them.
    type: list
    elements: str
    default: []
  dest:
    description:
      - Folder on the controller that the file is written to. It must exist. The file is replaced at
        once, and only if it changes; one that an operator wrote never is. A relative path starts in
        the current directory.
      - Flavors of Terraform that the file of an earlier run has, and this one has not, would be
        destroyed. They have to be accepted too.
      - Without it the text is returned alone.
    type: path
extends_documentation_fragment:
  - pinguard.nova._fleet
  - pinguard.nova._fleet.scheduler
  - pinguard.nova._attributes.controller
attributes:
  check_mode:
    description: Can run in check mode and reports what it would change.
    support: full
  diff_mode:
    description: Shows what changed, or would change, in diff mode.
    support: full
seealso:
  - module: pinguard.nova.flavor_audit
  - module: pinguard.nova.render_config
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: Write tasks that make two flavors
  pinguard.nova.render_flavors:
    hosts: [compute]
    flavors: "{{ compute_flavors }}"
    servers: servers.json
    wishes:
      - name: pinned.large
        intent: pinned
        vcpus: 8
        ram: 16384
        disk: 40
      - name: rt.small
        intent: pinned-realtime
        vcpus: 4
        ram: 4096
        extra_specs:
          "trait:CUSTOM_REALTIME": required
        hosts: ["rt-*"]
    form: tasks
    dest: flavors
  run_once: true

- name: Show the commands that change a flavor, although servers run on it
  pinguard.nova.render_flavors:
    fleet: fleet.yml
    wishes: wishes.yml
    form: commands
    accept: [pinned.large]
  register: rendered
"""

RETURN = r"""
flavors:
  description: The flavors as they were worked out, in the order of the wishes.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name; C(vcpus), C(ram), C(disk), C(ephemeral), C(swap), C(is_public) and
        C(intent) are those of the wish.
      returned: success
      type: str
    extra_specs:
      description: Extra specs.
      returned: success
      type: dict
    reasons:
      description:
        - Why each extra spec has its value, as C(key), C(value) and C(why). The value is empty
          where the key is left out.
      returned: success
      type: list
      elements: dict
    hosts:
      description: Hosts that take the flavor when they are empty, in short.
      returned: success
      type: str
      sample: cmp-01..cmp-20 (20 hosts)
    findings:
      description: What the audit finds all the same, as M(pinguard.nova.flavor_audit) returns it.
      returned: success
      type: list
      elements: dict
changes:
  description: What becomes of each flavor.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the flavor.
      returned: success
      type: str
    kind:
      description: One of V(create), V(keep), V(update), V(recreate) and V(delete).
      returned: success
      type: str
    text:
      description: The same with what differs, and who runs on it, in one line.
      returned: success
      type: str
    accept:
      description: Whether O(accept) has to name it.
      returned: success
      type: bool
    sizes:
      description: What differs and takes a new flavor; C(before) and C(after) by key.
      returned: success
      type: dict
    extra_specs:
      description: Extra specs that differ, in the same way.
      returned: success
      type: dict
    servers:
      description: Servers on it, each with C(id), C(name), C(host) and C(status).
      returned: success
      type: list
      elements: dict
    servers_told:
      description: Whether it is known which servers there are.
      returned: success
      type: bool
    servers_left_out:
      description: How many servers there are besides, of which nobody told what they run on.
      returned: success
      type: int
files:
  description: The file.
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: Path below O(dest).
      returned: success
      type: str
      sample: flavor_tasks.yml
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
