# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    # What the facts of a host are read from, on the host or in a captured tree.
    SOURCES = r"""
options:
  nova_conf:
    description:
      - Files and C(conf.d) directories that nova-compute reads, as absolute paths on the host and
        in the order in which
        it reads them. Of a directory the C(*.conf) files are read by name. A later value wins over
        an earlier one.
      - By default the first of these places that exists, C(/etc/kolla/nova-compute/nova.conf), the
        drop-in files in
        C(/var/lib/openstack/nova),
        C(/var/lib/config-data/puppet-generated/nova_libvirt/etc/nova/nova.conf),
        C(/etc/nova/nova-cpu.conf), and C(/etc/nova) with C(nova.conf), C(nova-compute.conf),
        C(nova.conf.d) and
        C(nova-compute.conf.d).
      - Where none of them exists there is a warning, and the facts hold no option. Nova then has
        its defaults.
      - An empty list reads no file.
    type: list
    elements: str
  release:
    description:
      - Nova release of the host's nova-compute, by point release such as V(27.1.0). No file tells
        it.
      - Where it is left out, an audit takes its own default.
    type: str
  data_path_cpus:
    description:
      - CPUs that a poll-mode data path such as OVS-DPDK keeps busy, as a list such as V(4,64), or
        as a mask that
        starts with V(0x).
    type: str
  page_kb:
    description:
      - Size of the kernel's small memory pages in KiB.
      - By default that of the running kernel where O(root=/), else V(4).
    type: int
    choices: [4, 8, 16, 64]
  intent:
    description:
      - What the host is for, V(realtime) for realtime guests, V(pinned) for pinned guests,
        V(shared) for floating guests alone.
      - An audit holds the host against it. Where it is left out, the kernel and the profile of
        tuned tell whether a host is for realtime.
    type: str
    choices: [realtime, pinned, shared]
notes:
  - Of C(nova.conf) only the options that an audit needs are ever returned or shown, for it holds
    passwords. Of a key
    that was probably meant to be one of them, section and key are returned, but no value.
  - Of the kernel's command line only arguments that concern CPUs and pages are returned.
  - Topology, C(nova.conf) and command line are refused where they cannot be understood. Of all else
    what cannot be read is left out, and an audit then says nothing about it.
"""
