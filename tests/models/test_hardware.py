"""Hardware detection on machines made of files: containers, sockets, cards; and that no probe ever fails loudly."""

import os
import platform
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from paceline.models import hardware
from paceline.models.hardware import GPU, Hardware, gpu_advice

GIB = 1 << 30


def files(root: Path, contents: dict[str, str]) -> Path:
    for name, text in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Eight cores with 16 hyper-threads and 64 GiB, of which 48 are free; no GPU tools; an empty file system."""
    root = tmp_path / "root"
    root.mkdir()
    memory = type("memory", (), {"total": 64 * GIB, "available": 48 * GIB})
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 16 if logical else 8)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return files(
        root,
        {f"sys/devices/system/cpu/cpu{n}/topology/core_id": f"{n % 8}\n" for n in range(16)}
        | {f"sys/devices/system/cpu/cpu{n}/topology/physical_package_id": "0\n" for n in range(16)}
        | {"proc/cpuinfo": "processor\t: 0\nmodel name\t: Fast CPU 9000\n"},
    )


def tool(tmp_path: Path, name: str, script: str) -> None:
    """A command of that name on the path, instead of the real one."""
    path = tmp_path / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def seen(machine: Path) -> Hardware:
    return hardware.detect(machine / "no" / "such" / "store", machine)


# --- cores ---


def test_hyper_threads_are_not_counted(machine: Path) -> None:
    assert (seen(machine).physical_cores, seen(machine).usable_cores) == (8, 8)
    assert seen(machine).cpu == "Fast CPU 9000"


def test_an_affinity_mask_counts_cores_not_threads(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 8, 1, 9})  # both threads of two cores
    assert seen(machine).usable_cores == 2


def test_cores_of_the_same_number_on_two_sockets_are_two(machine: Path) -> None:
    files(machine, {"sys/devices/system/cpu/cpu8/topology/physical_package_id": "1"})
    assert hardware.cores_of(frozenset({0, 8}), machine) == 2


def test_without_topology_every_processor_is_a_core(tmp_path: Path) -> None:
    assert hardware.cores_of(frozenset({0, 1, 5}), tmp_path) == 3


@pytest.mark.parametrize(
    ("physical", "allowed", "quota", "usable"),
    [(8, 8, None, 8), (8, 2, None, 2), (8, 8, 3.9, 3), (8, 8, 0.5, 1), (8, 0, None, 8), (4, 16, 100.0, 4)],
)
def test_usable_cores_are_the_least_of_all_limits(physical: int, allowed: int, quota: float, usable: int) -> None:
    assert hardware.usable_cores(physical, allowed, quota) == usable


# --- control groups ---

V2 = {"proc/self/cgroup": "0::/app/job\n", "sys/fs/cgroup/app/job/memory.current": str(GIB)}


@pytest.mark.parametrize(
    ("contents", "quota"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "250000 100000\n"}, 2.5),
        (V2 | {"sys/fs/cgroup/app/job/cpu.max": "max 100000", "sys/fs/cgroup/app/cpu.max": "400000 100000"}, 4.0),
        (V2 | {"sys/fs/cgroup/app/job/cpu.max": "900000 100000", "sys/fs/cgroup/app/cpu.max": "200000 100000"}, 2.0),
        # inside a container the path is the host's
        ({"proc/self/cgroup": "0::/../../host/path\n", "sys/fs/cgroup/cpu.max": "100000 100000"}, 1.0),
        # version 1, controllers mounted together
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "300000\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            },
            3.0,
        ),
        (
            {
                "proc/self/cgroup": "4:cpu:/x\n",
                "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        ({"proc/self/cgroup": "nonsense", "sys/fs/cgroup/cpu.max": "100000 0"}, None),
    ],
)
def test_the_quota_of_a_container_is_read(machine: Path, contents: dict[str, str], quota: float | None) -> None:
    files(machine, contents)
    expected = 8 if quota is None else int(quota)
    assert seen(machine).usable_cores == expected


@pytest.mark.parametrize(
    ("contents", "total", "available"),
    [
        ({}, 64, 48),
        (V2 | {"sys/fs/cgroup/app/job/memory.max": "max\n"}, 64, 48),
        (V2 | {"sys/fs/cgroup/app/job/memory.max": str(4 * GIB)}, 4, 3),
        # a limit on the parent binds as well
        (V2 | {"sys/fs/cgroup/app/memory.max": str(2 * GIB), "sys/fs/cgroup/app/memory.current": str(2 * GIB)}, 2, 0),
        # files that were read and lie idle in memory can be dropped
        (
            V2
            | {
                "sys/fs/cgroup/app/job/memory.max": str(8 * GIB),
                "sys/fs/cgroup/app/job/memory.current": str(7 * GIB),
                "sys/fs/cgroup/app/job/memory.stat": f"anon {GIB}\ninactive_file {5 * GIB}\nactive_file 0\n",
            },
            8,
            6,
        ),
        # more than the machine has
        (V2 | {"sys/fs/cgroup/app/job/memory.max": str(512 * GIB)}, 64, 48),
        # version 1
        (
            {
                "proc/self/cgroup": "4:memory:/docker/abc\n0::/\n",
                "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": str(3 * GIB),
                "sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": str(2 * GIB),
                "sys/fs/cgroup/memory/docker/abc/memory.stat": f"inactive_file 1\ntotal_inactive_file {GIB}\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            3,
            2,
        ),
    ],
)
def test_the_memory_of_a_container_is_read(machine: Path, contents: dict[str, str], total: int, available: int) -> None:
    files(machine, contents)
    assert (seen(machine).memory_total, seen(machine).memory_available) == (total * GIB, available * GIB)


# --- disk ---


def test_the_disk_is_asked_at_the_nearest_folder_that_exists(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    usage = shutil.disk_usage(machine)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: asked.append(Path(path)) or usage)
    assert hardware.disk_free(machine / "not" / "yet") == usage.free
    assert asked == [machine]


# --- graphics processors ---


def test_no_gpu_is_no_gpu(machine: Path) -> None:
    assert seen(machine).gpus == ()


def test_nvidia_smi_tells_names_and_sizes(machine: Path, tmp_path: Path) -> None:
    tool(tmp_path, "nvidia-smi", 'echo "NVIDIA H200, 143771"; echo "Grace, Hopper, [N/A]"')
    files(machine, {"sys/class/drm/card0/device/vendor": "0x10de\n"})  # the same card, not a second one
    assert seen(machine).gpus == (
        GPU("nvidia", "NVIDIA H200", 143771 << 20),
        GPU("nvidia", "Grace, Hopper", None),
    )


def test_where_nvidia_smi_fails_the_driver_s_files_are_read(machine: Path, tmp_path: Path) -> None:
    tool(tmp_path, "nvidia-smi", "echo NVIDIA-SMI has failed, 1; exit 9")
    files(machine, {"proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t Quadro P1000\nIRQ: 9\n"})
    assert seen(machine).gpus == (GPU("nvidia", "Quadro P1000", None),)


def test_a_card_without_its_driver_is_seen_all_the_same(machine: Path) -> None:
    files(machine, {"sys/class/drm/card0/device/vendor": "0x10de\n"})
    assert seen(machine).gpus == (GPU("nvidia", "NVIDIA GPU", None),)


def test_a_hanging_nvidia_smi_is_given_up(machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "_PROBE_SECONDS", 0.2)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    tool(tmp_path, "nvidia-smi", "sleep 3 & wait")  # the child outlives its parent and holds the pipe
    assert seen(machine).gpus == ()


def test_amd_and_intel_cards_are_found_by_their_vendor(machine: Path) -> None:
    files(
        machine,
        {
            "sys/class/drm/card0/device/vendor": "0x8086\n",
            "sys/class/drm/card1/device/vendor": "0x1002\n",
            "sys/class/drm/card1/device/mem_info_vram_total": str(16 * GIB),
            "sys/class/drm/card1/device/product_name": "Radeon RX 7800 XT\n",
            "sys/class/drm/card1-HDMI-A-1/device/vendor": "0x1002\n",
            "sys/class/drm/card2/device/vendor": "0x1af4\n",
        },
    )
    assert seen(machine).gpus == (GPU("intel", "Intel GPU", None), GPU("amd", "Radeon RX 7800 XT", 16 * GIB))


def test_apple_silicon_shares_its_memory(machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    tool(tmp_path, "sysctl", f'[ "$2" = hw.memsize ] && echo {32 * GIB} || echo Apple M4')
    found = seen(machine)
    assert found.gpus == (GPU("apple", "Apple GPU", 32 * GIB),)
    assert found.cpu == "Apple M4"
    assert found.unified_memory


def test_nothing_that_fails_is_heard(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> object:
        raise RuntimeError("no such probe on this machine")

    for module, name in [
        *[(psutil, "cpu_count"), (psutil, "virtual_memory"), (os, "sched_getaffinity")],
        *[(shutil, "disk_usage"), (shutil, "which"), (subprocess, "Popen"), (Path, "glob"), (Path, "is_dir")],
    ]:
        monkeypatch.setattr(module, name, broken)
    found = seen(machine)
    assert (found.usable_cores, found.memory_available, found.disk_free, found.gpus) == (1, 0, 0, ())


# --- advice ---


@pytest.mark.parametrize(
    ("vendor", "option"), [("nvidia", "GGML_CUDA"), ("amd", "GGML_HIP"), ("intel", "GGML_VULKAN"), ("apple", "METAL")]
)
def test_a_gpu_that_the_build_cannot_use_gets_the_command_that_mends_it(
    machine: Path, vendor: hardware.Vendor, option: str
) -> None:
    found = replace(seen(machine), gpus=(GPU(vendor, "My card", None),))
    advice = gpu_advice(found, build_supports_gpu=False)
    assert advice is not None
    assert "My card" in advice
    assert f"{option}=on" in advice
    assert 'CMAKE_ARGS="-D' in advice
    assert "pip install --force-reinstall --no-cache-dir llama-cpp-python" in advice


def test_there_is_nothing_to_advise_without_a_gpu_or_with_support(machine: Path) -> None:
    found = seen(machine)
    assert gpu_advice(found, build_supports_gpu=False) is None
    assert gpu_advice(replace(found, gpus=(GPU("nvidia", "x", None),)), build_supports_gpu=True) is None


def test_a_real_card_comes_before_the_processor_s_own(machine: Path) -> None:
    found = replace(seen(machine), gpus=(GPU("intel", "UHD", None), GPU("nvidia", "RTX", None)))
    assert "GGML_CUDA" in (gpu_advice(found, build_supports_gpu=False) or "")
