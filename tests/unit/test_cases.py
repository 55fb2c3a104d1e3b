# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Public bug reports and configurations, each with what Nova does and which rules must speak.

``fixtures/cases.yml``: ``machine`` rows hold on 34.0.0 without limits. ``fire`` maps rule codes to
the severity with which they must be found, ``silent`` lists rules that must not be, ``verdict`` is
``error`` (at least one error), ``warning`` (warnings at most) or ``ok`` (neither).
"""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.pinguard.nova.plugins.module_utils._read import cmdline, nova_options
from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import (
    CpuListError,
    ids,
    parse_hex,
    parse_nova,
    to_text,
)
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import documents
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Fleet, Scheduler
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import (
    constraints,
    extra_specs,
    inventory,
    request,
    startup,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.fit import fit
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import audit

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Flavor
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host

Data = dict[str, t.Any]
NEWEST = release("34.0.0")
CASES: list[Data] = yaml.safe_load(
    (pathlib.Path(__file__).parent / "fixtures/cases.yml").read_text(encoding="utf-8")
)


def siblings(cpus: list[int], smt: str | list[str]) -> list[str]:
    """Group CPUs into cores as a case describes it."""
    if isinstance(smt, list):
        return smt
    kind, _colon, step = smt.partition(":")
    cores: dict[int, list[str]] = {}
    for cpu in cpus:
        core = {"none": cpu, "adjacent": cpu // 2, "stride": cpu % int(step or 1)}[kind]
        cores.setdefault(core, []).append(str(cpu))
    return [",".join(core) for core in cores.values()]


def facts(given: Data, folder: pathlib.Path) -> Data:
    """Make the facts document of a host of a case; its ``nova.conf`` is read from a tree."""
    etc = folder / "etc/nova"
    etc.mkdir(parents=True, exist_ok=True)
    (etc / "nova.conf").write_text(given.get("nova_conf", ""), encoding="utf-8")
    cpus = [cpu for cell in given["cells"] for cpu in ids(parse_nova(cell["cpus"]))]
    online = given.get("online", to_text(sum(1 << cpu for cpu in cpus)))
    ovs = given.get("ovs", {})
    data_path = parse_hex(ovs["pmd_cpu_mask"]) if "pmd_cpu_mask" in ovs else 0
    document: Data = {
        "format": 1,
        "release": given["release"],
        "topology": {
            "online": online,
            "present": online,
            "cells": [cell_facts(cell) for cell in given["cells"]],
            "siblings": siblings(cpus, given["smt"]),
        },
        "nova": nova_options.nova_facts(["/etc/nova/nova.conf"], Tree(str(folder))),
    }
    if "cmdline" in given:
        (folder / "proc").mkdir(exist_ok=True)
        (folder / "proc/cmdline").write_text(given["cmdline"], encoding="utf-8")
        document["kernel"] = {"cmdline": kernel(folder)}
    if "tuned" in given:
        document["tuned"] = given["tuned"]
    if data_path or "pmd_cpus" in ovs:
        document["data_path_cpus"] = to_text(data_path) if data_path else ovs["pmd_cpus"]
    return document


def kernel(folder: pathlib.Path) -> t.Any:
    return cmdline.read(Tree(str(folder)))


def cell_facts(cell: Data) -> Data:
    huge = {str(size): count for size, count in cell.get("hugepages", {}).items()}
    small = cell["mem_mib"] * 1024 - sum(int(size) * count for size, count in huge.items())
    return {
        "id": cell["id"],
        "cpus": cell["cpus"],
        "memory_mb": cell["mem_mib"],
        "pages": {"4": small // 4, **huge},
    }


def flavors(case: Data) -> dict[str, Flavor]:
    documents_ = [
        {
            "name": name,
            "vcpus": given["vcpus"],
            "ram": given["ram_mib"],
            "extra_specs": given["extra_specs"],
        }
        for name, given in case.get("flavors", {}).items()
    ]
    return {
        flavor.name: flavor for flavor in documents.flavors({"format": 1, "flavors": documents_})
    }


def host(case: Data, name: str, folder: pathlib.Path) -> Host:
    return documents.host(facts(case["hosts"][name], folder), name, "34.0.0")


@pytest.fixture(params=CASES, ids=lambda case: case["id"])
def case(request: pytest.FixtureRequest) -> Data:
    return t.cast("Data", request.param)


def answer(call: t.Callable[[], t.Any]) -> t.Any:
    try:
        return call()
    except NovaError as error:
        return error.name


def decided(row: Data, case: Data, folder: pathlib.Path) -> t.Any:
    """Decide one machine row."""
    if "spec" in row:
        try:
            return to_text(parse_nova(row["spec"]))
        except CpuListError:
            return "Invalid"
    if "mask" in row:
        return to_text(parse_hex(row["mask"]))
    if "api" in row:
        key, _equals, value = row["api"].partition("=")
        return "rejected" if extra_specs.check(key, value, NEWEST) else "accepted"
    if "ini" in row:
        return option(row, case, folder)
    if "startup" in row:
        config = host(case, row["startup"], folder).config
        return answer(lambda: startup.check(config, NEWEST)) or "ok"
    if "inventory" in row:
        return counts(host(case, row["inventory"], folder))
    flavor = flavors(case)[row.get("flavor") or row.get("query") or row["fit"]]
    if "query" in row:
        return asked(row, flavor)
    image = NO_IMAGE
    if "image" in row:
        properties = case["images"][row["image"]]
        (image,) = documents.images(
            {"format": 1, "images": [{"name": row["image"], "properties": properties}]}
        )
    guest = answer(lambda: constraints.guest(flavor, image, NEWEST))
    if "flavor" in row:
        return guest if isinstance(guest, str) else "ok" if guest else "plain"
    cells = inventory.host_cells(host(case, row["host"], folder), NEWEST)
    assert guest is not None
    assert cells is not None
    return "FIT" if fit(cells, guest, NEWEST) else "NOFIT"


def option(row: Data, case: Data, folder: pathlib.Path) -> t.Any:
    try:
        options = facts(case["hosts"][row["ini"]], folder)["nova"]["options"]
    except InputError:
        return "error"
    return options.get(row["option"], {}).get("value")


def counts(host: Host) -> Data:
    def count(cpus: t.Callable[..., int]) -> t.Any:
        found = answer(lambda: cpus(host.config, host.topology, NEWEST))
        return found.bit_count() if isinstance(found, int) else found

    return {"VCPU": count(inventory.shared_cpus), "PCPU": count(inventory.dedicated_cpus)}


def asked(row: Data, flavor: Flavor) -> Data:
    """Give of both queries what the row states."""
    primary = request.build(flavor, NO_IMAGE, NEWEST)
    fallback = (
        request.build(flavor, NO_IMAGE, NEWEST, translate=False)
        if primary.cpu_pinning_requested
        else None
    )

    def amounts(query: request.Request) -> Data:
        return {name: query.resources[name] for name in ("VCPU", "PCPU") if name in query.resources}

    found = {
        "query": row["query"],
        "primary": amounts(primary),
        "required": sorted(primary.unsuffixed.required),
        "forbidden": sorted(primary.unsuffixed.forbidden),
        "fallback": amounts(fallback) if fallback else "none",
    }
    return {key: found[key] for key in row}


def expected(row: Data) -> t.Any:
    if "inventory" in row:
        return {"VCPU": row["VCPU"], "PCPU": row["PCPU"]}
    return row if "query" in row else row["is"]


def test_machine_rows(case: Data, tmp_path: pathlib.Path) -> None:
    for index, row in enumerate(case["machine"]):
        assert decided(row, case, tmp_path / str(index)) == expected(row), row


def fleet(case: Data, folder: pathlib.Path) -> Fleet:
    """Make the fleet of a case; hosts whose ``nova.conf`` cannot be read are left out."""
    named = []
    for name, given in case.get("hosts", {}).items():
        try:
            named.append((name, facts(given, folder / name)))
        except InputError:
            continue
    newest = max(
        (tuple(map(int, given["release"].split("."))) for given in case.get("hosts", {}).values()),
        default=(34, 0, 0),
    )
    control = ".".join(map(str, max(newest, (20, 0, 0))))
    images = [
        {"name": name, "properties": properties}
        for name, properties in case.get("images", {}).items()
    ]
    return Fleet(
        Scheduler(control),
        documents.classes(named, control) if named else (),
        tuple(flavors(case).values()) if case.get("flavors") else (),
        documents.images({"format": 1, "images": images}) if images else (),
    )


def test_findings(case: Data, tmp_path: pathlib.Path) -> None:
    if not case.get("hosts") and not case.get("flavors"):
        pytest.skip("the case is about grammar alone")
    found = audit(fleet(case, tmp_path)).findings
    severities: dict[str, set[str]] = {}
    for finding in found:
        severities.setdefault(finding.code, set()).add(finding.severity.value)
    for code, severity in case["fire"].items():
        assert severity in severities.get(code, set()), (code, severity, severities)
    assert not set(case["silent"]) & set(severities), severities
    worst = {severity for each in severities.values() for severity in each}
    verdict = "error" if "error" in worst else "warning" if "warning" in worst else "ok"
    assert verdict == case["verdict"], [finding.as_dict() for finding in found]
