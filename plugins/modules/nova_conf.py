#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nova_conf
short_description: Edit the CPU options of a C(nova.conf) in place
version_added: 0.1.0
description:
  - Sets options that decide about CPUs and memory of guests in one file that nova-compute reads, or
    removes them. All other lines, comments and the order stay as they are.
  - The file is read as oslo.config reads it. Of an option that stands there several times the last
    one counts, and that line is changed. An option that is new follows the last one of its section.
  - By default the proposed configuration is judged first, on the controller, with the facts of the
    host. Where a rule finds an error in it, or nova-compute would not start with it, nothing is
    written.
  - Nothing is restarted. What nova-compute reads changes with its next start.
options:
  path:
    description:
      - The file, as an absolute path on the host. Of a symbolic link, what it points to is edited.
      - It is replaced at once. A file that is a mount of its own, as inside of a container, cannot
        be; O(unsafe_writes=true) then writes into it.
    type: path
    default: /etc/nova/nova.conf
  settings:
    description:
      - Options with their values. Outside of C([DEFAULT]) the section stands in front of the name,
        as in the facts of M(pinguard.nova.host_facts).
      - Those are V(vcpu_pin_set), V(reserved_host_cpus), V(reserved_host_memory_mb),
        V(reserved_huge_pages), V(cpu_allocation_ratio), V(ram_allocation_ratio),
        V(initial_cpu_allocation_ratio), V(initial_ram_allocation_ratio), V(compute.cpu_shared_set),
        V(compute.cpu_dedicated_set), V(compute.packing_host_numa_cells_allocation_strategy),
        V(libvirt.cpu_power_management), V(libvirt.cpu_power_management_strategy),
        V(libvirt.realtime_scheduler_priority), V(libvirt.cpu_mode), V(libvirt.cpu_models),
        V(libvirt.file_backed_memory), V(libvirt.virt_type),
        V(workarounds.disable_fallback_pcpu_query) and V(filter_scheduler.enabled_filters).
      - An option whose value is null is removed wherever it stands in the file, together with the
        lines that continue it.
      - The value of V(reserved_huge_pages) may be a list, for all values of this option count.
      - A value must not refer to another option.
    type: dict
    required: true
  create:
    description:
      - Whether to make the file where it is not there, as for a drop-in file. Its folder must
        exist.
    type: bool
    default: false
  backup:
    description:
      - Whether to keep a copy of the file as it was, beside it, if it changes.
    type: bool
    default: false
  guard:
    description:
      - Whether to judge the proposed configuration before anything is written. O(release) is needed
        for that.
      - An error blocks if it is new, or if it stands at an option of O(settings). Errors that were
        there before, at other options, are warned of.
    type: bool
    default: true
  servers:
    description:
      - Paths of files and folders on the controller that tell of servers, with the hosts that they
        are on by their inventory names. The start of nova-compute is judged with those on this
        host.
      - Such a file may be in the shape of this collection, or what the compute API or the client
        prints, a dump of Nova's database or a libvirt domain; a folder named after a host holds its
        domains.
      - A relative path starts at the playbook, or in the current directory where the playbook has
        no such file.
    type: list
    elements: str
  flavors:
    description:
      - Paths of files on the controller with the flavors that O(servers) name, in any form that
        M(pinguard.nova.flavor_audit) takes. Of no use without O(servers).
    type: list
    elements: str
  images:
    description:
      - Paths of files with the images that O(servers) name, in the same forms.
    type: list
    elements: str
  nova_conf:
    description:
      - All files and C(conf.d) directories that nova-compute reads, as absolute paths on the host
        and in the order in which it reads them. O(path) must be one of these files.
      - Where another of them gives one of the options another value, the task fails and names its
        line.
      - By default the same places as in M(pinguard.nova.host_facts).
  release:
    description:
      - Nova release of the nova-compute that will read the configuration, by point release such as
        V(27.1.0). Required unless O(guard=false).
  page_kb:
    description:
      - Size of the kernel's small memory pages in KiB, by default that of the running kernel.
extends_documentation_fragment:
  - pinguard.nova._host_facts.sources
  - ansible.builtin.files
attributes:
  action:
    description: Has an action plugin that runs on the controller.
    support: full
    details: It judges what is proposed; without O(guard) the module alone does the work.
  check_mode:
    description: Can run in check mode and reports what it would change.
    support: full
    details: What is proposed is judged all the same.
  diff_mode:
    description: Shows what changed, or would change, in diff mode.
    support: full
    details: Only options that may be set here are shown, for the file holds passwords.
seealso:
  - module: pinguard.nova.host_facts
  - module: pinguard.nova.host_audit
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: Move a host from vcpu_pin_set to two sets
  pinguard.nova.nova_conf:
    settings:
      vcpu_pin_set:
      compute.cpu_shared_set: 0-1,8-9
      compute.cpu_dedicated_set: 2-7,10-15
    release: 27.1.0
    backup: true
  become: true

- name: Do the same where kolla keeps the file
  pinguard.nova.nova_conf:
    path: /etc/kolla/nova-compute/nova.conf
    settings: "{{ cpu_options }}"
    release: 27.1.0
    data_path_cpus: "4,64"
    servers:
      - servers.json
    flavors:
      - flavors.json
  become: true

- name: Keep the options in a drop-in file of their own
  pinguard.nova.nova_conf:
    path: /etc/nova/nova.conf.d/50-cpu.conf
    settings: "{{ cpu_options }}"
    create: true
    mode: "0640"
    owner: root
    group: nova
    nova_conf:
      - /etc/nova/nova.conf
      - /etc/nova/nova.conf.d
    release: 34.0.0
  become: true
"""

RETURN = r"""
path:
  description: The file that was edited, with all symbolic links followed.
  returned: success
  type: str
  sample: /etc/nova/nova.conf
backup_file:
  description: The copy of the file as it was.
  returned: when O(backup) is set and the file changed
  type: str
  sample: /etc/nova/nova.conf.4242.2026-01-31@12:00:00~
options:
  description:
    - Of each option of O(settings) the value that nova-compute reads C(before) and C(after), null
      where it is not set.
  returned: success
  type: dict
  sample:
    compute.cpu_dedicated_set:
      before:
      after: 2-7,10-15
nova:
  description:
    - What nova-compute reads of all files C(before) and C(after), in the form that the facts of
      M(pinguard.nova.host_facts) have.
  returned: success
  type: dict
servers:
  description: Number of servers on this host that nova-compute would start with, of O(servers).
  returned: success, unless O(guard=false)
  type: int
  sample: 12
findings:
  description: The errors that the rules find in what was proposed.
  returned: when it is refused
  type: list
  elements: dict
"""

import os
import tempfile

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.pinguard.nova.plugins.module_utils._read.conf_edit import Edit, propose
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.host import ARGUMENTS


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "default": "/etc/nova/nova.conf"},
            "settings": {"type": "dict", "required": True},
            "create": {"type": "bool", "default": False},
            "backup": {"type": "bool", "default": False},
            "guard": {"type": "bool", "default": True},
            "servers": {"type": "list", "elements": "str"},
            "flavors": {"type": "list", "elements": "str"},
            "images": {"type": "list", "elements": "str"},
            **ARGUMENTS,
        },
        required_if=[("guard", True, ("release",))],
        add_file_common_args=True,
        supports_check_mode=True,
    )
    given = module.params
    try:
        edit = propose(given["path"], given["settings"], given["nova_conf"], create=given["create"])
        result = _apply(module, edit)
    except InputError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"{given['path']}: cannot be written ({error.strerror})")
    nova = {"before": edit.nova_before, "after": edit.nova_after}
    module.exit_json(**result, path=edit.target, options=edit.options, nova=nova)


def _apply(module: AnsibleModule, edit: Edit) -> dict[str, object]:
    """Write what changes, then set mode and owner, unless in check mode."""
    result: dict[str, object] = {"changed": edit.changed}
    shown = {
        "before_header": edit.target,
        "after_header": edit.target,
        "before": edit.shown_before,
        "after": edit.shown_after,
    }
    _check_attributes(module, edit)
    if edit.changed and not module.check_mode:
        if module.params["backup"] and edit.exists:
            result["backup_file"] = module.backup_local(edit.target)
        _write(module, edit)
    if edit.exists or edit.changed:
        wanted = module.load_file_common_arguments(module.params, path=edit.target)
        attributes: dict[str, object] = {}
        result["changed"] = module.set_fs_attributes_if_different(
            wanted, edit.changed, diff=attributes
        )
        result["diff"] = [shown, attributes]
    return result


def _check_attributes(module: AnsibleModule, edit: Edit) -> None:
    """Fail before anything is written where owner, group or mode are none that can be set."""
    there = edit.target if edit.exists else os.path.dirname(edit.target)
    wanted = module.load_file_common_arguments(module.params, path=there)
    check_mode, module.check_mode = module.check_mode, True
    module.set_fs_attributes_if_different(wanted, False)
    module.check_mode = check_mode


def _write(module: AnsibleModule, edit: Edit) -> None:
    """Replace the file at once; after a crash either text is there, and whole."""
    folder = os.path.dirname(edit.target)
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".pinguard-")
    module.add_cleanup_file(name)
    with os.fdopen(descriptor, "wb") as file:
        file.write(edit.after.encode())
        file.flush()
        os.fsync(file.fileno())
    module.atomic_move(name, edit.target, unsafe_writes=module.params["unsafe_writes"])
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


if __name__ == "__main__":
    main()
