"""What a decode of m tokens costs on this machine: measured, interpolated, and corrected while running."""

import math
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

from paceline.engine.backend import Backend, Span

ENOUGH = 30  # decodes that show a lasting change
ENOUGH_READ = 16  # tokens of a batch that say how fast a prompt is read
LEAST_PART = 0.1
# Kernels work on blocks of 8 and 16 rows: what lies on either side of such a border can differ by a fifth.
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 17, 20, 24, 31, 32, 33, 48, 64)


@dataclass(frozen=True)
class CostCurve:
    """Milliseconds for one decode of m tokens of one sequence, all with logits. Measured points, by rising m."""

    sizes: tuple[int, ...]
    milliseconds: tuple[float, ...]

    def at(self, m: int) -> float:
        """Cost of m tokens: measured, on the line between neighbours, or on the last segment's line beyond.

        Where noise made that line fall, it does not go on falling.
        """
        if m <= self.sizes[0] or len(self.sizes) == 1:
            return self.milliseconds[0] * (1.0 if m >= self.sizes[0] else m / self.sizes[0])
        right = min(bisect_left(self.sizes, m), len(self.sizes) - 1)
        left = right - 1
        if self.sizes[right] == m:
            return self.milliseconds[right]
        share = (m - self.sizes[left]) / (self.sizes[right] - self.sizes[left])
        cost = self.milliseconds[left] + share * (self.milliseconds[right] - self.milliseconds[left])
        return cost if share < 1.0 else max(cost, self.milliseconds[right])

    def to_json(self) -> dict[str, list[float]]:
        """Plain data."""
        return {"tokens": [float(size) for size in self.sizes], "ms": list(self.milliseconds)}

    @classmethod
    def from_json(cls, data: Mapping[str, Sequence[float]]) -> "CostCurve":
        """The inverse of `to_json`. Raises KeyError, TypeError or ValueError when the data is something else."""
        sizes, costs = tuple(data["tokens"]), tuple(data["ms"])
        if not sizes or len(sizes) != len(costs) or not all(_is_positive(each) for each in (*sizes, *costs)):
            raise ValueError("not a cost curve")
        if any(size != int(size) for size in sizes) or any(b <= a for a, b in pairwise(sizes)):
            raise ValueError("not a cost curve")
        return cls(tuple(int(size) for size in sizes), tuple(float(cost) for cost in costs))


def _is_positive(number: object) -> bool:
    return isinstance(number, (int, float)) and 0 < number < math.inf


# A guess for a machine that was never measured: verification costs nearly as much as plain decoding, so that nothing
# is drafted that is not close to certain.
CAUTIOUS = CostCurve((1, 2, 4, 8, 16, 32), (1.0, 1.9, 3.4, 6.0, 9.5, 18.0))


class Measuring:
    """Times decodes of each size behind `context` tokens, or half the model's context where that is less.

    Sizes are interleaved so that a busy spell hits all of them, and the second best of the repetitions is taken: it is
    what the machine can do, without trusting a single lucky reading.
    """

    def __init__(self, backend: Backend, *, context: int = 256, sizes: Sequence[int] = SIZES) -> None:
        capabilities, n = backend.capabilities, backend.vocabulary.n_tokens
        self._backend = backend
        self._context = min(context, capabilities.n_ctx // 2)
        if not capabilities.partial_removal:  # nothing is drafted for such a model, and its tail cannot be taken back
            sizes = (1,)
        self._sizes = [m for m in sizes if self._context + m <= capabilities.n_ctx and m <= capabilities.n_batch]
        self._tokens = [(7919 * i + 13) % n for i in range(self._context + max(self._sizes))]
        self._readings: dict[int, list[float]] = {m: [] for m in self._sizes}

    def repeat(self) -> None:
        """Read every size once."""
        backend, context, chunk = self._backend, self._context, self._backend.capabilities.n_batch
        backend.truncate(0, 0)
        for start in range(0, context, chunk):
            backend.decode([Span(0, start, self._tokens[start : min(start + chunk, context)])])
        for m in self._sizes:
            began = time.perf_counter()
            backend.decode([Span(0, context, self._tokens[context : context + m], outputs=m)])
            self._readings[m].append((time.perf_counter() - began) * 1000)
            if backend.capabilities.partial_removal:
                backend.truncate(0, context)
        backend.truncate(0, 0)

    def curve(self) -> CostCurve:
        """What the readings so far say."""
        costs = [sorted(readings)[min(1, len(readings) - 1)] for readings in self._readings.values()]
        return CostCurve(tuple(self._sizes), tuple(costs))


def measure(backend: Backend, *, context: int = 256, repetitions: int = 7, sizes: Sequence[int] = SIZES) -> CostCurve:
    """The curve of one model."""
    measuring = Measuring(backend, context=context, sizes=sizes)
    for _ in range(repetitions):
        measuring.repeat()
    return measuring.curve()


def implausible(target: CostCurve, draft: CostCurve | None = None) -> str:
    """Why these cannot be the costs of an undisturbed machine; "" where they can.

    More tokens read the same weights, so they cost no less than one and not much more than as many single ones. (A
    fifth of noise and the cliffs between batch sizes are allowed for; times below a millisecond are all noise.)
    """
    if target.at(1) < 1.0:
        return ""
    for role, curve in (("target", target), ("draft", draft)):
        for m in curve.sizes if curve else ():
            assert curve is not None
            if curve.at(m) < 0.8 * curve.at(1):
                return f"{m} tokens of the {role} seemed to cost less than one"
            if curve.at(m) > 2 * m * curve.at(1):
                return f"{m} tokens of the {role} seemed to cost more than twice as much as {m} single ones"
    if draft is not None and draft.at(1) > target.at(1):
        return "a token of the draft seemed to cost more than one of the target"
    return ""


class Costs(Protocol):
    """What a decode of m tokens costs."""

    def at(self, m: int) -> float:
        """Milliseconds."""
        ...


@dataclass(frozen=True)
class SharedCosts:
    """What a round costs its request in a step that others share: its part of the plain step, and what its draft adds.

    With `base` tokens of others in the batch, for `others` of them: at(1) = t(base + 1) / (others + 1), and
    at(m) = at(1) + t(base + m) - t(base + 1). Alone, that is t(m). A draft then raises the tokens per second of all
    together just when it raises those of this request: (E - 1) at(1) > at(k + 1) - at(1) says the same as
    (others + E) / t(base + k + 1) > (others + 1) / t(base + 1). Where the curve falls, as with better kernels for a
    larger batch, a round still costs a tenth of its part.
    """

    whole: Costs
    base: int
    others: int

    def at(self, m: int) -> float:
        """Milliseconds."""
        plain = self.whole.at(self.base + 1)
        part = plain / (self.others + 1)
        return max(part + self.whole.at(self.base + m) - plain, LEAST_PART * part)

    def of_step(self, m: int, milliseconds: float) -> float:
        """The request's part, m tokens, of a step that took so long: the part it was expected to have."""
        return milliseconds * min(1.0, self.at(m) / self.whole.at(self.base + m))


@dataclass
class CostModel:
    """A curve kept current. Each observation moves the machine's overall pace and, more slowly, that size's offset.

    Steps are clipped, so one stall (another program, a page fault) cannot bend the curve.
    """

    curve: CostCurve
    pace: float = 1.0  # now / when measured, over all sizes; where `beside` is given, over its pace
    offsets: dict[int, float] = field(default_factory=dict)  # per measured size, relative to curve * pace
    observed: int = 0  # decodes so far
    beside: "CostModel | None" = None  # another model on the same processor, which decodes more often

    def at(self, m: int) -> float:
        """Milliseconds that m tokens cost now."""
        pace = self.pace if self.beside is None else self.pace * self.beside.pace
        return self.curve.at(m) * pace * self.offsets.get(self._nearest(m), 1.0)

    def observe(self, m: int, milliseconds: float) -> None:
        """A decode of m tokens took this long."""
        self.observed += 1
        ratio = milliseconds / self.at(m)
        step = min(max(ratio, 0.7), 1.4)
        self.pace *= step**0.1
        if m in self.curve.sizes:  # others lie between two measured ones, and may be on another side of a cliff
            self.offsets[m] = min(max(self.offsets.get(m, 1.0) * step**0.05, 0.5), 2.0)

    @property
    def reading(self) -> float | None:
        """Tokens of a prompt that are read in a second; None where no batch was measured that says so."""
        most = self.curve.sizes[-1]
        return most / self.at(most) * 1000 if most >= ENOUGH_READ else None

    @property
    def drift(self) -> float:
        """What one token costs now, over what it cost when measured; 1.0 until enough was seen to tell."""
        return self.at(1) / self.curve.at(1) if self.observed >= ENOUGH else 1.0

    def _nearest(self, m: int) -> int:
        sizes = self.curve.sizes
        at = min(bisect_left(sizes, m), len(sizes) - 1)
        return sizes[at - 1] if at and m - sizes[at - 1] < sizes[at] - m else sizes[at]
