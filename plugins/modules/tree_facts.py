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
          description: The running kernel. What cannot be read of it is left out.
          returned: where anything of it is known
          type: dict
          contains:
            cmdline:
              description:
                - Arguments of its command line that concern CPUs and pages, with their values as
                  written, null without one.
                - The values of C(hugepages) and C(hugepagesz) are lists.
              returned: where C(/proc/cmdline) exists
              type: dict
              sample:
                isolcpus: managed_irq,domain,2-7,10-15
            release:
              description: Its release, as C(uname -r) has it.
              returned: when known
              type: str
              sample: 5.14.0-427.13.1.el9_4.x86_64+rt
            preempt_rt:
              description: Whether it is built for realtime (PREEMPT_RT).
              returned: when known
              type: bool
              sample: true
            rt_group_sched:
              description:
                - Whether realtime threads run under a budget of their control group
                  (CONFIG_RT_GROUP_SCHED).
              returned: when known
              type: bool
              sample: false
            no_hz_full:
              description: Whether it is built with CONFIG_NO_HZ_FULL.
              returned: when known
              type: bool
              sample: true
            nohz_full:
              description: CPUs without a tick.
              returned: when known
              type: str
              sample: 2-7,10-15
            watchdog_cpus:
              description: CPUs that the lockup detectors watch; none where the soft one is off.
              returned: when known
              type: str
              sample: 0-1,8-9
            workqueue_cpus:
              description: CPUs of unbound workers.
              returned: when known
              type: str
              sample: 0-1,8-9
            irq_default:
              description: CPUs that new interrupts go to.
              returned: when known
              type: str
              sample: 0-1,8-9
            irqs:
              description:
                - CPUs that interrupts go to, by their name. For its last number stands C(*), so
                  that the queues of a device have one name; numbers of interrupts are not in it.
              returned: when known
              type: dict
              sample: {"ens1f0-TxRx-*": 0-1, "nvme0q*": 0-15}
            managed_irqs:
              description: Whether a device has an interrupt for each CPU or queue, such as NVMe.
              returned: when known
              type: bool
              sample: true
            kthread_cpus_known:
              description: Whether it knows its argument C(kthread_cpus).
              returned: when known
              type: bool
              sample: false
            rt_runtime_us:
              description:
                - Microseconds that realtime threads have of each period (C(sched_rt_runtime_us));
                  -1 for no limit.
              returned: when known
              type: int
              sample: -1
            numa_balancing:
              description: Whether it moves memory between cells by itself.
              returned: when known
              type: bool
              sample: false
            nmi_watchdog:
              description: Whether its hard lockup detector runs.
              returned: when known
              type: bool
              sample: false
            ksm:
              description:
                - Merging of equal pages, 0 for off, 1 for on, 2 for off and everything unmerged.
              returned: when known
              type: int
              sample: 0
            huge_pages:
              description: Transparent huge pages, V(always), V(madvise) or V(never).
              returned: when known
              type: str
              sample: never
            irqbalance:
              description: Whether irqbalance runs.
              returned: when known
              type: bool
              sample: true
            irqbalance_banned:
              description:
                - CPUs that irqbalance leaves alone, those that are isolated or without a tick where
                  it was told nothing.
              returned: when known
              type: str
              sample: 2-7,10-15
            smt:
              description: State of simultaneous multithreading.
              returned: when known
              type: str
              sample: "on"
            governors:
              description: CPUs by their frequency governor.
              returned: when known
              type: dict
              sample: {"performance": 0-15}
            idle_latency_us:
              description:
                - CPUs by the longest wake-up latency, in microseconds, of the idle states that they
                  may enter.
                - Left out for a captured tree where tuned has an active profile, for what a program
                  allows shows on the live host alone.
              returned: when known
              type: dict
              sample: {"2": 0-15}
            kthread_priorities:
              description: Lowest fixed priority of kernel threads that each CPU has; 0 for none.
              returned: when known
              type: dict
              sample: {"ksoftirqd": 2, "ktimers": 3, "rcuc": 4}
        cgroups:
          description: Control groups. What cannot be read of them is left out.
          returned: when known
          type: dict
          contains:
            version:
              description:
                - V(2) for a host of v2 alone, V(1) where any controller is mounted the old way.
              returned: when known
              type: int
              sample: 2
            cpu_controller:
              description: Whether the controller C(cpu) is there.
              returned: when known
              type: bool
              sample: true
            isolated:
              description: CPUs in isolated partitions.
              returned: when known
              type: str
              sample: ""
            machine_cpus:
              description: Online CPUs that C(machine.slice) and its parents allow to guests.
              returned: when known
              type: str
              sample: 0-15
            system_cpus:
              description: CPUs that systemd was told to keep services on.
              returned: when known
              type: str
              sample: 0-1,8-9
        libvirt:
          description:
            - The libvirt daemon that runs the guests. What cannot be read of it is left out.
          returned: when known
          type: dict
          contains:
            version:
              description: Version of libvirt, by its library.
              returned: when known
              type: str
              sample: 9.0.0
            lock_capable:
              description: Whether the daemon may lock memory beyond its limit (CAP_SYS_RESOURCE).
              returned: when known
              type: bool
              sample: true
            memlock_unlimited:
              description: Whether it has no limit of locked memory.
              returned: when known
              type: bool
              sample: true
            controllers:
              description: What C(cgroup_controllers) of C(qemu.conf) names.
              returned: when set
              type: list
              elements: str
              sample: [cpu, devices]
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
            no_balance_cores:
              description: Cores that the profile was told not to balance, as written.
              returned: when they are listed, not computed by the profile
              type: str
              sample: 2-7,10-15
        data_path_cpus:
          description: The CPUs that O(data_path_cpus) gave, as a list.
          returned: when O(data_path_cpus) is given
          type: str
          sample: 4,64
        architecture:
          description:
            - The machine, as C(uname -m) has it; of a captured tree, by the release of its kernel.
          returned: when known
          type: str
          sample: x86_64
        intent:
          description: What the host is for, as O(intent) gave it.
          returned: when O(intent) is given
          type: str
          sample: realtime
"""
