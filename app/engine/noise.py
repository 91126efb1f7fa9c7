"""Randomness that depends on nothing but seed, position and token.

Because position 17 always sees the same noise, the same seed gives the same answer whether tokens came one by one or
were drafted, by whom, and in what lengths.
"""

import numpy as np
from numpy.typing import NDArray

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def uniforms(seed: int, position: int, ids: NDArray[np.int32], stream: int = 0) -> NDArray[np.float64]:
    """One number in (0, 1) per id, keyed by (seed, stream, position, id).

    SplitMix64's finaliser (Steele, Lea and Flood 2014), applied once to the key of the position and once to each id.
    """
    key = _mix(seed * _GOLDEN + stream & _MASK)
    key = _mix(key ^ (position * _GOLDEN & _MASK))
    bits = _mix_array(np.uint64(key) + ids.astype(np.uint64) * np.uint64(_GOLDEN))
    # 52 bits, so that the half is exact: with 53 the largest number would round up to 1.
    return np.asarray(((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52, np.float64)


def gumbel(seed: int, position: int, ids: NDArray[np.int32], stream: int = 0) -> NDArray[np.float64]:
    """Standard Gumbel noise per id. argmax(log p + gumbel) is a sample of p (Gumbel 1954; Maddison et al. 2014)."""
    return -np.log(-np.log(uniforms(seed, position, ids, stream)))


def uniform(seed: int, position: int, stream: int) -> float:
    """A single number in (0, 1) for a position."""
    return float(uniforms(seed, position, np.zeros(1, np.int32), stream)[0])


def _mix(value: int) -> int:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def _mix_array(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(value ^ (value >> np.uint64(31)), np.uint64)
