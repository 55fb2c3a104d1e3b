# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import gzip
import os
import typing as t

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.pinguard.nova.plugins.module_utils._read import evidence, kernel

if t.TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Mapping

    from ansible_collections.pinguard.nova.plugins.module_utils._read.files import Tree

    Plant = Callable[[Mapping[str, str]], Tree]

CPU = "sys/devices/system/cpu"
PAGES = "sys/kernel/mm/transparent_hugepage"
SYSCTL = "proc/sys/kernel"
RELEASE = {f"{SYSCTL}/osrelease": "6.1.0\n"}
CONFIG = {**RELEASE, "boot/config-6.1.0": "CONFIG_SMP=y\n# CONFIG_NO_HZ_FULL is not set\n"}
EIGHT = 0xFF


def _kernel(
    tree: Tree, arguments: Mapping[str, t.Any] | None = None, isolated: int = 0
) -> dict[str, t.Any]:
    return kernel.kernel(tree, arguments, EIGHT, isolated, evidence.processes(tree))


def _stat(pid: int, name: str, parent: int = 2, policy: int = 0, priority: int = 0) -> str:
    fields = ["S", str(parent), *["0"] * 35, str(priority), str(policy), "0"]
    return f"{pid} ({name}) {' '.join(fields)}\n"


def test_an_empty_tree_tells_nothing(plant: Plant) -> None:
    assert _kernel(plant({})) == {}


@pytest.mark.parametrize(
    ("path", "text", "key", "value"),
    [
        (f"{SYSCTL}/osrelease", "5.14.0-427.el9.x86_64\n", "release", "5.14.0-427.el9.x86_64"),
        ("proc/version", "Linux version 6.1.0 (me@host) #1 SMP\n", "release", "6.1.0"),
        ("sys/kernel/realtime", "1\n", "preempt_rt", True),
        (f"{SYSCTL}/version", "#1 SMP PREEMPT_RT Debian 6.1.1\n", "preempt_rt", True),
        (f"{SYSCTL}/version", "#1 SMP PREEMPT RT Mon\n", "preempt_rt", True),
        (f"{SYSCTL}/version", "#1 SMP PREEMPT_DYNAMIC Mon\n", "preempt_rt", False),
        (f"{CPU}/nohz_full", "2-7\n", "nohz_full", "2-7"),
        (f"{CPU}/nohz_full", "  (null)\n", "nohz_full", ""),
        (f"{CPU}/nohz_full", "\n", "nohz_full", ""),
        (f"{SYSCTL}/sched_rt_runtime_us", "-1\n", "rt_runtime_us", -1),
        (f"{SYSCTL}/numa_balancing", "2\n", "numa_balancing", True),
        (f"{SYSCTL}/nmi_watchdog", "0\n", "nmi_watchdog", False),
        (f"{SYSCTL}/watchdog_cpumask", "0-255\n", "watchdog_cpus", "0-7"),
        (f"{SYSCTL}/soft_watchdog", "0\n", "watchdog_cpus", ""),
        ("sys/kernel/mm/ksm/run", "2\n", "ksm", 2),
        (f"{PAGES}/enabled", "always [madvise] never\n", "huge_pages", "madvise"),
        ("sys/devices/virtual/workqueue/cpumask", "ffffffff,00000003\n", "workqueue_cpus", "0-1"),
        ("proc/irq/default_smp_affinity", "ff\n", "irq_default", "0-7"),
        (f"{CPU}/smt/control", "forceoff\n", "smt", "forceoff"),
    ],
)  # fmt: skip
def test_one_file_tells_one_thing(
    plant: Plant, path: str, text: str, key: str, value: object
) -> None:
    found = _kernel(plant({path: text}))
    assert found[key] == value


@pytest.mark.parametrize(
    ("path", "key"),
    [
        (f"{SYSCTL}/osrelease", "release"),
        ("sys/kernel/realtime", "preempt_rt"),
        (f"{CPU}/nohz_full", "nohz_full"),
        (f"{SYSCTL}/sched_rt_runtime_us", "rt_runtime_us"),
        (f"{SYSCTL}/watchdog_cpumask", "watchdog_cpus"),
        ("sys/kernel/mm/ksm/run", "ksm"),
        (f"{PAGES}/enabled", "huge_pages"),
        ("sys/devices/virtual/workqueue/cpumask", "workqueue_cpus"),
        (f"{CPU}/smt/control", "smt"),
        (f"{CPU}/cpu0/cpufreq/scaling_governor", "governors"),
        ("proc/interrupts", "irqs"),
    ],
)
@pytest.mark.parametrize("text", ["", "\0", "9-1", "x" * 5000, "1\n-2\n", "[[", "٣"])
def test_what_is_not_understood_is_left_out(plant: Plant, path: str, key: str, text: str) -> None:
    expected = "" if (text, key) in {("", "nohz_full"), ("", "watchdog_cpus")} else None
    assert _kernel(plant({path: text})).get(key) == expected


def test_files_that_are_none(tmp_path: pathlib.Path, plant: Plant) -> None:
    tree = plant({"sys/kernel/mm/ksm/run/x": "", "etc/hostname": "me"})
    (tmp_path / SYSCTL).mkdir(parents=True)
    os.mkfifo(tmp_path / SYSCTL / "nmi_watchdog")
    (tmp_path / SYSCTL / "numa_balancing").symlink_to("numa_balancing")
    (tmp_path / SYSCTL / "sched_rt_runtime_us").symlink_to("../../../../../../etc/hostname")
    assert _kernel(tree) == {}


@pytest.mark.parametrize("place", ["boot/config-6.1.0", "usr/lib/modules/6.1.0/config"])
def test_the_configuration_of_the_kernel(plant: Plant, place: str) -> None:
    text = "CONFIG_NO_HZ_FULL=y\n# CONFIG_RT_GROUP_SCHED is not set\n"
    found = _kernel(plant({**RELEASE, place: text}))
    assert (found["no_hz_full"], found["rt_group_sched"]) == (True, False)
    assert "nohz_full" not in found


def test_a_kernel_without_the_option_has_no_tickless_cpus(plant: Plant) -> None:
    assert _kernel(plant(CONFIG))["nohz_full"] == ""


def test_a_packed_configuration(plant: Plant, tmp_path: pathlib.Path) -> None:
    tree = plant(RELEASE)
    place = tmp_path / "proc/config.gz"
    place.write_bytes(gzip.compress(b"CONFIG_RT_GROUP_SCHED=y\n"))
    assert _kernel(tree)["rt_group_sched"] is True
    for data in (b"", b"no gzip", place.read_bytes()[:-9], gzip.compress(bytes(64 << 20))):
        place.write_bytes(data)
        assert "rt_group_sched" not in _kernel(tree)


@pytest.mark.parametrize(
    ("disabled", "cmdline", "expected"),
    [
        ("# {} is not set", "", True),
        ("# {} is not set", "rt_group_sched=0", False),
        ("{}=y", "", False),
        ("{}=y", "quiet rt_group_sched=1", True),
        ("", "rt_group_sched=0", True),
    ],
)
def test_budgets_of_groups_can_be_switched(
    plant: Plant, disabled: str, cmdline: str, expected: bool
) -> None:
    option = disabled.format("CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED")
    text = f"CONFIG_RT_GROUP_SCHED=y\n{option}\n"
    tree = plant({**RELEASE, "boot/config-6.1.0": text, "proc/cmdline": f"{cmdline}\n"})
    assert _kernel(tree)["rt_group_sched"] is expected


INTERRUPTS = """\
           CPU0       CPU1
  0:         35          0   IO-APIC    2-edge      timer
 24:          0          0  IR-PCI-MSI 1048576-edge      nvme0q0
 25:          0          0  IR-PCI-MSI 1048577-edge      nvme0q1
 26:          0          0  IR-PCI-MSI 1048578-edge      nvme0q2
 27:          1          2  IR-PCI-MSIX-0000:3b:00.0    4-edge      mlx5_comp3@pci:0000:3b:00.0
 28:          1          2  IO-APIC   9-fasteoi   acpi
 30:          1          2     GICv3  27 Level     PCIe PME, aerdrv
NMI:          0          0   Non-maskable interrupts
ERR:          0
"""


def test_interrupts_by_name(plant: Plant) -> None:
    goals = {0: "0", 24: "0", 25: "2", 26: "3-4", 27: "1", 28: "", 30: "0,300"}
    files = {f"proc/irq/{irq}/effective_affinity_list": f"{cpus}\n" for irq, cpus in goals.items()}
    found = _kernel(plant({"proc/interrupts": INTERRUPTS, **files}))
    assert found == {
        "irqs": {
            "PCIe PME, aerdrv": "0",
            "mlx5_comp*": "1",
            "nvme0q*": "2-4",
            "nvme0q0": "0",
            "timer": "0",
        },
        "managed_irqs": True,
    }


def test_interrupts_of_an_old_kernel(plant: Plant) -> None:
    files = {"proc/interrupts": INTERRUPTS, "proc/irq/0/smp_affinity_list": "0-1"}
    assert _kernel(plant(files)) == {"irqs": {"timer": "0-1"}, "managed_irqs": False}


def test_a_name_of_any_length_is_cut(plant: Plant) -> None:
    table = f"  30:   1  PCI-MSI  {'9' * 200_000}a9\n"
    found = _kernel(plant({"proc/interrupts": table, "proc/irq/30/smp_affinity_list": "1"}))
    assert list(found["irqs"].values()) == ["1"]
    assert len(next(iter(found["irqs"]))) <= 64


def test_of_more_interrupts_than_any_host_has_nothing_is_told(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_INTERRUPTS", 2)
    table = "".join(f"  {irq}:   1  PCI-MSI  a{irq}\n" for irq in range(3))
    files = {f"proc/irq/{irq}/smp_affinity_list": "1" for irq in range(3)}
    assert "irqs" not in _kernel(plant({"proc/interrupts": table, **files}))


def test_very_many_interrupts_are_bounded(plant: Plant) -> None:
    lines = (f" {irq}: 1  X  {'n' * irq}" for irq in range(1, 400))
    files = {f"proc/irq/{irq}/smp_affinity_list": "1" for irq in range(1, 400)}
    found = _kernel(plant({"proc/interrupts": "\n".join(lines), **files}))["irqs"]
    assert len(found) <= 257
    assert max(map(len, found)) <= 64


BALANCE = "etc/sysconfig/irqbalance"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("IRQBALANCE_BANNED_CPUS=fc\n", "2-7"),
        ('IRQBALANCE_BANNED_CPUS="ffffffff,000000f0"\n', "4-7"),
        ("IRQBALANCE_BANNED_CPULIST=1,5-9  # ours\nIRQBALANCE_BANNED_CPUS=1\n", "1,5-7"),
        ("IRQBALANCE_BANNED_CPUS=1\nIRQBALANCE_BANNED_CPUS=2\n", "1"),
        ("# IRQBALANCE_BANNED_CPUS=1\n", "2-3,6"),
        ("IRQBALANCE_BANNED_CPUS=\n", "2-3,6"),
        ("IRQBALANCE_BANNED_CPUS=what\n", None),
    ],
)
def test_cpus_that_irqbalance_leaves_alone(plant: Plant, text: str, expected: str | None) -> None:
    tree = plant({BALANCE: text, f"{CPU}/nohz_full": "6"})
    assert _kernel(tree, isolated=0b1100).get("irqbalance_banned") == expected


def test_irqbalance_runs_or_not(plant: Plant) -> None:
    assert _kernel(plant({"proc/1/stat": _stat(1, "init")})) == {"irqbalance": False}
    found = _kernel(plant({"proc/7/stat": _stat(7, "irqbalance", 1)}), isolated=4)
    assert found == {"irqbalance": True, "irqbalance_banned": "2"}


def test_priorities_of_kernel_threads(plant: Plant) -> None:
    threads = [
        _stat(10, "ksoftirqd/0", policy=1, priority=3),
        _stat(11, "ksoftirqd/1", policy=1, priority=2),
        _stat(12, "rcuc/0", policy=0, priority=0),
        _stat(13, "ktimersoftd/0", policy=2, priority=4),
        _stat(14, "rcuc/1", parent=1, policy=1, priority=50),
        _stat(15, "a) b (c", policy=1, priority=1),
        "16 (broken",
    ]
    files = {f"proc/{10 + at}/stat": text for at, text in enumerate(threads)}
    found = _kernel(plant(files))["kthread_priorities"]
    assert found == {"ksoftirqd": 2, "ktimers": 4, "rcuc": 0}


def test_governors(plant: Plant) -> None:
    names = {0: "performance", 1: "powersave", 3: "performance", 300: "powersave"}
    files = {f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": name for cpu, name in names.items()}
    assert _kernel(plant(files)) == {"governors": {"performance": "0,3", "powersave": "1"}}


def _states(cpu: int, *states: tuple[int, int]) -> dict[str, str]:
    files = {}
    for at, (latency, disabled) in enumerate(states):
        files[f"{CPU}/cpu{cpu}/cpuidle/state{at}/latency"] = f"{latency}\n"
        files[f"{CPU}/cpu{cpu}/cpuidle/state{at}/disable"] = f"{disabled}\n"
    return files


def test_idle_states(plant: Plant) -> None:
    limit = f"{CPU}/cpu{{}}/power/pm_qos_resume_latency_us"
    files = {
        **_states(0, (0, 0), (2, 0), (133, 0)),
        **_states(1, (0, 0), (2, 0), (133, 1)),
        **_states(2, (0, 0), (2, 0), (133, 0)),
        **_states(3, (0, 0), (2, 0), (133, 0)),
        limit.format(0): "0",
        limit.format(2): "10",
        limit.format(3): "n/a",
        # Of a number of very many digits nothing is known.
        limit.format(1): "9" * 5000,
    }
    assert _kernel(plant(files)) == {"idle_latency_us": {"0": "3", "133": "0", "2": "1-2"}}
    # tuned may hold a limit that no file shows.
    files["etc/tuned/active_profile"] = "realtime\n"
    assert _kernel(plant(files)) == {}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"proc/1/environ": "HOME=/\0kthread_cpus=0-1\0TERM=linux\0"}, False),
        ({"proc/1/environ": "HOME=/\0xkthread_cpus=0-1\0"}, None),
        ({"proc/2/status": "Name:\tkthreadd\nCpus_allowed_list:\t0-7\n"}, False),
        ({"proc/2/status": "Cpus_allowed_list:\t0-1\n"}, True),
        ({"proc/2/status": "Cpus_allowed_list:\t0-1\n", f"{CPU}/nohz_full": "2-7"}, None),
        ({"proc/2/status": "Cpus_allowed_list:\twhat\n"}, None),
    ],
)
def test_an_argument_that_only_some_kernels_know(
    plant: Plant, files: dict[str, str], expected: bool | None
) -> None:
    tree = plant(files)
    assert _kernel(tree, {"kthread_cpus": "0-1"}).get("kthread_cpus_known") is expected
    assert "kthread_cpus_known" not in _kernel(tree, {})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(max_size=60) | st.from_regex(r"[0-9 ,:*/()-]{0,40}"),
    path=st.sampled_from(
        [
            "proc/interrupts",
            "proc/irq/1/effective_affinity_list",
            "proc/irq/default_smp_affinity",
            "proc/1/stat",
            "proc/2/status",
            BALANCE,
            f"{CPU}/cpu0/cpuidle/state0/latency",
            f"{CPU}/nohz_full",
            f"{SYSCTL}/osrelease",
        ]
    ),
)
def test_no_content_of_a_file_is_a_failure(plant: Plant, text: str, path: str) -> None:
    _kernel(plant({path: text}), {"kthread_cpus": text})
