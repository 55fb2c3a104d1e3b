# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read.cpu_list import to_text
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Scheduler
from ansible_collections.pinguard.nova.plugins.plugin_utils._model.kernel import Cgroups
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova import (
    constraints,
    guest_xml,
    inventory,
    schedule,
    xml_form,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.errors import NovaError
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.fit import fit
from ansible_collections.pinguard.nova.plugins.plugin_utils._nova.releases import release
from ansible_collections.pinguard.nova.tests.unit.plugins.plugin_utils._nova.building import (
    PAIRS,
    SINGLES,
    flavor,
    host,
    image,
    topology,
)

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.flavor import Image
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.guest_xml import GuestXml
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.host import Host

REALTIME = "cpu_policy=dedicated cpu_realtime=yes cpu_realtime_mask=^0"
BOTH: dict[str, t.Any] = {"cpu_shared_set": "0-1", "cpu_dedicated_set": "2-7"}


def predicted(specs: str, on: Host | None = None, properties: str = "", **more: t.Any) -> GuestXml:
    """Fit a flavor to an empty host, and predict its XML there."""
    on = on or host(SINGLES, **BOTH)
    named, known = flavor(specs, **more), release(on.release)
    picture: Image = image(properties)
    guest = constraints.guest(named, picture, known)
    fitted = fit(inventory.host_cells(on, known) or (), guest, known) if guest else None
    assert guest is None or fitted is not None
    places = guest_xml.places_of(fitted)
    return guest_xml.predict(named, picture, guest, places, on, known, fitted)


def refusal(specs: str, on: Host, **more: t.Any) -> str:
    with pytest.raises(NovaError) as error:
        predicted(specs, on, **more)
    return error.value.name


@pytest.mark.parametrize(
    ("specs", "emulator"),
    [
        ("cpu_policy=dedicated", "2,4-6"),
        (REALTIME, "6"),
        (REALTIME.replace("^0", "^0-1"), "2,6"),
        (f"{REALTIME} emulator_threads_policy=share", "0-1"),
        (f"{REALTIME} emulator_threads_policy=isolate", "1"),
        ("numa_nodes=1", "0-3"),
    ],
)
def test_emulator_threads_run_where_the_policy_puts_them(specs: str, emulator: str) -> None:
    sets: dict[str, t.Any] = {"cpu_shared_set": "0-3"} if "numa" in specs else BOTH
    if "isolate" in specs:
        sets = {"cpu_shared_set": "0", "cpu_dedicated_set": "1-7"}
    found = predicted(specs, host(SINGLES, **sets)).emulator
    assert found is not None
    if "isolate" in specs:
        assert found.bit_count() == 1
        assert found & 0b11111110
    else:
        assert to_text(found) == emulator


def test_realtime_without_policy_never_gives_the_emulator_a_realtime_cpu() -> None:
    xml = predicted(REALTIME)
    pinned = sum(1 << xml.pins[vcpu] for vcpu in range(1, 4))
    assert xml.realtime == 0b1110
    assert xml.emulator == 1 << xml.pins[0]
    assert not xml.emulator & pinned


def test_share_takes_the_whole_shared_set_of_every_cell() -> None:
    on = host(
        more={"topology": topology(PAIRS, cells=2)}, cpu_shared_set="0,2,4", cpu_dedicated_set="1,5"
    )
    assert predicted(
        "cpu_policy=dedicated emulator_threads_policy=share", on, vcpus=2
    ).emulator == (0b10101)


def test_floating_guests_get_the_shared_set_only_where_it_is_told() -> None:
    assert predicted("", host(SINGLES, cpu_shared_set="1-3")).cpuset == 0b1110
    assert predicted("", host(SINGLES, cpu_dedicated_set="1-3")).cpuset is None
    assert predicted("", host(SINGLES)).cpuset is None


@pytest.mark.parametrize(
    ("version", "shares"),
    [("20.0.0", 4096), ("25.2.1", 4096), ("25.3.0", None), ("26.0.0", None), ("34.0.0", None)],
)
def test_shares_are_given_unasked_until_they_were_not(version: str, shares: int | None) -> None:
    assert predicted("", host(SINGLES, version)).shares == shares


def test_shares_need_a_controller_that_the_release_finds() -> None:
    unified = {"cgroups": Cgroups(version=2, cpu_controller=True)}
    assert predicted("", host(SINGLES, "25.0.0", unified)).shares is None
    assert predicted("", host(SINGLES, "25.2.1", unified)).shares == 4096
    assert refusal("quota:cpu_quota=1", host(SINGLES, "25.0.0", unified)) == (
        "UnsupportedHostCPUControlPolicy"
    )
    assert predicted("quota:cpu_quota=1", host(SINGLES, "27.1.0", unified)).quota == 1


def test_an_io_thread_comes_with_2026_1_and_runs_where_the_emulator_does() -> None:
    before, after = (predicted(REALTIME, host(SINGLES, r, **BOTH)) for r in ("32.2.1", "33.0.0"))
    assert (before.iothreads, before.iothread_pins) == (0, {})
    assert (after.iothreads, after.iothread_pins) == (1, {1: after.emulator})


def test_what_the_driver_refuses() -> None:
    unset = host(SINGLES, cpu_dedicated_set="2-7")
    shares = f"{REALTIME} emulator_threads_policy=share"
    assert refusal(shares, unset) == "RealtimeMaskNotFoundOrInvalid"
    assert refusal("mem_page_size=small", host(SINGLES, file_backed_memory=1)) == (
        "MemoryPagesUnsupported"
    )
    assert refusal("quota:cpu_shares=many", host(SINGLES)) == "ValueError"
    strange = host(SINGLES, more={"architecture": "s390x"})
    with pytest.raises(NovaError, match="NUMATopologyUnsupported"):
        guest_xml.predict(
            flavor(REALTIME),
            image(),
            constraints.guest(flavor(REALTIME), image(), release("34.0.0")),
            (),
            strange,
            release("34.0.0"),
        )


@pytest.mark.parametrize(
    ("specs", "options", "version", "said"),
    [
        ("cpu_policy=dedicated quota:cpu_period=10", {}, "34.0.0", "libvirt takes 1000 to 1000000"),
        ("cpu_policy=dedicated quota:cpu_quota=-1 quota:cpu_period=1000", {}, "34.0.0", ""),
        ("cpu_policy=dedicated quota:cpu_shares=1", {}, "34.0.0", "libvirt takes 2 to 262144"),
        ("cpu_policy=dedicated quota:cpu_shares=1", {}, "30.0.0", ""),
        (REALTIME.replace("^0", "2-3"), {}, "21.0.0", "every vCPU is realtime"),
        (REALTIME.replace("^0", "^0,4"), {}, "21.0.0", "names vCPUs from 4 on"),
        (REALTIME, {"realtime_scheduler_priority": 0}, "34.0.0", "takes 1 to 99"),
        (REALTIME, {}, "21.0.0", ""),
    ],
)
def test_a_guest_that_libvirt_refuses_does_not_boot(
    specs: str, options: dict[str, t.Any], version: str, said: str
) -> None:
    seen = schedule.view(host(SINGLES, version, **BOTH, **options))
    asked = schedule.ask(flavor(specs), image(), Scheduler(version))
    outcome = schedule.settle(asked, seen, Scheduler(version))
    assert outcome.boots == (not said)
    assert said in outcome.reason
    assert outcome.stage == ("driver" if said else None)


def test_a_mixed_guest_does_not_boot_where_its_floating_vcpus_have_no_cpu() -> None:
    """Victoria does not count them, and writes an empty range."""
    seen = schedule.view(host(SINGLES, "22.0.0", cpu_dedicated_set="2-7"))
    specs = "cpu_policy=mixed cpu_dedicated_mask=^0"
    control = Scheduler("22.0.0")
    outcome = schedule.settle(schedule.ask(flavor(specs), image(), control), seen, control)
    assert outcome.stage in ("placement", "driver")


def test_memory_is_locked_for_realtime_and_by_wish() -> None:
    assert predicted(REALTIME).backing.locked
    assert predicted("locked_memory=true mem_page_size=small", vcpus=2).backing.locked
    assert not predicted("mem_page_size=small", vcpus=2).backing.locked
    assert not predicted("mem_page_size=small", vcpus=2).backing.pages
    assert not predicted("mem_page_size=small", vcpus=2).cells[0].shared


def test_large_pages_are_shared_memory() -> None:
    on = host(more={"topology": topology(SINGLES, pages=((4, 1048576), (2048, 2048)))}, **BOTH)
    xml = predicted("mem_page_size=2048", on, vcpus=2)
    assert xml.backing.pages == {0: 2048}
    assert xml.cells[0].shared


def test_an_emulated_architecture_has_a_model_and_no_mode() -> None:
    xml = predicted("", properties="architecture=aarch64")
    assert (xml.cpu.mode, xml.cpu.model) == (None, "cortex-a57")
    assert predicted("", host(SINGLES, "24.0.0"), "architecture=aarch64").cpu.mode == "host-model"


def test_the_xml_stands_in_novas_order() -> None:
    assert xml_form.text(predicted(REALTIME, vcpus=2)) == (
        """\
<memoryBacking>
  <nosharepages />
  <locked />
</memoryBacking>
<numatune>
  <memory mode="strict" nodeset="0" />
  <memnode cellid="0" mode="strict" nodeset="0" />
</numatune>
<vcpu>2</vcpu>
<iothreads>1</iothreads>
<cputune>
  <emulatorpin cpuset="6" />
  <iothreadpin cpuset="6" iothread="1" />
  <vcpupin vcpu="0" cpuset="6" />
  <vcpupin vcpu="1" cpuset="2" />
  <vcpusched vcpus="1" scheduler="fifo" priority="1" />
</cputune>
<cpu mode="host-model" match="exact">
  <topology sockets="2" cores="1" threads="1" />
  <numa>
    <cell id="0" cpus="0-1" memory="2097152" />
  </numa>
</cpu>"""
    )


@given(
    mask=st.sampled_from(["^0", "^0-1", "1", "2-3", "^3"]),
    policy=st.sampled_from(
        ["", " emulator_threads_policy=share", " emulator_threads_policy=isolate"]
    ),
    version=st.sampled_from(["22.0.0", "26.0.0", "30.0.0", "34.0.0"]),
)
def test_emulator_threads_never_meet_realtime_vcpus_of_their_guest(
    mask: str, policy: str, version: str
) -> None:
    specs = f"cpu_policy=dedicated cpu_realtime=yes cpu_realtime_mask={mask}{policy}"
    xml = predicted(specs, host(SINGLES, version, **BOTH))
    busy = sum(1 << cpu for vcpu, cpu in xml.pins.items() if xml.realtime >> vcpu & 1)
    assert xml.emulator
    assert not xml.emulator & busy
