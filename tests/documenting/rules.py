# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page for each rule, made from the rule, and their index by code and by topic."""

from __future__ import annotations

import typing as t

import rule_pages

from ansible_collections.pinguard.nova.plugins.plugin_utils._report.rendering import wrapped
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.catalog import RULES

from .markdown import table

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import Rule

SUBJECTS = {
    "FlavorCase": ("Flavors", "flavor_audit"),
    "HostCase": ("Hosts", "host_audit"),
    "FleetCase": ("Hosts and flavors together", "flavor_audit"),
    "ServerCase": ("Servers and their allocations", "allocation_audit"),
    "AllocationCase": ("Servers and their allocations", "allocation_audit"),
    "RestartCase": ("Restarts of nova-compute", "restart_check"),
    "GuestCase": ("Running guests", "guest_audit"),
    "HostGuestsCase": ("Running guests", "guest_audit"),
}
"""What a rule looks at: its name on the pages, and the module that runs the rule."""

TOPICS = {
    "Realtime": ("realtime", "FIFO", "tick", "RCU", "tasks", "lockup", "Interrupts"),
    "Emulator threads": ("emulator", "I/O thread", "network worker"),
    "Threads of a core (SMT)": ("SMT", "sibling", "threads of a core", "isolate ", "isolate,",
                                "share cores", "require", "one thread", "unequal numbers of thr"),
    "CPU sets of hosts": ("set", "list of CPUs", "CPU 0", "configured CPU", "kept for the host",
                          "dedicated"),
    "Isolation by the kernel": ("isolat", "nohz", "kthread", "kernel"),
    "NUMA": ("NUMA", "cell"),
    "Memory and huge pages": ("memory", "page"),
    "Placement and the fallback query": ("Placement", "fallback", "query", "PCPU", "VCPU ",
                                         "allocat", "holds", "CPU class", "boots"),
    "Power management": ("power management", "slow down"),
    "Upgrades and restarts": ("vcpu_pin_set", "legacy", "restart", "release", "does not start",
                              "start", "given away", "Floating servers", "older"),
    "Control groups and libvirt": ("control group", "cgroup", "libvirt", "machine.slice",
                                   "shares", "domain", "quota"),
    "Spelling of options and extra specs": ("option", "spec", "mask", "comment", "key", "value",
                                            "misspelt", "name", "image", "API"),
    "Pins of running guests": ("pinned", "vCPU", "guest"),
}  # fmt: skip
"""Topics, and the words in a rule's title that put it there; a rule may be of several."""


def pages() -> dict[str, str]:
    """Give the Markdown of each page by its path."""
    rules = sorted(RULES, key=lambda rule: rule.code)
    return {"rules/index.md": _index(rules)} | {path(rule): _page(rule) for rule in rules}


def path(rule: Rule[t.Any]) -> str:
    """Name the page of a rule within the site."""
    return f"rules/{rule.code.lower()}.md"


def topics(rule: Rule[t.Any]) -> tuple[str, ...]:
    """Tell what a rule is about, by the words of its title."""
    title = f"{rule.title} ".lower()
    return tuple(
        topic for topic, words in TOPICS.items() if any(word.lower() in title for word in words)
    )


def sample(rule: Rule[t.Any]) -> str:
    """Show what the rule finds in its bad example, as reports show it."""
    return "\n\n".join(_finding(rule))


def _finding(rule: Rule[t.Any]) -> Iterator[str]:
    for detail in rule.check(rule.bad()):
        severity = detail.severity or rule.severity
        yield "\n".join(
            [
                f"{severity.value} {rule.code}: {rule.title}",
                *([wrapped(", ".join(detail.hosts), 90, "  on    ")] if detail.hosts else []),
                wrapped(detail.what, 90, "  what  ", "        "),
                wrapped(detail.effect, 90, "  then  ", "        "),
                wrapped(detail.fix, 90, "  fix   ", "        ", several=True),
            ]
        )


def _page(rule: Rule[t.Any]) -> str:
    subject, module = SUBJECTS[rule.subject.__name__]
    return (
        # Not in the menu, which would have all rules on each page.
        f"---\norphan: true\n---\n\n# {rule.code}: {rule.title}\n\n"
        f"Severity **{rule.severity.value}** · about {subject.lower()} · found by "
        f"[{module}](../reference/{module}_module.rst) · {', '.join(topics(rule))} · "
        f"[all rules](index.md)\n\n"
        f"{rule_pages.body(rule)}\n\n## Example\n\nWhat is found in a bad example, with the fix:"
        f"\n\n```text\n{sample(rule)}\n```\n"
    )


def _index(rules: list[Rule[t.Any]]) -> str:
    by_code = table(
        ["rule", "severity", "what it finds", "about"],
        (
            [_link(rule), rule.severity.value, rule.title, SUBJECTS[rule.subject.__name__][0]]
            for rule in rules
        ),
    )
    by_topic = "".join(
        f"### {topic}\n\n"
        + "".join(f"- {_link(rule)} {rule.title}\n" for rule in rules if topic in topics(rule))
        + "\n"
        for topic in TOPICS
    )
    return (
        "# Rules\n\nWhat each rule looks for, why, and where Nova, libvirt or the kernel say so. "
        "Codes are never used again. `error` is an outage, a wrong placement, a refused start or "
        "a policy that is not honoured; `warning` works, and worse than it could.\n\n"
        f"## By code\n\n{by_code}\n## By topic\n\n{by_topic}"
    )


def _link(rule: Rule[t.Any]) -> str:
    return f"[{rule.code}]({rule.code.lower()}.md)"
