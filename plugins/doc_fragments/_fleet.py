# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    # Where the hosts come from.
    DOCUMENTATION = r"""
options:
  hosts:
    description:
      - Hosts and groups of the inventory to look at, by the facts that
        M(pinguard.nova.host_facts) or M(pinguard.nova.tree_facts) gathered of them.
      - By default all hosts of the play. Hosts without such facts are left out with a warning; it
        is an error where none has them.
      - Excludes O(fleet) and O(facts).
    type: list
    elements: str
  fleet:
    description:
      - Path of a fleet file, which holds hosts, and flavors, images and servers too if it likes.
      - A relative path, here as in all options that name what is read, starts at the playbook, or
        in the current directory where the playbook has no such file.
    type: str
  facts:
    description:
      - Path of a folder with the facts of one host in each file, named after the host.
    type: str
  release:
    description:
      - Nova release of API and scheduler where O(fleet) names none, and of hosts whose facts name
        none. A point release such as V(27.1.0), or a series such as V(2025.1), which stands for its
        first release.
    type: str
    default: 34.0.0
"""

    # What the scheduler is told beside its release.
    SCHEDULER = r"""
options:
  disable_fallback_pcpu_query:
    description:
      - Whether the fallback query is off today, by C([workarounds] disable_fallback_pcpu_query) of
        the scheduler. Overrides what O(fleet) says.
    type: bool
  numa_topology_filter:
    description:
      - Whether the scheduler has C(NUMATopologyFilter). Overrides what O(fleet) says; where nothing
        is said, it has.
    type: bool
"""

    # Where the report goes.
    REPORT = r"""
options:
  fail_on:
    description:
      - The least severity of a finding that makes the task fail. The result is returned all the
        same.
    type: str
    choices: [error, warning, never]
    default: error
  report_path:
    description:
      - File on the controller that the report is written to as text. It is replaced at once, and
        only if it changes. A relative path starts in the current directory.
      - No file is written before the reports of all options are made.
    type: path
  html_path:
    description:
      - The same for the report as one HTML page, which needs nothing else to be looked at.
    type: path
  markdown_path:
    description:
      - The same for the report as Markdown, for a ticket.
    type: path
  json_path:
    description:
      - The same for the report as JSON.
    type: path
  sarif_path:
    description:
      - The same for the findings as SARIF 2.1.0, which code scanning and editors show beside the
        lines of the files.
    type: path
  junit_path:
    description:
      - The same for the findings as JUnit XML. A finding is a failed test case where it is an
        error, or a warning and O(fail_on=warning).
    type: path
  codequality_path:
    description:
      - The same for the findings as a report of GitLab Code Quality.
    type: path
  show:
    description:
      - Whether to show the report in the log.
    type: bool
    default: false
"""

    # Findings that do not count.
    EXCEPTIONS = r"""
options:
  waivers:
    description:
      - Path of a file of waivers. What they waive stays in all reports, marked with reason and
        owner, and does not count for RV(status).
      - A waiver that has expired waives nothing. It is a finding itself, as is one that nothing was
        found for though its rule was run.
    type: str
  baseline:
    description:
      - Path of a report that O(json_path) of an earlier run wrote. What it has is known, stays in
        all reports and does not count for RV(status), so that only new findings fail the task.
      - A finding is the same where rule, subject and words are, whatever the numbers; one about
        more hosts than the report has is new for these.
    type: str
"""
