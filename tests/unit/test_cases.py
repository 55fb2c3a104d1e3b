# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Public bug reports and configurations, each with what Nova does and which rules must speak.

``fixtures/cases.yml``: ``machine`` rows hold on 34.0.0 without limits. ``fire`` maps rule codes to
the severity with which they must be found, ``silent`` lists rules that must not be, ``verdict`` is
``error`` (at least one error), ``warning`` (warnings at most) or ``ok`` (neither). ``servers`` are
on their hosts before these are restarted from the options ``before`` to those of ``nova_conf``;
``spared`` lists servers that no finding may name. ``domains`` run on hosts with the options of
``nova_conf``; ``finds`` lists the codes of all that is found in one.
"""

from __future__ import annotations

import dataclasses
import pathlib
import typing as t
import uuid

import pytest
import yaml

from ansible_collections.pinguard.nova.plugins.module_utils._read import cmdline, nova_options
from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import (
    CpuListError,
    ids,
    parse_hex,
    parse_nova,
    size,
    to_text,
)
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import documents
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.domain import Domain, Metadata
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import NO_IMAGE, Flavor
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import (
    CellUsage,
    Fleet,
    HostClass,
    Scheduler,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.server import CellPlace
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.wish import explicit_sets, wish
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import (
    constraints,
    extra_specs,
    guest_xml,
    inventory,
    request,
    startup,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.fit import fit
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.schedule import (
    NEWEST_SCHEDULER,
    ask,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan import restart
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.clouds import cloud_of
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.proposal import Target, propose
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.readiness import readiness
from ansible_collections.pinguard.nova.plugins.plugin_utils._plan.repair import audit_allocations
from ansible_collections.pinguard.nova.plugins.plugin_utils._render.contents import removed
from ansible_collections.pinguard.nova.plugins.plugin_utils._render.deployers import render
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules import guests
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.audit import audit, findings
from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.host_sets import whole_cores

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host
    from ansible_collections.pinguard.nova.plugins.plugin_utils._rules.rule import Finding

Data = dict[str, t.Any]
NEWEST = release("34.0.0")
WHOLE = {"query", "restart", "candidates", "render", "fill"}
"""Rows that are compared as they are."""
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
    if "restart" in row:
        return restarted(row, case, folder)
    if "candidates" in row:
        return candidates(row, case, folder)
    if "render" in row:
        return rendered(row, case, folder)
    if "blocks" in row:
        found = readiness(fleet(case, folder)).blockers
        return [flavor for point in found for flavor in point.flavors]
    if "fill" in row:
        return filled(row, case, folder)
    if "boot" in row:
        oldest = release(row["oldest"]).service_version
        refusal = ask(flavors(case)[row["boot"]], NO_IMAGE, NEWEST_SCHEDULER, oldest=oldest).refusal
        return refusal.name if refusal else "ok"
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


def restarted(row: Data, case: Data, folder: pathlib.Path) -> Data:
    """Restart a host with its servers; give what the row states."""
    cloud = cloud_of(fleet(case, folder, "before"))
    config = dataclasses.replace(host(case, row["restart"], folder).config, **row.get("with", {}))
    (each,) = restart.check(cloud, {row["restart"]: config}, row.get("release"))
    start = each.case.start
    values = {
        "is": each.error.name if each.error else "ok",
        "runs": each.starts,
        "pinned": to_text(sum(cell.pinned_cpus for cell in start.seen.books or ())),
        "allocations": {
            name: dict(start.moved[consumer])
            for name in case.get("servers", ())
            if (consumer := identity(name)) in start.moved
        },
    }
    return {key: values.get(key, row[key]) for key in row}


def filled(row: Data, case: Data, folder: pathlib.Path) -> Data:
    """Boot guests of one flavor on a host until it takes none; give their number."""
    cloud = cloud_of(fleet(case, folder))
    asked = cloud.ask(flavors(case)[row["fill"]], NO_IMAGE)
    count, name = 0, row["host"]
    while name in (found := cloud.select(asked, (name,))).hosts:
        assert cloud.place(str(count), asked, name, found.outcomes[name]).clean
        count += 1
    provider = cloud.hosts[name].provider
    assert provider is not None
    used = {key: amount for key, amount in provider.used.items() if key in ("VCPU", "PCPU")}
    return {**row, "is": count, "used": used}


def candidates(row: Data, case: Data, folder: pathlib.Path) -> Data:
    """Ask for a flavor over the fleet; give the hosts that each query lists."""
    cloud = cloud_of(fleet(case, folder))
    asked = cloud.ask(flavors(case)[row["candidates"]], NO_IMAGE)
    listed = cloud.select(asked).found.by_query
    return {
        "candidates": row["candidates"],
        "primary": list(listed["primary"]),
        "fallback": list(listed["fallback"]) if "fallback" in listed else "none",
    }


def rendered(row: Data, case: Data, folder: pathlib.Path) -> Data:
    """Render the options of a host that is to have some sets, and list those that go."""
    conf = "".join(f"{name} = {value}\n" for name, value in row.get("now", {}).items())
    given = {
        **case["hosts"][row["render"]],
        "nova_conf": f"[DEFAULT]\n{conf}",
        "release": row.get("release", "34.0.0"),
    }
    hosts = documents.classes([(row["render"], facts(given, folder))], "34.0.0")
    target = Target(wish(row["wish"]) if "wish" in row else explicit_sets(row["sets"]))
    try:
        file, *_others = render(Fleet(NEWEST_SCHEDULER, hosts), target, "nova_conf")
    except InputError as refusal:
        return {**row, "is": row["is"] if row["is"] in str(refusal) else str(refusal)}
    proposal = propose(hosts[0], target)
    return {
        **row,
        "is": "".join(line for line in file.text.splitlines(True) if line[0] not in "#\n"),
        "removed": list(removed(proposal.now.config, proposal.then.config)),
    }


def expected(row: Data) -> t.Any:
    if "inventory" in row:
        return {"VCPU": row["VCPU"], "PCPU": row["PCPU"]}
    if "blocks" in row:
        return row["blocks"]
    return row if WHOLE & row.keys() else row["is"]


def test_machine_rows(case: Data, tmp_path: pathlib.Path) -> None:
    for index, row in enumerate(case["machine"]):
        assert decided(row, case, tmp_path / str(index)) == expected(row), row


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(given, id=f"{case['id']}-{name}")
        for case in CASES
        for name, given in case.get("hosts", {}).items()
    ],
)
def test_every_host_can_be_told_what_to_become(given: Data, tmp_path: pathlib.Path) -> None:
    """Its sets hold whole cores and none of the data path's; ``propose`` sees to the start."""
    wanted = {**given, "nova_conf": "", "release": "34.0.0"}
    (each,) = documents.classes([("h1", facts(wanted, tmp_path))], "34.0.0")
    target = Target(wish({}), intent="realtime" if "cmdline" in given else "pinned")
    topology = each.host.topology
    cpus = parse_nova(propose(each, target).then.config.cpu_dedicated_set or "")
    assert cpus
    assert not cpus & each.host.data_path_cpus
    assert cpus == whole_cores(topology, cpus) & topology.online


def domains(case: Data, given: Fleet) -> Iterator[Domain]:
    """Make the domains of a case; what it does not tell of their XML is as Nova writes it."""
    hosts = {name: each.host for each in given.classes for name in each.names}
    for name, told in case.get("domains", {}).items():
        on = hosts[told["host"]]
        nova = release(on.release, host=True)
        pins = {int(vcpu): parse_nova(cpus) for vcpu, cpus in told.get("vcpupin", {}).items()}
        pinned = bool(pins) and all(size(cpus) == 1 for cpus in pins.values())
        specs = told.get("flavor_specs", {"hw:cpu_policy": "dedicated"} if pinned else {})
        flavor = Flavor(name, told["vcpus"], 1024, specs)
        emulator = parse_nova(told.get("emulatorpin") or "")
        guest = constraints.guest(flavor, NO_IMAGE, nova)
        places = []
        for index, cell in enumerate(guest.cells if guest else ()):
            own = {vcpu: pins[vcpu].bit_length() - 1 for vcpu in ids(cell.pcpuset)}
            cells = on.topology.cells
            (seat,) = {
                each.id for each in cells if any(each.cpuset >> cpu & 1 for cpu in own.values())
            }
            isolates = guest and guest.emulator_threads_policy == "isolate"
            places.append(CellPlace(seat, own, emulator if isolates and not index else 0))
        written = guest_xml.predict(flavor, NO_IMAGE, guest, tuple(places), on, nova)
        live = dataclasses.replace(
            written,
            cpuset=parse_nova(told["vcpu_cpuset"]) if told.get("vcpu_cpuset") else written.cpuset,
            vcpu_pins=pins or written.vcpu_pins,
            emulator=emulator or written.emulator,
        )
        bare = dataclasses.replace(flavor, extra_specs={})
        yield Domain(
            identity(name),
            name,
            told["host"],
            running=True,
            live=live,
            nova=Metadata(nova.name, nova.name, name, name, bare),
            flavor=flavor if "flavor_specs" in told else None,
        )


def guest_findings(case: Data, given: Fleet) -> list[Finding]:
    """Audit the domains of a case."""
    own = [*domains(case, given)]
    return [
        *(
            finding
            for each in guests.guest_cases(given, own)
            for finding in findings(each, f"guest {each.domain.id}")
        ),
        *(
            finding
            for each in guests.host_guests_cases(given, own)
            for finding in findings(each, f"host {each.name}")
        ),
    ]


def identity(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


def servers(case: Data) -> Data:
    """Make the document of the servers and other consumers of a case."""
    entries = [
        {
            "id": identity(name),
            "name": name,
            "flavor": {
                "name": name,
                "vcpus": given["vcpus"],
                "ram": 1024,
                "extra_specs": given.get("extra_specs", {}),
            },
            **{key: given[key] for key in given if key not in ("vcpus", "extra_specs")},
        }
        for name, given in case.get("servers", {}).items()
    ]
    return {"format": 1, "servers": entries, "allocations": case.get("allocations", [])}


def recorded(each: HostClass, case: Data) -> HostClass:
    """Add Nova's record of the pinned CPUs of a host, by its cells."""
    pinned = case["hosts"][each.host.name].get("pinned_cpus", {})
    usage = tuple(
        CellUsage(cell, cpus, size(cpus))
        for cell, cpus in ((cell, parse_nova(text)) for cell, text in pinned.items())
    )
    return dataclasses.replace(each, host=dataclasses.replace(each.host, usage=usage))


def fleet(case: Data, folder: pathlib.Path, options: str = "nova_conf") -> Fleet:
    """Make the fleet of a case; hosts whose ``nova.conf`` cannot be read are left out.

    With ``before`` for ``options``, hosts have the options that they had before their restart.
    """
    named = []
    for name, given in case.get("hosts", {}).items():
        conf = given.get(options, given.get("nova_conf", ""))
        try:
            named.append((name, facts({**given, "nova_conf": conf}, folder / name)))
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
        tuple(recorded(each, case) for each in documents.classes(named, control)) if named else (),
        tuple(flavors(case).values()) if case.get("flavors") else (),
        documents.images({"format": 1, "images": images}) if images else (),
        *documents.servers(servers(case), (), ()),
    )


def restarts(case: Data, folder: pathlib.Path, *names: str) -> tuple[restart.Restart, ...]:
    """Restart hosts of a case, each from its options ``before`` to those of ``nova_conf``."""
    now, then = fleet(case, folder, "before"), fleet(case, folder)
    options = {name: each.host.config for each in then.classes for name in each.names}
    return restart.check(cloud_of(now), {name: options[name] for name in names})


def found(case: Data, folder: pathlib.Path) -> list[Finding]:
    """Audit flavors, hosts and allocations, and the restarts that are due."""
    due = [name for name, given in case.get("hosts", {}).items() if "before" in given]
    return [
        *audit(fleet(case, folder)).findings,
        *guest_findings(case, fleet(case, folder)),
        *(damage.finding for damage in audit_allocations(fleet(case, folder, "before")).damages),
        *(finding for each in restarts(case, folder, *due) for finding in each.findings),
    ]


def test_findings(case: Data, tmp_path: pathlib.Path) -> None:
    if not case.get("hosts") and not case.get("flavors"):
        pytest.skip("the case is about grammar alone")
    everything = found(case, tmp_path)
    severities: dict[str, set[str]] = {}
    for finding in everything:
        severities.setdefault(finding.code, set()).add(finding.severity.value)
    for code, severity in case["fire"].items():
        assert severity in severities.get(code, set()), (code, severity, severities)
    assert not set(case["silent"]) & set(severities), severities
    for name in case.get("spared", ()):
        told = [finding.as_dict() for finding in everything]
        assert not [each for each in told if identity(name) in each["what"] + each["subject"]]
    for name, told in case.get("domains", {}).items():
        subject = f"guest {identity(name)}"
        assert [each.code for each in everything if each.subject == subject] == told["finds"], name
    worst = {severity for each in severities.values() for severity in each}
    verdict = "error" if "error" in worst else "warning" if "warning" in worst else "ok"
    assert verdict == case["verdict"], [finding.as_dict() for finding in everything]
