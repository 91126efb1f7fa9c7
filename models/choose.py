"""Which pair to recommend for a machine: the largest target that a person will find fast enough."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from paceline.errors import ModelError
from paceline.models.hardware import Hardware
from paceline.models.offload import REPACKED
from paceline.plan import Device

# Rules of thumb for CPUs. A token reads every weight once: at some 20 GB/s of memory bandwidth, 8 tokens/s (about
# as fast as one reads code) allow 2.5 GB. Few cores are bound by arithmetic instead: about 0.65 GB for each.
_BANDWIDTH: Final = 20e9
_PLEASANT: Final = 8.0
_BYTES_PER_CORE: Final = 0.65e9
_MEMORY_SHARE: Final = 0.25  # of what is available, so that editor, browser and compiler keep running

# Rules of thumb for accelerators.
_DEVICE_SHARE: Final = 0.85
_DEVICE_CONTEXT: Final = 32768  # tokens
_DEVICE_PARAMETERS: Final = 33e9  # "32B" models have 32.5 to 32.8


@dataclass(frozen=True)
class Candidate:
    """A pair of the catalogue, as far as choosing needs it. `draft_bytes` is 0 for a target alone."""

    pair_id: str
    target_bytes: int
    draft_bytes: int
    parameters: float  # of the target

    @property
    def bytes(self) -> int:
        """What has to be downloaded and read."""
        return self.target_bytes + self.draft_bytes


@dataclass(frozen=True)
class Choice:
    """The recommended pair, and why, in a sentence or two."""

    pair_id: str
    reason: str


def choose(candidates: Sequence[Candidate], hardware: Hardware, devices: Sequence[Device]) -> Choice:
    """Recommend a pair: the one of most parameters, then bytes, that meets the rules for accelerators or for CPUs.

    Where none does, the smallest. A download that exceeds the free disk space is passed over, and said so.
    Raises ModelError where there is no candidate.
    """
    if not candidates:
        raise ModelError("there is no pair to choose from", "add one to the catalogue; the README says how")
    ranked = sorted(candidates, key=lambda c: (c.parameters, c.target_bytes, -c.draft_bytes), reverse=True)
    disk = hardware.disk_free
    storable = [c for c in ranked if c.bytes <= disk or not disk]  # 0: nobody knows
    # What exceeds the disk matters only where the pair would have been taken otherwise.
    wanted = next((c for c in ranked if _suits(c, hardware, devices)), None)
    note = ""
    if wanted is not None and wanted not in storable:
        note = f" {wanted.pair_id} is passed over: its {_gb(wanted.bytes)} exceed the {_gb(disk)} free on the disk."
    for candidate in storable:
        why = _suits(candidate, hardware, devices)
        if why:
            return Choice(candidate.pair_id, f"{candidate.pair_id} is the largest pair {why}.{note}")
    smallest = min(storable or ranked, key=lambda c: c.bytes)
    if not storable:
        return Choice(
            smallest.pair_id,
            f"no pair fits on the disk, where {_gb(disk)} are free; {smallest.pair_id}, the smallest, "
            f"needs {_gb(smallest.bytes)}.",
        )
    return Choice(
        smallest.pair_id, f"no pair will be comfortable on this machine; {smallest.pair_id} is the smallest.{note}"
    )


def kv_bytes_estimate(parameters: float) -> int:
    """Bytes of KV cache for one token of target and 0.5B draft together, F16, from the target's size alone.

    28 KiB and 12 KiB for each billion parameters, at most 272 KiB: not less than any model of the Qwen2.5 family
    needs; others with grouped-query attention are near it.
    """
    return int(min(28 + 12 * parameters / 1e9, 272) * 1024)


def _suits(candidate: Candidate, hardware: Hardware, devices: Sequence[Device]) -> str:
    """What the pair is the largest of, where it meets the rules; empty where it does not."""
    free = sum(device.memory_free for device in devices)
    kv = kv_bytes_estimate(candidate.parameters) * _DEVICE_CONTEXT
    if candidate.bytes + kv <= _DEVICE_SHARE * free and candidate.parameters <= _DEVICE_PARAMETERS:
        names = " and ".join(device.name for device in devices)
        return f"that fits entirely on {names} with {_DEVICE_CONTEXT} tokens of context ({_gb(free)} free)"
    cores = hardware.usable_cores
    fast = min(_BANDWIDTH / _PLEASANT, _BYTES_PER_CORE * cores)
    memory = hardware.memory_available
    if candidate.target_bytes <= fast and (REPACKED * candidate.bytes <= _MEMORY_SHARE * memory or not memory):
        return f"that is quick enough on {cores} CPU core{'s' * (cores != 1)} with {_gb(memory)} of memory available"
    return ""


def _gb(count: float) -> str:
    return f"{count / 1e9:.1f} GB"
