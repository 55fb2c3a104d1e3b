# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page for each rule, made from the rule, and their index by code and by topic."""

from __future__ import annotations

import re
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
    "WaiverCase": ("Waivers", "flavor_audit"),
}
"""What a rule looks at: its name on the pages, and the module that runs the rule."""

TOPICS = {
    "Realtime": r"realtime|fifo|\brcu\b|\btick\b|lockup",
    "Emulator threads": r"emulat|i/o thread|network worker",
    "Threads of a core": r"\bsmt\b|sibling|threads? of (a|each) core|numbers of threads|share "
    r"(a )?cores?\b|\brequire\b|^isolate|policy isolate",
    "CPU sets of hosts": r"_set\b|\bsets?\b|list of cpus|\bcpu 0|configured cpu"
    r"|data path|kept for the host|dedicated (cpus|ones)",
    "Isolation by the kernel": r"isolat(ed|ion|e for)|isolcpus|nohz|kthread|\btick\b|\brcu\b"
    r"|interrupt|lockup|of the kernel|realtime kernel",
    "NUMA": r"\bnuma\b|\bcells?\b",
    "Memory and huge pages": r"memory|\bpages?\b",
    "Placement and the fallback query": r"placement|fallback|\bquery\b|\bpcpu\b|\bholds\b|allocat"
    r"|\bboots\b|takes vcpu",
    "Power management": r"power management|slow down",
    "Upgrades and restarts": r"vcpu_pin_set|legacy|restart|release|\bstart(s|ed)?\b|given away"
    r"|become dedicated|no longer|new inventory",
    "Control groups, libvirt and domains": r"control group|cgroup|libvirt|machine\.slice|cpu shares"
    r"|\bdomains?\b|quota",
    "What Nova reads and refuses": r"option|extra spec|mask\b|comment|\bkey\b|\bvalue\b"
    r"|under a name|image changes|api refuses|out of range",
    "Where vCPUs run": r"pinned to|its (cpu|pin)\b|floats?\b|floating (vcpus|servers)|is offline"
    r"|untuned|lost|use now|are pinned$",
}
"""Topics, and what in a rule's title puts it there; a rule may be of several."""

OTHER = "Other"
"""Where no topic has a rule."""


def pages() -> dict[str, str]:
    """Give the Markdown of each page by its path."""
    rules = sorted(RULES, key=lambda rule: rule.code)
    return {"rules/index.md": _index(rules)} | {path(rule): _page(rule) for rule in rules}


def path(rule: Rule[t.Any]) -> str:
    """Name the page of a rule within the site."""
    return f"rules/{rule.code.lower()}.md"


def topics(rule: Rule[t.Any]) -> tuple[str, ...]:
    """Tell what a rule is about, by the words of its title."""
    found = (topic for topic, words in TOPICS.items() if re.search(words, rule.title.lower()))
    return tuple(found) or (OTHER,)


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
        for topic in (*TOPICS, OTHER)
        if any(topic in topics(rule) for rule in rules)
    )
    return (
        "# Rules\n\nWhat each rule looks for, why, and where Nova, libvirt or the kernel say so. "
        "Codes are never used again. `error` is an outage, a wrong placement, a refused start or "
        "a policy that is not honoured; `warning` works, and worse than it could.\n\n"
        f"## By code\n\n{by_code}\n## By topic\n\n{by_topic}"
    )


def _link(rule: Rule[t.Any]) -> str:
    return f"[{rule.code}]({rule.code.lower()}.md)"
