"""What the machine has, as the operating system tells it: cores, memory, disk, graphics processors.

Nothing here asks llama.cpp, so a GPU that its build cannot use is seen as well. A probe that fails counts as
silent; none raises.
"""

import contextlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeVar

Vendor = Literal["nvidia", "amd", "intel", "apple"]
T = TypeVar("T")

_PROBE_SECONDS: Final = 3.0
_PCI_VENDORS: Final[dict[str, Vendor]] = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
_TITLES: Final[dict[Vendor, str]] = {
    "nvidia": "NVIDIA GPU",
    "amd": "AMD GPU",
    "intel": "Intel GPU",
    "apple": "Apple GPU",
}
_WSL_NVIDIA_SMI: Final = "usr/lib/wsl/lib/nvidia-smi"  # not on the path of every WSL distribution


@dataclass(frozen=True)
class GPU:
    """A graphics processor that the operating system knows of."""

    vendor: Vendor
    name: str
    memory_total: int | None  # bytes; None where nobody says


@dataclass(frozen=True)
class Hardware:
    """The machine as this process may use it. Sizes in bytes; 0 where a probe failed."""

    system: str  # "Linux", "Darwin", "Windows"
    machine: str  # "x86_64", "arm64"
    cpu: str
    physical_cores: int
    usable_cores: int  # physical cores within the affinity mask and the container's quota
    memory_total: int  # of the machine or the container, whichever is less
    memory_available: int
    disk_free: int  # where models are kept
    gpus: tuple[GPU, ...]

    @property
    def unified_memory(self) -> bool:
        """Whether the accelerator's memory is the processor's: what one takes, the other lacks."""
        return any(gpu.vendor == "apple" for gpu in self.gpus)


def detect(store: Path, root: Path = Path("/")) -> Hardware:
    """Probe this machine; `store` is the folder for models, which need not exist yet.

    The files of /proc and /sys are read below `root`. Takes some milliseconds, or 3 s where nvidia-smi hangs.
    """
    cpus = _quiet(_affinity, frozenset[int]())
    physical = _quiet(_physical_cores, 0) or len(cpus) or 1
    quota = _quiet(lambda: cpu_quota(root), None)
    total, available = _quiet(_memory, (0, 0))
    limit = _quiet(lambda: memory_limit(root), None)
    if limit is not None:
        total, available = min(total or limit[0], limit[0]), min(available or limit[1], limit[1])
    return Hardware(
        system=platform.system(),
        machine=platform.machine(),
        cpu=_quiet(lambda: _cpu_name(root), "") or platform.machine(),
        physical_cores=physical,
        usable_cores=usable_cores(physical, cores_of(cpus, root), quota),
        memory_total=total,
        memory_available=available,
        disk_free=_quiet(lambda: disk_free(store), 0),
        gpus=gpus(root),
    )


def busy(seconds: float = 0.2, share: float = 0.3) -> bool:
    """Whether, over this short while in which we do nothing, others use more than this share of the processor."""
    import psutil

    return _quiet(lambda: float(psutil.cpu_percent(seconds)), 0.0) > 100 * share


def usable_cores(physical: int, allowed: int, quota: float | None) -> int:
    """How many threads llama.cpp gains from, at least 1.

    It saturates a core's vector units with one thread, so hyper-threads bring nothing; a thread beyond the quota
    would be stopped in the middle of a step while the others wait, so the quota is rounded down.
    """
    limits = [physical, *([allowed] if allowed else []), *([int(quota)] if quota is not None else [])]
    return max(1, min(limits))


def cores_of(cpus: frozenset[int], root: Path) -> int:
    """Number of distinct physical cores among logical processors; where the topology is unknown, of processors."""
    seen = set()
    for cpu in cpus:
        topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        core, package = _number(topology / "core_id"), _number(topology / "physical_package_id")
        seen.add((package, core) if core is not None else ("cpu", cpu))
    return len(seen)


def cpu_quota(root: Path) -> float | None:
    """Processors' worth of time that the control groups (v1 and v2) grant; None for no limit."""
    found = []
    for folder in _cgroup_folders(root, "cpu"):
        quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
        words = _read(folder / "cpu.max").split()
        if len(words) == 2 and all(word.isdigit() for word in words):
            quota, period = int(words[0]), int(words[1])
        if quota and period and quota > 0 and period > 0:
            found.append(quota / period)
    return min(found, default=None)


def memory_limit(root: Path) -> tuple[int, int] | None:
    """Bytes that the control groups (v1 and v2) allow, and what is left of them; None for no limit.

    File pages that are not in active use count as free, as the kernel drops them first.
    """
    found = []
    for folder in _cgroup_folders(root, "memory"):
        limit = _number(folder / "memory.max") or _number(folder / "memory.limit_in_bytes")
        if not limit or limit >= 1 << 60:  # v1 says "no limit" with a number near 2^63
            continue
        used = _number(folder / "memory.current") or _number(folder / "memory.usage_in_bytes") or 0
        stat = dict(line.split(maxsplit=1) for line in _read(folder / "memory.stat").splitlines() if " " in line)
        idle = stat.get("total_inactive_file", stat.get("inactive_file", "0"))
        found.append((limit, max(0, limit - max(0, used - int(idle)))))
    if not found:
        return None
    return min(limit for limit, _ in found), min(left for _, left in found)


def disk_free(folder: Path) -> int:
    """Bytes free for this user at the folder, or at its nearest parent that exists."""
    there = folder.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    return shutil.disk_usage(there).free


def gpus(root: Path = Path("/")) -> tuple[GPU, ...]:
    """All graphics processors that can compute; each vendor is asked in the way that tells most."""
    none: list[GPU] = []
    nvidia = _quiet(lambda: _nvidia_smi(root), none) or _quiet(lambda: list(_nvidia_driver(root)), none)
    cards = _quiet(lambda: list(_drm(root)), none)
    others = [card for card in cards if card.vendor != "nvidia" or not nvidia]
    return (*nvidia, *others, *_quiet(_apple, none))


def gpu_advice(hardware: Hardware, build_supports_gpu: bool) -> str | None:
    """What to do where there is a GPU but llama.cpp was built without support for any; None where all is well."""
    if build_supports_gpu or not hardware.gpus:
        return None
    vendors = {gpu.vendor for gpu in hardware.gpus}
    vendor = next(vendor for vendor in _TITLES if vendor in vendors)
    name = next(gpu.name for gpu in hardware.gpus if gpu.vendor == vendor)
    return f"{name} is not used: this llama.cpp was built without GPU support. {_REBUILD[vendor]}"


def _rebuild(option: str) -> str:
    return f'CMAKE_ARGS="-D{option}=on" pip install --force-reinstall --no-cache-dir llama-cpp-python'


_REBUILD: Final[dict[Vendor, str]] = {
    "nvidia": f"With the CUDA toolkit installed, run: {_rebuild('GGML_CUDA')}",
    "amd": f"With ROCm installed, run: {_rebuild('GGML_HIP')} "
    f"or, with the Vulkan SDK instead: {_rebuild('GGML_VULKAN')}",
    "intel": f"With the Vulkan SDK installed, run: {_rebuild('GGML_VULKAN')}",
    "apple": f"Metal is on by default in a native arm64 Python; with one, run: {_rebuild('GGML_METAL')}",
}


def _quiet(probe: Callable[[], T], otherwise: T) -> T:
    """The probe's answer; whatever goes wrong in it, on whatever machine, is no reason to fail."""
    try:
        return probe()
    except Exception:
        return otherwise


def _affinity() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset()  # macOS and Windows: no mask worth asking for


def _physical_cores() -> int:
    import psutil

    return psutil.cpu_count(logical=False) or 0


def _memory() -> tuple[int, int]:
    import psutil

    memory = psutil.virtual_memory()
    return memory.total, memory.available


def _cpu_name(root: Path) -> str:
    if platform.system() == "Darwin":
        return _output(["sysctl", "-n", "machdep.cpu.brand_string"]).strip()
    named = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", _read(root / "proc/cpuinfo"), re.MULTILINE)
    return named[1].strip() if named else platform.processor()


def _cgroup_folders(root: Path, controller: str) -> Iterator[Path]:
    """Folders whose limits bind this process: its group's and all parents', of v2 and of a v1 controller.

    Inside a container the path in /proc/self/cgroup may be the host's; then only the mount's own root exists.
    """
    mount = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines() or ["0::/", f"1:{controller}:/"]:
        number, names, group = line.split(":", 2)
        if number == "0" and not names:
            tops = [mount, mount / "unified"]
        elif controller in names.split(","):
            tops = [mount / names, mount / controller]
        else:
            continue
        parts = [part for part in group.split("/") if part not in ("", ".", "..")]
        for top in tops:
            for depth in range(len(parts), -1, -1):
                folder = top.joinpath(*parts[:depth])
                if folder.is_dir():
                    yield folder


def _nvidia_smi(root: Path) -> list[GPU]:
    command = shutil.which("nvidia-smi") or str(root / _WSL_NVIDIA_SMI)
    found = []
    for line in _output([command, "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]).splitlines():
        name, _, mebibytes = line.rpartition(",")
        if name.strip():
            known = mebibytes.strip().isdigit()
            found.append(GPU("nvidia", name.strip(), int(mebibytes) << 20 if known else None))
    return found


def _nvidia_driver(root: Path) -> Iterator[GPU]:
    for information in sorted((root / "proc/driver/nvidia/gpus").glob("*/information")):
        model = re.search(r"^Model:\s*(.+)$", _read(information), re.MULTILINE)
        yield GPU("nvidia", model[1].strip() if model else _TITLES["nvidia"], None)


def _drm(root: Path) -> Iterator[GPU]:
    for card in sorted((root / "sys/class/drm").glob("card*")):
        vendor = _PCI_VENDORS.get(_read(card / "device/vendor").strip())
        if vendor and re.fullmatch(r"card\d+", card.name):  # card0-HDMI-A-1 is a connector
            name = _read(card / "device/product_name").strip() or _TITLES[vendor]
            yield GPU(vendor, name, _number(card / "device/mem_info_vram_total"))


def _apple() -> list[GPU]:
    if platform.system() != "Darwin":
        return []
    silicon = platform.machine() == "arm64" or _output(["sysctl", "-n", "hw.optional.arm64"]).strip() == "1"
    size = _output(["sysctl", "-n", "hw.memsize"]).strip()
    return [GPU("apple", _TITLES["apple"], int(size) if size.isdigit() else None)] if silicon else []


def _output(command: list[str]) -> str:
    """What a command prints, or "" where it is missing, fails or takes longer than 3 s.

    A driver that hangs leaves a process that even SIGKILL does not end, so nobody waits for it to die.
    """
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
    except OSError:
        return ""
    try:
        text, _ = process.communicate(timeout=_PROBE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.1)
        if process.stdout:
            process.stdout.close()
        return ""
    return text if process.returncode == 0 else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    text = _read(path).strip()
    return int(text) if re.fullmatch(r"-?\d{1,20}", text) else None
