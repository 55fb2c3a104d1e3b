#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_info
short_description: Write the file of a fleet from a cloud and the facts of its hosts
version_added: 0.1.0
description:
  - Reads flavors, images, hypervisors, services, aggregates and servers of a cloud and what
    Placement knows of its hosts, joins that with the facts of the hosts, and writes one file that
    every audit and plan of this collection takes as C(fleet).
  - It asks from the controller, through openstacksdk, and changes nothing in the cloud. Only named
    parts of the answers are kept; user data, metadata, addresses, keys and projects are not among
    them.
  - What the credentials may not read is left out, with a warning that names the policy; the rest
    goes on. What the APIs do not tell at all, above all the CPUs of hosts, C(nova.conf) and the
    pins of servers, comes from facts, or stays unknown.
options:
  cloud:
    description:
      - A cloud of C(clouds.yaml). The controller needs openstacksdk.
    type: str
    required: true
  region:
    description:
      - The region, where the cloud has several.
    type: str
  path:
    description:
      - The file to write, as JSON. Its folder must exist. A new file can be read by its owner
        alone.
    type: path
    required: true
  hosts:
    description:
      - Names of hosts and groups of the inventory whose facts are taken, by default those of the
        play. M(pinguard.nova.host_facts) or M(pinguard.nova.tree_facts) must have run on them.
      - Excludes O(facts).
    type: list
    elements: str
  facts:
    description:
      - Path of a folder of facts, one file of YAML or JSON a host, named after the host.
    type: str
  names:
    description:
      - Names in the cloud of those hosts whose facts have a name that the cloud does not know. A
        host is found by the name of its nova-compute or of its hypervisor, or by the part of either
        before the first dot.
    type: dict
    default: {}
  release:
    description:
      - The Nova release of API and scheduler, and of hosts whose facts name none.
      - Without it, the oldest release with the newest microversion of the API is taken, with a
        warning.
    type: str
  allocated:
    description:
      - Whether to note what Placement has allocated on each host. Audits of flavors then tell what
        boots on the hosts as they are now, and hosts differ by what runs on them. The servers have
        their allocations in any case.
    type: bool
    default: false
  disable_fallback_pcpu_query:
    description:
      - The scheduler's C([workarounds] disable_fallback_pcpu_query), which no API tells.
    type: bool
  numa_topology_filter:
    description:
      - Whether the scheduler has C(NUMATopologyFilter), which no API tells.
    type: bool
  show:
    description:
      - Whether to print what was read, and what was not.
    type: bool
    default: false
extends_documentation_fragment:
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
  - module: pinguard.nova.provider_info
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: Write the file of a fleet with the facts of all computes
  pinguard.nova.fleet_info:
    cloud: admin
    path: /var/lib/audits/fleet.json
    hosts: [compute]
    release: 31.1.0

- name: Write it with facts that were kept
  pinguard.nova.fleet_info:
    cloud: admin
    path: fleet.json
    facts: facts
    names:
      rack1-node7: cmp-07.example.org

- name: Audit the fleet
  pinguard.nova.flavor_audit:
    fleet: fleet.json
"""

RETURN = r"""
path:
  description: The file.
  returned: success
  type: str
release:
  description: The release that the file names.
  returned: success
  type: str
  sample: 31.1.0
microversion:
  description: The newest microversion of the compute API.
  returned: success
  type: str
  sample: "2.100"
summary:
  description: How many hosts, flavors, images, servers and allocations without a server are in it.
  returned: success
  type: dict
  sample: {hosts: 40, flavors: 31, images: 12, servers: 902, allocations: 1}
unread:
  description: What could not be read, and why, a line each.
  returned: success
  type: list
  elements: str
  sample:
    - "services: Nova, GET /os-services: the user may not read this (status 403)"
notes:
  description: What is doubtful about the release.
  returned: success
  type: list
  elements: str
hosts_without_facts:
  description: Hosts of the cloud that are left out for want of facts.
  returned: success
  type: list
  elements: str
hosts_unknown:
  description: Hosts that are left out because the cloud does not have them.
  returned: success
  type: list
  elements: str
hosts_not_up:
  description: The state of each nova-compute that is down or disabled, by host.
  returned: success
  type: dict
  sample: {cmp-09: down}
servers_elsewhere:
  description: How many servers are left out by their host, of which there are no facts.
  returned: success
  type: dict
  sample: {cmp-10: 17}
deviations:
  description:
    - Where Placement differs from what the facts of a host make nova-compute report, as far as CPUs
      and aggregates are concerned. Most often nova-compute was not restarted since C(nova.conf)
      changed.
  returned: success
  type: list
  elements: dict
  contains:
    host:
      description: Name of the host.
      returned: success
      type: str
    differences:
      description: The differences, a line each.
      returned: success
      type: list
      elements: str
      sample: ["PCPU has total 12, predicted is 14"]
report:
  description: All of this as text.
  returned: success
  type: str
"""
