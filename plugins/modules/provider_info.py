#!/usr/bin/python
# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: provider_info
short_description: Read resource providers from Placement
version_added: 0.1.0
description:
  - Reads inventories, usages, traits and allocations of compute hosts from the Placement API.
  - It asks from the controller, and changes nothing.
options:
  names:
    description:
      - Names of the resource providers, which are the names of the hypervisors. Each must exist.
    type: list
    elements: str
    required: true
  cloud:
    description:
      - A cloud of C(clouds.yaml), by which Placement is found and asked. The controller needs
        openstacksdk then.
      - Excludes O(endpoint) and O(token).
    type: str
  endpoint:
    description:
      - URL of the Placement API.
    type: str
  token:
    description:
      - Token of a user who may read resource providers.
    type: str
  ca_path:
    description:
      - File of the certificates that O(endpoint) is checked with, in place of the system's.
    type: path
  validate_certs:
    description:
      - Whether to check the certificate of O(endpoint).
    type: bool
    default: true
  timeout:
    description:
      - Seconds to wait for an answer of O(endpoint), from 1 to 3600.
    type: int
    default: 30
extends_documentation_fragment:
  - pinguard.nova._attributes.reads
  - pinguard.nova._attributes.controller
seealso:
  - plugin: pinguard.nova.predicted_provider
    plugin_type: filter
  - plugin: pinguard.nova.provider_deviations
    plugin_type: filter
author:
  - Pinguard contributors (@pinguard)
"""

EXAMPLES = r"""
- name: Read what Placement knows of a host
  pinguard.nova.provider_info:
    names:
      - "{{ ansible_facts.fqdn }}"
    cloud: admin
  register: placement

- name: Read it with a token
  pinguard.nova.provider_info:
    names: [cmp-01, cmp-02]
    endpoint: https://placement.example.org
    token: "{{ token }}"
"""

RETURN = r"""
providers:
  description: What is known of each provider, by its name.
  returned: success
  type: dict
  contains:
    uuid:
      description: Its id.
      returned: success
      type: str
    inventories:
      description: What it has, by resource class, with Placement's own keys.
      returned: success
      type: dict
      sample:
        PCPU:
          total: 12
          reserved: 0
          allocation_ratio: 1.0
          min_unit: 1
          max_unit: 12
          step_size: 1
    usages:
      description: What is allocated of it, by resource class.
      returned: success
      type: dict
      sample: {PCPU: 4}
    traits:
      description: Its traits.
      returned: success
      type: list
      elements: str
      sample: [HW_CPU_HYPERTHREADING]
    allocations:
      description: What each consumer holds of it, by the UUID of the consumer.
      returned: success
      type: dict
      sample:
        6f3c2f2e-5a7e-4a26-8c0f-0d4d4b4f1a11: {PCPU: 4}
"""
