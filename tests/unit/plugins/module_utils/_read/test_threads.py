# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap
import typing as t
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read import cpu_list, evidence, threads
from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import InputError
from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Plant = Callable[[Mapping[str, str]], Tree]

UUID = "6f3c1d0a-6a3e-4a52-9c0b-2f1d6a3c9e11"
QEMU = f"/usr/libexec/qemu-kvm\0-name\0guest=vm\0-uuid\0{UUID}\0-smp\0{2}\0"


def task(
    name: str,
    cpus: str = "0-3",
    policy: int = 0,
    priority: int = 0,
    last_cpu: int = 1,
    parent: int = 1,
) -> tuple[str, str]:
    """Write stat and status of a thread."""
    numbers = [parent, *[0] * 34, last_cpu, priority, policy, *[0] * 11]
    fields = ["S", *map(str, numbers)]
    status = (
        f"Name:\t{name}\nVmLck:\t      64 kB\nVmSwap:\t       8 kB\nCpus_allowed_list:\t{cpus}\n"
    )
    return f"7 ({name}) {' '.join(fields)}\n", status


def process(pid: int, command: str, tasks: Mapping[int, tuple[str, str]]) -> dict[str, str]:
    """Write what procfs has of a process."""
    files = {f"proc/{pid}/cmdline": command}
    for place, (stat, status) in {
        f"proc/{pid}": tasks[pid],
        **{f"proc/{pid}/task/{tid}": each for tid, each in tasks.items()},
    }.items():
        files.update({f"{place}/stat": stat, f"{place}/status": status})
    return files


GUEST = process(
    4711,
    QEMU,
    {
        4711: task("qemu-kvm", "6"),
        4712: task("call_rcu", "6"),
        4713: task("IO mon_iothread", "6"),
        4714: task("IO iothread12", "7", priority=1, policy=1),
        4720: task("CPU 0/KVM", "8"),
        4721: task("CPU 31/KVM", "9", policy=1, priority=99, last_cpu=9),
        4722: task("vhost-4711", "6"),
        4723: task("worker) (x) 1", "6"),
    },
)


@pytest.mark.parametrize(
    "broken",
    [
        task("CPU 0/KVM", last_cpu=1 << 16),
        task("CPU 0/KVM", last_cpu=-1),
        task("CPU 0/KVM", priority=100),
        task("CPU 0/KVM", policy=4),
    ],
)
def test_a_state_that_no_thread_has_is_refused(plant: Plant, broken: tuple[str, str]) -> None:
    tree = plant(process(4711, QEMU, {4711: task("qemu-kvm"), 4720: broken}))
    with pytest.raises(InputError, match="/proc/4711/task/4720: is no state of a thread"):
        threads.threads(tree, threads.processes(tree), 4711)


def test_memory_that_no_host_has_is_refused(plant: Plant) -> None:
    tree = plant({"proc/7/numa_maps": "7f N0=99999999999 kernelpagesize_kB=1048576\n"})
    with pytest.raises(InputError, match="/proc/7/numa_maps: tells of very much memory"):
        threads.cells(tree, 7)


def test_every_thread_is_told_what_it_is_for(plant: Plant) -> None:
    tree = plant(GUEST)
    read = threads.threads(tree, threads.processes(tree), 4711)
    kinds = {each["name"]: (each["kind"], each.get("index"), each.get("main")) for each in read}
    assert kinds == {
        "qemu-kvm": ("emulator", None, True),
        "call_rcu": ("emulator", None, None),
        "IO mon_iothread": ("emulator", None, None),
        "IO iothread12": ("iothread", 12, None),
        "CPU 0/KVM": ("vcpu", 0, None),
        "CPU 31/KVM": ("vcpu", 31, None),
        "vhost-4711": ("vhost", None, None),
        "worker) (x) 1": ("emulator", None, None),
    }
    assert read[5] == {
        "id": 4721,
        "name": "CPU 31/KVM",
        "kind": "vcpu",
        "index": 31,
        "cpus": "9",
        "policy": "fifo",
        "priority": 99,
        "last_cpu": 9,
    }


def test_kernel_threads_of_vhost_belong_to_the_process_that_they_name(plant: Plant) -> None:
    tree = plant(
        GUEST
        | process(80, "", {80: task("vhost-4711", "5", parent=2)})
        | process(81, "", {81: task("vhost-99", parent=2)})
        | process(82, "vhost-4711\0", {82: task("vhost-4711")})
    )
    read = threads.threads(tree, threads.processes(tree), 4711)
    assert [(each["id"], each["cpus"]) for each in read if each["kind"] == "vhost"] == [
        (4722, "6"),
        (80, "5"),
    ]


def test_a_process_is_found_by_its_uuid(plant: Plant) -> None:
    wrapper = process(9, f"timeout\0{QEMU}", {9: task("timeout")})
    other = process(10, QEMU.replace("6f3c", "6f3d"), {10: task("qemu-kvm")})
    tree = plant(GUEST | wrapper | other | {"proc/self/cmdline": QEMU})
    found = threads.processes(tree)
    assert threads.process_of(tree, found, UUID.upper(), "vm") == 4711
    assert threads.process_of(tree, found, "0" + UUID[1:], "vm") is None


def test_several_processes_of_one_uuid_are_refused(plant: Plant) -> None:
    tree = plant(GUEST | process(4800, QEMU, {4800: task("qemu-kvm")}))
    with pytest.raises(InputError, match=r"4711, 4800 all have -uuid"):
        threads.process_of(tree, threads.processes(tree), UUID, "vm")


@pytest.mark.parametrize(
    ("text", "expected"), [("4711\n", 4711), ("9\n", None), ("4712", None), ("x", None)]
)
def test_without_its_uuid_the_file_of_libvirt_tells_the_process(
    plant: Plant, text: str, expected: int | None
) -> None:
    files = process(4711, "qemu-kvm\0", {4711: task("qemu-kvm")})
    other = process(9, "bash\0", {9: task("bash")})
    tree = plant(files | other | {"run/libvirt/qemu/vm.pid": text})
    found = threads.processes(tree)
    assert threads.process_of(tree, found, UUID, "vm") == expected
    assert threads.process_of(tree, found, UUID, "../qemu/vm") is None


def test_threads_that_end_are_passed_over(plant: Plant) -> None:
    tree = plant(GUEST)
    found = threads.processes(tree)
    gone = pathlib.Path(tree.root, "proc/4711/task")
    (gone / "4712/stat").unlink()
    (gone / "4713/status").unlink()
    assert len(threads.threads(tree, found, 4711)) == 6
    assert threads.threads(tree, found, 4999) == []
    assert threads.memory(tree, 4999) == {}
    assert threads.cells(tree, 4999) is None


@pytest.mark.parametrize(
    "broken",
    [
        ("", ""),
        ("7 (x) S 0", task("x")[1]),
        (task("x")[0], "Name: x\n"),
        task("x", "0-x"),
        task("x", policy=99),
    ],
)
def test_what_is_no_thread_is_refused_with_its_place(plant: Plant, broken: tuple[str, str]) -> None:
    tree = plant(process(5, QEMU, {5: task("qemu-kvm"), 6: broken}))
    with pytest.raises(InputError, match=r"^/proc/5/task/6"):
        threads.threads(tree, threads.processes(tree), 5)


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=15))
def test_no_name_of_a_thread_changes_what_is_read_of_it(name: str) -> None:
    stat, _status = task(name, policy=1, priority=7, last_cpu=3)
    found = evidence.stat(stat.rstrip("\n"))
    assert found
    read, fields = found
    assert read == name
    assert [fields[at] for at in (evidence.LAST_CPU, evidence.PRIORITY, evidence.POLICY)] == [
        "3",
        "7",
        "1",
    ]


def test_a_name_takes_no_line_of_its_own(plant: Plant) -> None:
    stat, status = task("x\n\u2028y", "4")
    tree = plant(process(5, QEMU, {5: (stat, f"Name:\tx\\n\u2028Cpus_allowed_list:\t9\n{status}")}))
    (read,) = threads.threads(tree, threads.processes(tree), 5)
    assert (read["name"], read["cpus"]) == ("x??y", "4")


def test_memory_is_summed_up_by_host_cell(plant: Plant) -> None:
    maps = """\
7f0000000000 bind:0 file=/dev/hugepages/x huge dirty=3 N0=2 N1=1 kernelpagesize_kB=2048
7f0100000000 default anon=5 dirty=5 active=0 N1=5 kernelpagesize_kB=4
7f0200000000 default file=/tmp/N7=9 mapped=1 N0=1 kernelpagesize_kB=4
7f0300000000 default stack
"""
    tree = plant(GUEST | {"proc/4711/numa_maps": maps})
    assert threads.memory(tree, 4711) == {"locked_kb": 64, "swapped_kb": 8}
    assert threads.cells(tree, 4711) == {"0": 4100, "1": 2068}


ACTOR = textwrap.dedent(
    """
    import os, sys, threading
    def name(text):
        with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as comm:
            comm.write(text)
    def act(text, cpu, policy, ready):
        name(text)
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, policy, os.sched_param(0))
        ready.wait()
        threading.Event().wait()
    cpu = max(os.sched_getaffinity(0))
    ready = threading.Barrier(3)
    name("qemu-system-x86")
    for text, policy in (("CPU 0/KVM", os.SCHED_BATCH), ("IO iothread1", os.SCHED_IDLE)):
        threading.Thread(target=act, args=(text, cpu, policy, ready), daemon=True).start()
    ready.wait()
    print(flush=True)
    sys.stdin.read()
    """
)


@pytest.fixture
def actor() -> Iterator[tuple[int, str]]:
    """Start a process that looks like QEMU to procfs, and give its id and UUID."""
    own = str(uuid.uuid4())
    command = ["qemu-system-x86_64", "-c", ACTOR, "-uuid", own]
    with subprocess.Popen(
        command, executable=sys.executable, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as started:
        assert started.stdout
        assert started.stdout.readline()
        yield started.pid, own
        started.kill()


def test_the_running_kernel_tells_policy_and_cpus_of_real_threads(
    actor: tuple[int, str],
) -> None:
    pid, own = actor
    tree = Tree("/")
    found = threads.processes(tree)
    assert threads.process_of(tree, found, own, "none") == pid
    read = {each["name"]: each for each in threads.threads(tree, found, pid)}
    ours = os.sched_getaffinity(0)
    main = read.pop("qemu-system-x86")
    assert (main["id"], main["main"], main["kind"]) == (pid, True, "emulator")
    assert cpu_list.parse_kernel(main["cpus"]) == cpu_list.mask(ours)
    told = {name: (each["kind"], each["index"], each["policy"]) for name, each in read.items()}
    assert told == {
        "CPU 0/KVM": ("vcpu", 0, "batch"),
        "IO iothread1": ("iothread", 1, "idle"),
    }
    for each in read.values():
        assert (each["cpus"], each["last_cpu"], each["priority"]) == (
            str(max(ours)),
            max(ours),
            0,
        )
    assert threads.memory(tree, pid)["locked_kb"] == 0
